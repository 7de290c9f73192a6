"""The logs that a partition has on its nodes: what the leader writes goes to the others, each in one of two
states. A follower in lockstep has all that the leader has, and gets each batch within the same call. One that
is behind is brought up step by step, and then is in lockstep.

Owns truncation where logs have parted, the high watermark, and who is in lockstep or since when behind, which
nobody else changes. The rule that keeps what was acknowledged: no record is below the high watermark that a
follower in sync does not have. So `fall_behind` is followed by `hold`, and whoever takes a follower out of
those in sync calls `hold` then, and puts it back only in lockstep, each without giving way in between.

Must not know topics' metadata or who decides who leads. All methods belong to one thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.broker.log.files import described
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.settings import LogSettings
from barnabas.broker.replication.follower_lag import FollowerLag
from barnabas.broker.replication.node import ReplicaNode
from barnabas.broker_errors import KafkaStorageError
from barnabas.clock import CLOCK, now_ms
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import Buffer

logger = logging.getLogger(__name__)

STEP_BYTES = 1 << 20


class ReplicaLogs:
    """`logs` are those of nodes that run."""

    __slots__ = (
        *("_lags", "_last_high_watermark", "_led_since_ms", "_name", "_nodes", "_on_failed"),
        *("_start_offset", "aligned", "leader", "lockstep", "logs"),
    )

    def __init__(
        self,
        name: TopicPartition,
        nodes: Mapping[int, ReplicaNode],
        on_failed: Callable[[TopicPartition, int], None],
    ) -> None:
        """`on_failed` hears of a node that could not write what the leader wrote."""
        self._name = name
        self._nodes = nodes
        self._on_failed = on_failed
        self.logs: dict[int, PartitionLog] = {}
        self.leader = -1
        self._last_high_watermark: int | None = None
        """That of the last leader, once its log is closed."""
        self._start_offset = 0
        """Where leaders' logs have begun until now: a leader that lags may have what was deleted before."""
        self.lockstep: set[int] = set()
        self.aligned: set[int] = set()
        """Whose logs have nothing but what the last leader had, which they may lack some of."""
        self._lags: dict[int, FollowerLag] = {}
        """Of followers that are not in lockstep, once the leader has heard of them."""
        self._led_since_ms = 0.0

    def create(self, node: int, settings: LogSettings) -> None:
        """Raises: OSError."""
        manager = self._nodes[node].logs
        assert manager is not None
        self.logs[node] = manager.create(self._name, settings)
        self.aligned.add(node)

    def take(self, node: int) -> None:
        """A node has opened its logs."""
        manager = self._nodes[node].logs
        assert manager is not None
        log = self.logs[node] = manager.get(self._name)
        self._start_offset = max(self._start_offset, log.log_start_offset)

    def drop(self, node: int) -> None:
        """A node is about to close its logs."""
        self.fall_behind(node)
        self.aligned.discard(node)
        log = self.logs.pop(node)
        if node == self.leader:
            self._last_high_watermark = log.high_watermark

    def part(self, node: int, *, is_alone: bool) -> PartitionLog:
        """A node goes on by itself, with a log whose high watermark stays where it is, but for a leader that
        `is_alone` in sync, and waits for nobody."""
        log = self.logs[node]
        log.on_written = None
        if not is_alone:
            log.replicated_to = log.high_watermark
        self.drop(node)
        return log

    def rejoin(self, node: int) -> None:
        """A node that was parted has opened its logs, and may lead yet."""
        self.take(node)
        if node == self.leader and self._last_high_watermark is not None:
            log = self.logs[node]
            log.replicated_to = min(self._last_high_watermark, log.log_end_offset)

    def delete(self, node: int) -> None:
        """The files go too, if the node runs; else when it starts."""
        manager = self._nodes[node].logs
        log = self.logs.pop(node, None)
        if log is not None and manager is not None:
            manager.delete(log)
        self.lockstep.discard(node)
        self.aligned.discard(node)
        self._lags.pop(node, None)

    def lead(self, leader: int, leader_epoch: int) -> PartitionLog:
        """Makes a node's log the leader's. Those of the others give up what it does not have."""
        before = self.logs.get(self.leader)
        if before is not None:
            before.on_written = None
        high_watermark = self._last_high_watermark if before is None else before.high_watermark
        self.leader = leader
        log = self.logs[leader]
        self._start_offset = max(self._start_offset, log.log_start_offset)
        log.log_start_offset = min(self._start_offset, log.log_end_offset)
        log.begin_epoch(leader_epoch)
        log.on_written = self._copy
        if high_watermark is not None and log is not before:
            log.replicated_to = min(high_watermark, log.log_end_offset)
        self.lockstep.clear()
        self.aligned = {leader}
        self._lags.clear()
        self._led_since_ms = _monotonic_ms()
        for node in list(self.logs):
            if node != leader and self._nodes[node].is_heard:
                self.follow(node)
        return log

    def expect(self, leader: int) -> None:
        """A node leads whose log is not open, or nobody does (-1). Until a log is led again, the others keep
        what they have, and none of them shows more than the last leader did."""
        before = self.logs.get(self.leader)
        if before is not None:
            before.on_written = None
            before.replicated_to = self._last_high_watermark = before.high_watermark
        self.leader = leader

    def follow(self, node: int) -> None:
        """Cuts off what the leader does not have; in lockstep then if nothing is missing and the node does
        not lag. A leader that was killed has nothing to tell until another leads."""
        if self.leader not in self.logs:
            return
        log = self._aligned(node)
        log.on_written = log.replicated_to = None
        if log.log_end_offset == self.logs[self.leader].log_end_offset and self._nodes[node].replicates:
            self._keep_in_lockstep(node)
        else:
            self._hear(node, self.logs[self.leader].log_end_offset)

    def _keep_in_lockstep(self, node: int) -> None:
        self.lockstep.add(node)
        self._lags.pop(node, None)

    def fall_behind(self, node: int) -> None:
        """From now on it does not get what is written, until it has caught up."""
        if node in self.lockstep:
            self.lockstep.discard(node)
            self._lags[node] = FollowerLag(self.logs[node].log_end_offset, _monotonic_ms())

    def too_long_behind(self, in_sync: Sequence[int], max_lag_ms: float) -> list[int]:
        """Those in sync that have not caught up within `max_lag_ms`."""
        now_ms, end_offset = _monotonic_ms(), self.logs[self.leader].log_end_offset
        return [
            node
            for node in in_sync
            if node != self.leader
            and node not in self.lockstep
            and self._lag(node).is_too_long(end_offset, now_ms, max_lag_ms)
        ]

    def _lag(self, node: int) -> FollowerLag:
        return self._lags.setdefault(node, FollowerLag(-1, self._led_since_ms))

    def _hear(self, node: int, leader_end_offset: int) -> None:
        self._lag(node).hear(self.logs[node].log_end_offset, leader_end_offset, _monotonic_ms())

    def _aligned(self, node: int) -> PartitionLog:
        """A follower's log without what the leader's does not have."""
        self.aligned.add(node)
        log = self.logs[node]
        end_offset = common_end(log, self.logs[self.leader])
        if end_offset == log.log_end_offset:
            return log
        logger.info(
            "%s: node %d gives up offsets %d to %d, which the leader, node %d, does not have",
            *(self._name, node, end_offset, log.log_end_offset, self.leader),
        )
        return self._truncate(node, end_offset)

    def catch_up(self, node: int) -> bool:
        """Copies some of what a follower lacks; whether it is in lockstep now. Raises: KafkaStorageError."""
        if node in self.lockstep:
            return True
        leader, log = self.logs[self.leader], self._aligned(node)
        if log.log_end_offset < leader.log_start_offset:
            log = self._truncate(node, leader.log_start_offset)
        if log.log_end_offset < leader.log_end_offset:
            data = leader.read(log.log_end_offset, STEP_BYTES, at_least_one=True)
            if data:
                log.append_replica(data, _kernel.scan_batches(data), now_ms=now_ms())
        if log.log_end_offset < leader.log_end_offset:
            self._hear(node, leader.log_end_offset)
            return False
        log.log_start_offset = max(log.log_start_offset, leader.log_start_offset)
        self._keep_in_lockstep(node)
        return True

    def hold(self, in_sync: Sequence[int], *, is_short: bool) -> None:
        """Sets the high watermark: it waits while one that is in sync does not get what is written, and while
        too few are in sync."""
        log = self.logs[self.leader]
        if is_short or any(node != self.leader and node not in self.lockstep for node in in_sync):
            log.replicated_to = log.high_watermark
        else:
            log.replicated_to = None

    def delete_records_before(self, offset: int) -> None:
        """On all nodes that have caught up. Raises: OffsetOutOfRangeError, OSError."""
        for node in (self.leader, *self.lockstep):
            self.logs[node].delete_records_before(offset)
        self._start_offset = max(self._start_offset, offset)

    def _copy(self, data: Buffer, batches: Sequence[BatchInfo]) -> None:
        now, leader = now_ms(), self.logs[self.leader]
        for node in self.logs.keys() - self.lockstep:
            if node != self.leader and self._nodes[node].is_heard:
                # It fetches without end, and so has heard of the leader's end until now.
                self._hear(node, batches[0].base_offset)
        for node in tuple(self.lockstep):
            try:
                self.logs[node].append_replica(data, batches, now_ms=now)
            except KafkaStorageError:
                # The log has told of it.
                self.fall_behind(node)
                if leader.replicated_to is None:
                    leader.replicated_to = batches[0].base_offset
                self._on_failed(self._name, node)

    def _truncate(self, node: int, end_offset: int) -> PartitionLog:
        manager = self._nodes[node].logs
        assert manager is not None
        try:
            log = self.logs[node] = manager.truncate(self.logs[node], end_offset)
        except OSError as error:
            raise KafkaStorageError(f"{self._name}: node {node}: {described(error)}") from error
        return log


def _monotonic_ms() -> float:
    return CLOCK.monotonic() * 1000


def common_end(log: PartitionLog, leader: PartitionLog) -> int:
    """Up to where a log has what the leader's has (KIP-101)."""
    end_offset = log.log_end_offset
    for epoch, start_offset in reversed(list(log.leader_epochs)):
        found, leader_end = leader.epoch_end_offset(epoch)
        if found == epoch:
            return min(end_offset, leader_end)
        end_offset = min(end_offset, start_offset)
    return end_offset
