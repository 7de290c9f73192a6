"""A topic in service, its partitions, and what a node that is parted from the others goes on with.

Owns what belongs to one topic or one partition alone. Must not know other topics, or where they are kept.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas._kernel import BatchInfo
from barnabas.broker.data_directory import StoredTopic
from barnabas.broker.log.markers import EndMarker
from barnabas.broker.log.partition_log import Appended, PartitionLog
from barnabas.broker.replication.registration import PartitionRegistration
from barnabas.broker.replication.replica_logs import ReplicaLogs
from barnabas.broker.settings import ProduceRules, TopicSettings
from barnabas.broker_errors import KafkaStorageError
from barnabas.clock import now_ms
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import Buffer

OFFSETS_TOPIC = "__consumer_offsets"
SHARE_STATE_TOPIC = "__share_group_state"
TRANSACTIONS_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC})


@dataclass(slots=True, eq=False)
class Partition:
    """A partition in service. `waiters` are woken, the first of them first, by every append and when the
    partition goes."""

    topic: Topic
    index: int
    log: PartitionLog
    registration: PartitionRegistration
    replicas: ReplicaLogs | None = None
    """The logs on all nodes, where there are several. `log` is the leader's."""
    waiters: dict[asyncio.Event, None] = field(default_factory=dict[asyncio.Event, None])
    is_gone: bool = False
    """The topic has been deleted."""

    @property
    def name(self) -> TopicPartition:
        return TopicPartition(self.topic.name, self.index)

    def append(self, data: Buffer, batches: Sequence[BatchInfo]) -> Appended:
        """Writes batches that were checked. Raises: as PartitionLog.append."""
        self.check_leader()
        set_append_time = self.topic.rules.set_append_time
        appended = self.log.append(data, batches, now_ms=now_ms(), set_append_time=set_append_time)
        self.wake()
        return appended

    def end_transaction(self, marker: EndMarker, *, needs_newer_epoch: bool) -> None:
        """Raises: as PartitionLog.append_marker."""
        self.check_leader()
        self.log.append_marker(marker, now_ms=now_ms(), needs_newer_epoch=needs_newer_epoch)
        self.wake()

    def check_leader(self) -> None:
        """Raises: KafkaStorageError."""
        if not self.has_leader:
            raise KafkaStorageError(f"{self.name} has no leader")

    @property
    def has_leader(self) -> bool:
        """Whether one leads that runs. One that was killed leads until it is missed."""
        if self.replicas is None:
            return True
        return self.registration.leader in self.replicas.logs

    @property
    def is_short(self) -> bool:
        """Whether fewer replicas are in sync than min.insync.replicas."""
        return self.registration.is_short(self.topic.rules.min_in_sync_replicas)

    def delete_records_before(self, offset: int) -> None:
        """Raises: OffsetOutOfRangeError, OSError."""
        if self.replicas is None:
            self.log.delete_records_before(offset)
        else:
            self.replicas.delete_records_before(offset)

    def hold(self) -> None:
        """Sets the high watermark anew, after who leads or who is in sync has changed."""
        if self.replicas is not None and self.has_leader:
            self.replicas.hold(self.registration.in_sync, is_short=self.is_short)

    def log_on(self, node_id: int) -> PartitionLog | None:
        """The log of the replica on a node that was asked, if there is one."""
        return self.log if self.replicas is None else self.replicas.logs.get(node_id)

    def wake(self) -> None:
        for waiter in self.waiters:
            waiter.set()


@dataclass(slots=True, eq=False)
class Topic:
    """A topic in service. `own_settings` are those set on the topic itself."""

    name: str
    topic_id: uuid.UUID
    own_settings: dict[str, str]
    settings: TopicSettings
    partitions: list[Partition] = field(default_factory=list[Partition])
    rules: ProduceRules = field(init=False)
    kept: StoredTopic | None = None
    """As it was kept last."""

    def __post_init__(self) -> None:
        self.apply_settings()

    def apply_settings(self) -> None:
        """To be called when the topic's or the broker's settings have changed."""
        self.rules = self.settings.produce_rules()
        settings = self.settings.log_settings()
        for partition in self.partitions:
            for log in (partition.log,) if partition.replicas is None else partition.replicas.logs.values():
                log.settings = settings
            # As many in sync as there are may be enough now, for those that wait, or too few.
            partition.hold()
            partition.wake()

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class PartedView:
    """What a node goes on with while it is parted from the others. `led`: partitions with the node's own
    logs, of which no other hears; high watermarks stay where others are in sync."""

    alive: frozenset[int]
    registrations: Mapping[TopicPartition, PartitionRegistration]
    led: Mapping[TopicPartition, Partition]
