"""The class of records, and errors of fetching, where programs look for them."""

from barnabas.compat.kafka.errors import KafkaError
from barnabas.compat.kafka_engine.consume.record_class import ConsumerRecord
from barnabas.compat.kafka_engine.values.errors import CLASSES

__all__ = ["ConsumerRecord"]

NoOffsetForPartitionError = CLASSES["NoOffsetForPartitionError"]


class RecordTooLargeError(KafkaError):
    """A record that is larger than what is fetched at once. Brokers send it all the same since 0.10.1
    (KIP-74)."""
