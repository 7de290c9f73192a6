"""What `list_topics` and `list_groups` give."""

from barnabas.compat.librdkafka.cluster.metadata import (
    BrokerMetadata,
    ClusterMetadata,
    GroupMember,
    GroupMetadata,
    PartitionMetadata,
    TopicMetadata,
)

__all__ = [
    "BrokerMetadata",
    "ClusterMetadata",
    "GroupMember",
    "GroupMetadata",
    "PartitionMetadata",
    "TopicMetadata",
]
