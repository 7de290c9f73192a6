"""The partitioner of the old producers that goes round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from barnabas.compat.kafka.partitioner.base import Partitioner


class RoundRobinPartitioner(Partitioner):
    """One partition after the other, whatever the key; from the first one again when they change."""

    def __init__(self, partitions: Sequence[int]) -> None:
        super().__init__(partitions)
        self.iterpart = cycle(partitions)

    def partition(self, key: Any, partitions: Sequence[int] | None = None) -> int:
        if partitions and self.partitions != partitions:
            self.partitions = partitions
            self.iterpart = cycle(partitions)
        return next(self.iterpart)
