"""Which leaders take nothing, so that records without a key had better go elsewhere (KIP-794).

Owns since when each of them has been so. Does no I/O; knows nothing of batches or of connections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.types import TopicPartition


class LeaderAvailability:
    """`timeout_seconds` (partitioner_availability_timeout_ms): how long a leader may take nothing of what is
    to be sent to it; 0 gives none up."""

    def __init__(self, timeout_seconds: float) -> None:
        self.is_watched = timeout_seconds > 0
        self.avoided: frozenset[int] = frozenset()
        """Node ids of those that have taken nothing for so long."""
        self._timeout_seconds = timeout_seconds
        self._blocked_since: dict[int, float] = {}

    def took_something(self, leader_id: int) -> None:
        """It counts from anew; whether it is avoided changes with the next look."""
        self._blocked_since.pop(leader_id, None)

    def unavailable_partitions(self, metadata: ClusterMetadata, topic: str) -> list[int]:
        """Those of a topic that have no leader, or an avoided one."""
        leader_ids = [
            metadata.leader(TopicPartition(topic, number))
            for number in range(len(metadata.partitions_for(topic)))
        ]
        return [
            number
            for number, leader_id in enumerate(leader_ids)
            if leader_id < 0 or leader_id in self.avoided
        ]

    def look(self, wanted: Iterable[int], can_take: Callable[[int], bool], now: float) -> float | None:
        """Brings `avoided` up to date; gives the seconds until one more leader may count as such. `wanted`:
        leaders that there is something to send to; `now` as of `CLOCK.monotonic()`."""
        blocked = {leader_id for leader_id in wanted if not can_take(leader_id)}
        self._blocked_since = {leader_id: self._blocked_since.get(leader_id, now) for leader_id in blocked}
        left = {
            leader_id: since + self._timeout_seconds - now for leader_id, since in self._blocked_since.items()
        }
        self.avoided = frozenset(leader_id for leader_id, seconds in left.items() if seconds <= 0)
        return min((seconds for seconds in left.values() if seconds > 0), default=None)
