"""The class of records, where programs look for it."""

from barnabas.compat.kafka_python.consume.record_class import ConsumerRecord

__all__ = ["ConsumerRecord"]
