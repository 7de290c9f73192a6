"""KafkaProducer, and the older producers of kafka-python 1."""

from barnabas.compat.kafka.producer.kafka import KafkaProducer as KafkaProducer
