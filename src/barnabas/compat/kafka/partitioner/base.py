"""What a partitioner of the old producers is in kafka-python 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Partitioner:
    """Knows the partitions from the beginning, which each call may give anew."""

    def __init__(self, partitions: Sequence[int]) -> None:
        self.partitions = partitions

    def partition(self, key: Any, partitions: Sequence[int] | None = None) -> int:
        """One of the partitions, for a key."""
        raise NotImplementedError("partition function has to be implemented")
