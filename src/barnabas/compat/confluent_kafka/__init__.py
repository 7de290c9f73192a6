"""`confluent_kafka` 2.x on Barnabas."""
# As in the original, `import *` brings submodules too.
# pyright: reportUnsupportedDunderAll=false

# Submodules are named too, as by the original, without being loaded.
# pyright: reportUnsupportedDunderAll=false

from barnabas.compat.confluent_kafka._model import (
    AcknowledgeType,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    Messages,
    Node,
    TopicCollection,
    TopicPartitionInfo,
)
from barnabas.compat.confluent_kafka.cimpl import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    ConcurrentModificationException,
    Consumer,
    IllegalStateException,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    ShareConsumer,
    TopicPartition,
    Uuid,
    consistent,
    fnv1a,
    libversion,
    murmur2,
    version,
)
from barnabas.compat.confluent_kafka.deserializing_consumer import DeserializingConsumer
from barnabas.compat.confluent_kafka.deserializing_share_consumer import DeserializingShareConsumer
from barnabas.compat.confluent_kafka.serializing_producer import SerializingProducer
from barnabas.compat.librdkafka.values.models import ThrottleEvent as ThrottleEvent

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "OFFSET_INVALID",
    "OFFSET_STORED",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_LOG_APPEND_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "AcknowledgeType",
    "ConcurrentModificationException",
    "Consumer",
    "ConsumerGroupState",
    "ConsumerGroupTopicPartitions",
    "ConsumerGroupType",
    "DeserializingConsumer",
    "DeserializingShareConsumer",
    "ElectionType",
    "IllegalStateException",
    "IsolationLevel",
    "KafkaError",
    "KafkaException",
    "Message",
    "Messages",
    "Node",
    "Producer",
    "SerializingProducer",
    "ShareConsumer",
    "TopicCollection",
    "TopicPartition",
    "TopicPartitionInfo",
    "Uuid",
    "admin",
    "aio",
    "consistent",
    "fnv1a",
    "kafkatest",
    "libversion",
    "murmur2",
    "version",
]

__version__ = version()
