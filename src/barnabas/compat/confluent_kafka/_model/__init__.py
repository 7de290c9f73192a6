"""Plain data and enumerations, under the real package's name for them."""

from barnabas.compat.librdkafka.values.models import (
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

__all__ = [
    "AcknowledgeType",
    "ConsumerGroupState",
    "ConsumerGroupTopicPartitions",
    "ConsumerGroupType",
    "ElectionType",
    "IsolationLevel",
    "Messages",
    "Node",
    "TopicCollection",
    "TopicPartitionInfo",
]
