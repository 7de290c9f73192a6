"""HPE Data Fabric's `mapr_streams_python` on Barnabas: the clients of librdkafka with streams' names for
topics.

What both have is in `barnabas.compat.librdkafka`; here is only what differs. docs/compat.md says it for
users.
"""

from barnabas._kernel import Message
from barnabas.compat.librdkafka.values.constants import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
)
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition
from barnabas.compat.mapr_streams_python._consumer import Consumer
from barnabas.compat.mapr_streams_python._producer import Producer
from barnabas.compat.mapr_streams_python._version import libversion, version

__all__ = [
    "OFFSET_BEGINNING",
    "OFFSET_END",
    "OFFSET_INVALID",
    "OFFSET_STORED",
    "TIMESTAMP_CREATE_TIME",
    "TIMESTAMP_LOG_APPEND_TIME",
    "TIMESTAMP_NOT_AVAILABLE",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "TopicPartition",
    "libversion",
    "version",
]
