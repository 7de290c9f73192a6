"""What AdminClient tells of a topic."""

from __future__ import annotations

from barnabas.compat.confluent_kafka._model import TopicPartitionInfo
from barnabas.compat.confluent_kafka.admin._acl import AclOperation
from barnabas.compat.confluent_kafka.admin._operations import operations
from barnabas.compat.librdkafka.values.uuid import Uuid


class TopicDescription:
    """A topic: `name`, `topic_id`, whether Kafka keeps it for itself (`is_internal`), its `partitions`, and
    as `authorized_operations` what this client may do with it, or None where that was not asked for."""

    def __init__(
        self,
        name: str,
        topic_id: Uuid,
        is_internal: bool,
        partitions: list[TopicPartitionInfo],
        authorized_operations: list[str | int | AclOperation] | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.authorized_operations = operations(authorized_operations)
