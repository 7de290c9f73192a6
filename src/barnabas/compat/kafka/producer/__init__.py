"""KafkaProducer, and the older producers of kafka-python 1."""
