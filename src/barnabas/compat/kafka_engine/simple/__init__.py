"""What kafka-python 1's SimpleClient stands on: its requests of Kafka 0.8 as brokers of today take them."""
