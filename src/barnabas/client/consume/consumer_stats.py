"""A consumer's figures: what its parts count, and how `stats()` shows it. Decides nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barnabas.stats import ConsumerPartitionStats, ConsumerStats

if TYPE_CHECKING:
    from barnabas.client.consume.consumer_core import ConsumerCore
    from barnabas.client.consume.fetch_buffer import PartitionState
    from barnabas.client.consume.fetcher import Fetcher


class PollClock:
    """How much of its time a caller spends in polls."""

    def __init__(self) -> None:
        self._first_began_at = 0.0
        self._began_at = 0.0
        self._seconds = 0.0

    def began(self) -> None:
        self._began_at = time.monotonic()
        if not self._first_began_at:
            self._first_began_at = self._began_at

    def ended(self) -> None:
        self._seconds += time.monotonic() - self._began_at

    @property
    def idle_ratio(self) -> float:
        """Share of the time since the first poll began that was spent in polls; 0 before."""
        elapsed = time.monotonic() - self._first_began_at
        return min(1.0, self._seconds / elapsed) if self._first_began_at and elapsed else 0.0


def consumer_stats(core: ConsumerCore, fetcher: Fetcher, window_seconds: float) -> ConsumerStats:
    """May be called on any thread."""
    states = core.buffer.states()
    identity = None if core.config.group_id is None else core.group_metadata()
    group = core.group_observer
    return ConsumerStats(
        client=core.client.stats(window_seconds),
        group_id=core.config.group_id,
        member_id="" if identity is None else identity.member_id,
        generation=-1 if identity is None else identity.generation,
        queued_bytes=sum(state.queued_bytes for state in states),
        fetch_latency_ms=fetcher.latency_ms.stats(window_seconds),
        commits=group.commits,
        commit_failures=group.commit_failures,
        commit_latency_ms=group.commit_latency_ms.stats(window_seconds),
        rebalances=group.rebalances,
        rebalance_time_ms=group.rebalance_time_ms,
        rebalance_latency_ms=group.rebalance_latency_ms.stats(window_seconds),
        poll_idle_ratio=core.poll_clock.idle_ratio,
        partitions={state.partition: _partition_stats(core, fetcher, state) for state in states},
    )


def _partition_stats(core: ConsumerCore, fetcher: Fetcher, state: PartitionState) -> ConsumerPartitionStats:
    is_committed_only = core.config.isolation_level == "read_committed"
    end = state.last_stable_offset if is_committed_only else state.high_watermark
    position = state.position if state.has_position else -1
    return ConsumerPartitionStats(
        leader=core.client.metadata.leader(state.partition),
        preferred_read_replica=fetcher.preferred_read_replica(state.partition),
        position=position,
        fetch_offset=state.fetch_offset if state.has_position else -1,
        high_watermark=state.high_watermark,
        last_stable_offset=state.last_stable_offset,
        lag=max(0, end - position) if end >= 0 and position >= 0 else -1,
        fetched_bytes=state.fetched_bytes,
        returned_records=state.returned_records,
        queued_bytes=state.queued_bytes,
        is_paused=state.is_paused,
    )
