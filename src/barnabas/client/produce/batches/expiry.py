"""Which partitions may have a batch that has waited for too long.

To ask costs as much as there are of those, however many others have batches: each partition is looked at when
the batch that was its oldest would have expired. Knows neither clocks nor what becomes of a batch.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator

from barnabas.client.produce.batches.partition_queue import PartitionQueue


class ExpiryWatch:
    """Moments are those at which batches were created, in milliseconds."""

    def __init__(self) -> None:
        self._listed_ms: dict[PartitionQueue, float] = {}
        """Of each queue that is watched, a moment that is no later than its oldest batch."""
        self._heap: list[tuple[float, int, PartitionQueue]] = []
        self._numbers = itertools.count()

    def watch(self, queue: PartitionQueue, created_ms: float) -> None:
        """The queue has a batch as old as this."""
        listed_ms = self._listed_ms.get(queue)
        if listed_ms is None or created_ms < listed_ms:
            self._listed_ms[queue] = created_ms
            heapq.heappush(self._heap, (created_ms, next(self._numbers), queue))

    def take(self, until_ms: float) -> Iterator[PartitionQueue]:
        """Those that may have a batch from then or before. They are not watched any more."""
        while self._heap and self._heap[0][0] <= until_ms:
            created_ms, _, queue = heapq.heappop(self._heap)
            if self._listed_ms.get(queue) == created_ms:
                del self._listed_ms[queue]
                yield queue

    @property
    def next_ms(self) -> float | None:
        """No batch of those that are watched is older."""
        return self._heap[0][0] if self._heap else None
