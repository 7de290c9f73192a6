"""Topics, partitions and their offsets: what Admin takes and gives. Plain data."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from barnabas.client.admin.types.acls import AclOperation
from barnabas.types import PartitionInfo
from barnabas.values import frozen

BROKER_DEFAULT = -1


@frozen
class NewTopic:
    """A topic to create. -1 leaves the number to the broker's default (`num.partitions`,
    `default.replication.factor`). `replica_assignments` gives the node ids of each partition by hand, the
    preferred leader first, in place of both numbers."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict[str, str])
    replica_assignments: Mapping[int, Sequence[int]] | None = None


@frozen
class CreatedTopic:
    """A topic that was just created. From brokers that do not tell, the id is all zeros, the numbers -1."""

    name: str
    topic_id: uuid.UUID
    num_partitions: int
    replication_factor: int
    configs: Mapping[str, str | None]


@frozen
class NewPartitions:
    """How many partitions a topic is to have in all; `new_assignments` gives the node ids of each new one by
    hand, the preferred leader first."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


@frozen
class TopicDescription:
    """`authorized_operations`: what this client may do with the topic; None unless asked for."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]
    authorized_operations: frozenset[AclOperation] | None = None


OffsetSpec = (
    Literal[
        "earliest", "latest", "max_timestamp", "earliest_local", "latest_tiered", "earliest_pending_upload"
    ]
    | int
)
"""An end of a partition, the record with the greatest timestamp (KIP-734), the first on the leader's own disk
(KIP-405), the last in tiered storage (KIP-1005), the first not yet there (KIP-1023), or the first record at
or after a time in milliseconds since 1970."""


@frozen
class ListedOffset:
    """`offset` is -1 where no record answers the question; `timestamp` is -1 for the ends of a partition."""

    offset: int
    timestamp: int
    leader_epoch: int | None
