"""Records of partitions lent to members of share groups, and what becomes of them (KIP-932).

Owns the share partitions in service, their time, and that what is answered is on disk first. Must not know
requests and responses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from barnabas import _kernel
from barnabas.broker.cluster import Cluster
from barnabas.broker.configs.group_settings import lookback_ms
from barnabas.broker.configs.inherited_settings import InheritedSettings
from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.share_groups.coordinator import ShareGroupCoordinator
from barnabas.broker.share_groups.offset_spans import RecordState, Span
from barnabas.broker.share_groups.share_partition import LendingLimits, RecordDecision, SharePartition
from barnabas.broker.share_groups.share_sessions import KeptShareSession, ShareSessions
from barnabas.broker.share_groups.share_state_store import UNKNOWN_OFFSET, ShareKey, ShareStateStore
from barnabas.broker.topic import Partition
from barnabas.broker_errors import (
    GroupIdNotFoundError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    UnknownTopicOrPartitionError,
)
from barnabas.clock import now_ms
from barnabas.errors import BrokerError

logger = logging.getLogger(__name__)

READ_COMMITTED = "read_committed"
# While the state of records cannot be written, those whose lock has ended stay lent.
RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LentRecords:
    """`spans` of the records in `data`, which may have others as well."""

    spans: list[Span]
    data: bytes


@dataclass(slots=True, eq=False)
class _Served:
    """A share partition in service. `waiters` are woken when there may be more to lend."""

    state: SharePartition
    waiters: dict[asyncio.Event, None] = field(default_factory=dict[asyncio.Event, None])
    timer: asyncio.TimerHandle | None = None


class ShareLending:
    """Belongs to one event loop; every method finishes at once."""

    def __init__(self, cluster: Cluster, store: ShareStateStore, coordinator: ShareGroupCoordinator) -> None:
        self._cluster = cluster
        self._store = store
        self._coordinator = coordinator
        self._loop = asyncio.get_running_loop()
        self._served: dict[ShareKey, _Served] = {}
        self._begun: dict[ShareKey, int] = {}
        """Where a group began with a partition by its setting, which is on no disk."""
        most = cluster.settings.number("group.share.max.share.sessions")
        self.sessions = {node_id: ShareSessions(most) for node_id in cluster.nodes}
        """Of each node: a member has one with every leader."""
        coordinator.on_partitions.append(self._begin)
        coordinator.on_group_gone.append(self._forget_group)
        cluster.on_deleted.append(self._forget_deleted_topics)

    def close(self) -> None:
        """Stops all timers."""
        for served in self._served.values():
            _stop_timer(served)

    def _begin(self, group_id: str, partitions: Iterable[TopicIdPartition]) -> None:
        """Raises: KafkaStorageError."""
        for partition in partitions:
            key = ShareKey(group_id, *partition)
            if key not in self._store.kept:
                self._store.begin(key, UNKNOWN_OFFSET)

    def read_anew(self, state_partition: Partition) -> None:
        """Another has the state that is in a partition of __share_group_state: members begin anew where it is
        other than it was.

        Raises: KafkaStorageError, CorruptBatchError, BrokenProtocolError.
        """
        for key in self._store.read_anew(state_partition):
            self._drop(key)
        for group in self._coordinator.groups.values():
            self._begin(group.group_id, frozenset[TopicIdPartition]().union(*group.target.values()))

    # In service

    def _serve(self, key: ShareKey, log: PartitionLog) -> _Served:
        served = self._served.get(key)
        if served is None:
            kept = self._store.kept.get(key)
            if kept is None:
                raise GroupIdNotFoundError(f"Share group {key.group_id} does not fetch from this partition.")
            start = kept.start_offset
            if start == UNKNOWN_OFFSET:
                first = _first_offset(log, self._coordinator.settings(key.group_id))
                start = self._begun.setdefault(key, first)
            served = self._served[key] = _Served(SharePartition(start, kept.spans))
        served.state.skip_to(log.log_start_offset)
        return served

    def _partition(self, key: ShareKey) -> Partition:
        """Raises: UnknownTopicIdError, UnknownTopicOrPartitionError."""
        return self._cluster.partition(self._cluster.topic_by_id(key.topic_id), key.partition)

    def _led_partition(self, key: ShareKey, node: int) -> Partition:
        """Raises: UnknownTopicIdError, UnknownTopicOrPartitionError, NotLeaderOrFollowerError."""
        partition = self._partition(key)
        if partition.registration.leader != node:
            raise NotLeaderOrFollowerError
        return partition

    def watch(self, key: ShareKey, woken: asyncio.Event) -> None:
        """Has the event set when there may be more to lend, until `unwatch`."""
        served = self._served.get(key)
        if served is not None:
            served.waiters[woken] = None
            self._partition(key).waiters[woken] = None

    def unwatch(self, key: ShareKey, woken: asyncio.Event) -> None:
        served = self._served.get(key)
        if served is not None:
            served.waiters.pop(woken, None)
        try:
            self._partition(key).waiters.pop(woken, None)
        except BrokerError:
            return

    # Lending

    def bytes_to_lend(self, key: ShareKey, node: int, max_in_hand: int, max_bytes: int) -> int | None:
        """How many bytes there are from the first record on that may be lent, as Kafka counts them for
        min_bytes: others may have some of it in hand, and what begins in an older segment is `max_bytes`.
        None if nothing may be lent now.

        Raises: BrokerError.
        """
        log = self._led_partition(key, node).log
        offset = self._serve(key, log).state.next_offset(max_in_hand)
        if offset is None:
            return None
        before = self._readable_end(key, log)
        if offset < log.active.base_offset and (before is None or before > log.active.base_offset):
            return max_bytes
        return min(max_bytes, len(log.read_to_send(offset, max_bytes, at_least_one=True, before=before)))

    def _readable_end(self, key: ShareKey, log: PartitionLog) -> int | None:
        """The end of what the group may read; None for the log's own."""
        isolation = self._coordinator.settings(key.group_id).text("share.isolation.level")
        return log.last_stable_offset if isolation == READ_COMMITTED else log.replicated_to

    def lend(
        self, key: ShareKey, node: int, member_id: str, limits: LendingLimits, max_bytes: int
    ) -> LentRecords:
        """What may be lent to the member now, by the node that leads. Raises: BrokerError."""
        log = self._led_partition(key, node).log
        served = self._serve(key, log)
        settings = self._coordinator.settings(key.group_id)
        is_committed = settings.text("share.isolation.level") == READ_COMMITTED
        before = self._readable_end(key, log)
        deadline = self._loop.time() + settings.number("share.record.lock.duration.ms") / 1000
        while (offset := served.state.next_offset(limits.max_in_hand)) is not None:
            data = log.read(offset, max_bytes, at_least_one=True, before=before)
            if not data:
                break
            batches = _kernel.scan_batches(data)
            ranges = [(batch.base_offset, batch.last_offset) for batch in batches]
            spans = served.state.lend(member_id, ranges, limits, deadline)
            if is_committed:
                spans = self._without_aborted(key, served, log, offset, data, batches, spans)
            if spans:
                self._restart_timer(key, served)
                return LentRecords(spans, _between(data, batches, spans[0].first, spans[-1].last))
            if served.state.next_offset(limits.max_in_hand) == offset:
                break
        return LentRecords([], b"")

    def _without_aborted(
        self,
        key: ShareKey,
        served: _Served,
        log: PartitionLog,
        offset: int,
        data: bytes,
        batches: Sequence[_kernel.BatchInfo],
        spans: list[Span],
    ) -> list[Span]:
        """Nobody gets what an aborted transaction has written."""
        ended = log.aborted_in(offset, data)
        aborted = [
            (batch.base_offset, batch.last_offset)
            for batch in batches
            if batch.is_transactional
            and not batch.is_control
            and any(
                span.producer_id == batch.producer_id
                and span.first_offset <= batch.base_offset <= span.last_offset
                for span in ended
            )
        ]
        if not aborted:
            return spans
        changed = [span for first, last in aborted for span in served.state.take_back(first, last)]
        self._keep(key, served, changed)
        return [piece for span in spans for piece in _outside(span, aborted)]

    # What becomes of records

    def decide(self, key: ShareKey, node: int, member_id: str, decisions: Sequence[RecordDecision]) -> None:
        """Of a node that was asked. Raises: BrokerError."""
        partition = self._led_partition(key, node)
        served = self._served.get(key)
        if served is None:
            raise UnknownTopicOrPartitionError("This server does not host this topic-partition.")
        settings = self._coordinator.settings(key.group_id)
        served.state.skip_to(partition.log.log_start_offset)
        deadline = self._loop.time() + settings.number("share.record.lock.duration.ms") / 1000
        limit = settings.number("share.delivery.count.limit")
        # Else what others have in hand would be lost with what could not be kept.
        self._store.check_writable(key)
        self._keep(key, served, served.state.decide(member_id, decisions, limit, deadline))
        self._restart_timer(key, served)

    def release_member(self, group_id: str, node: int, member_id: str) -> None:
        """The member has closed its session with a node: others get what it had in hand of that."""
        self.sessions[node].close(group_id, member_id)
        limit = self._coordinator.settings(group_id).number("share.delivery.count.limit")
        for key, served in list(self._served.items()):
            if (
                key.group_id == group_id
                and self._partition(key).registration.leader == node
                # Else the member's locks end by their time.
                and self._can_keep(key)
            ):
                self._keep_or_log(key, served, served.state.release(member_id, limit))

    def end_session(self, group_id: str, node: int, member_id: str, session: KeptShareSession) -> None:
        """The session's connection has ended. One that was opened since then stays."""
        if self.sessions[node].has(group_id, member_id, session):
            self.release_member(group_id, node, member_id)

    def _expire(self, key: ShareKey, served: _Served) -> None:
        served.timer = None
        if not self._can_keep(key):
            served.timer = self._loop.call_later(RETRY_SECONDS, self._expire, key, served)
            return
        limit = self._coordinator.settings(key.group_id).number("share.delivery.count.limit")
        self._keep_or_log(key, served, served.state.release_expired(self._loop.time(), limit))
        self._restart_timer(key, served)

    def _can_keep(self, key: ShareKey) -> bool:
        try:
            self._store.check_writable(key)
        except KafkaStorageError:
            return False
        return True

    def _restart_timer(self, key: ShareKey, served: _Served) -> None:
        _stop_timer(served)
        deadline = served.state.next_deadline()
        if deadline is not None and self._served.get(key) is served:
            served.timer = self._loop.call_at(deadline, self._expire, key, served)

    def _keep(self, key: ShareKey, served: _Served, changed: Sequence[Span]) -> None:
        """Raises: KafkaStorageError, and then members begin anew with what is on disk."""
        if not changed:
            return
        state = served.state
        try:
            self._store.update(key, state.start_offset, state.decided_count, changed)
        except KafkaStorageError:
            self._drop(key)
            raise
        state.advance()
        _wake(served)

    def _keep_or_log(self, key: ShareKey, served: _Served, changed: Sequence[Span]) -> None:
        try:
            self._keep(key, served, changed)
        except KafkaStorageError as error:
            logger.error("what group %s gives back cannot be written down: %s", key.group_id, error)

    # Offsets

    def begin_anew(self, key: ShareKey, offset: int) -> None:
        """The group goes on from there. Raises: KafkaStorageError."""
        self._store.begin(key, offset)
        self._begun.pop(key, None)
        self._drop(key)

    def forget(self, keys: Iterable[ShareKey]) -> None:
        """Raises: KafkaStorageError."""
        keys = list(keys)
        self._store.forget(keys)
        for key in keys:
            self._begun.pop(key, None)
            self._drop(key)

    def _drop(self, key: ShareKey) -> None:
        served = self._served.pop(key, None)
        if served is not None:
            _stop_timer(served)
            _wake(served)

    def _forget_group(self, group_id: str) -> None:
        self._forget_or_log(self._store.of_group(group_id))

    def _forget_deleted_topics(self, topic: str) -> None:
        there = {topic.topic_id for topic in self._cluster.topics.values()}
        self._forget_or_log(key for key in self._store.kept if key.topic_id not in there)

    def _forget_or_log(self, keys: Iterable[ShareKey]) -> None:
        try:
            self.forget(keys)
        except KafkaStorageError as error:
            logger.error("the states of records of deleted topics or groups are still kept: %s", error)


