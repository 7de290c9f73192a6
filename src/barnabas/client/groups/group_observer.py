"""What a consumer's group does to it, counted and told to event listeners: rebalances and commits.

Decides nothing; knows nothing of protocols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError
from barnabas.events import Event, OffsetsCommitted, PartitionsAssigned, PartitionsLost, PartitionsRevoked
from barnabas.types import OffsetAndMetadata, TopicPartition
from barnabas.windows import RollingWindow


class GroupObserver:
    """Of one consumer. Counts are since it was made."""

    def __init__(self, client_id: str, group_id: str, listeners: EventListeners[Event]) -> None:
        self.commits = 0
        self.commit_failures = 0
        self.commit_latency_ms = RollingWindow()
        self.rebalances = 0
        self.rebalance_time_ms = 0.0
        """All rebalances together."""
        self.rebalance_latency_ms = RollingWindow()
        """From joining to taking the assignment over."""
        self._client_id = client_id
        self._group_id = group_id
        self._listeners = listeners
        self._joined_at: float | None = None

    def joins(self) -> None:
        """The consumer begins to join the group, for the first time or anew."""
        if self._joined_at is None:
            self._joined_at = CLOCK.monotonic()

    def assigned(self, partitions: Iterable[TopicPartition]) -> None:
        """The group has settled; these partitions are new to the consumer."""
        self.rebalances += 1
        if self._joined_at is not None:
            now = CLOCK.monotonic()
            milliseconds = (now - self._joined_at) * 1000
            self._joined_at = None
            self.rebalance_time_ms += milliseconds
            self.rebalance_latency_ms.add(now, milliseconds)
        self._listeners.emit(PartitionsAssigned(self._client_id, self._group_id, tuple(partitions)))

    def revoked(self, partitions: Iterable[TopicPartition]) -> None:
        """The consumer is about to give these partitions up."""
        self._listeners.emit(PartitionsRevoked(self._client_id, self._group_id, tuple(partitions)))

    def lost(self, partitions: Iterable[TopicPartition]) -> None:
        """The consumer is out of the group."""
        self._listeners.emit(PartitionsLost(self._client_id, self._group_id, tuple(partitions)))

    def committed(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        started_at: float,
        error: BarnabasError | None,
    ) -> None:
        """A commit is over. `started_at` as of `CLOCK.monotonic()`."""
        now = CLOCK.monotonic()
        if error is None:
            self.commits += 1
        else:
            self.commit_failures += 1
        self.commit_latency_ms.add(now, (now - started_at) * 1000)
        self._listeners.emit(OffsetsCommitted(self._client_id, self._group_id, offsets, error))