def _first_offset(log: PartitionLog, settings: InheritedSettings) -> int:
    """Where a group begins that has not been there."""
    reset = settings.text("share.auto.offset.reset").lower()
    if reset == "earliest":
        return log.log_start_offset
    back_ms = lookback_ms(reset)
    found = None if back_ms is None else log.first_at_or_after(now_ms() - back_ms)
    return log.log_end_offset if found is None else found[0]


def _between(data: bytes, batches: Sequence[_kernel.BatchInfo], first: int, last: int) -> bytes:
    """The batches that have any of these offsets."""
    wanted = [batch for batch in batches if batch.last_offset >= first and batch.base_offset <= last]
    return data[wanted[0].position : wanted[-1].position + wanted[-1].size] if wanted else b""


def _outside(span: Span, ranges: Iterable[tuple[int, int]]) -> list[Span]:
    """What of a span is in none of the ranges, which are in order."""
    pieces: list[Span] = []
    first = span.first
    for start, end in ranges:
        if end < first or start > span.last:
            continue
        if start > first:
            pieces.append(Span(first, start - 1, RecordState.ACQUIRED, span.delivery_count))
        first = end + 1
    if first <= span.last:
        pieces.append(Span(first, span.last, RecordState.ACQUIRED, span.delivery_count))
    return pieces


def _stop_timer(served: _Served) -> None:
    if served.timer is not None:
        served.timer.cancel()
        served.timer = None


def _wake(served: _Served) -> None:
    for waiter in served.waiters:
        waiter.set()
