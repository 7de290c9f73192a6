"""Partitioners of the old producers that hash keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.compat.kafka.partitioner import default
from barnabas.compat.kafka.partitioner.base import Partitioner


def murmur2(key: Any) -> int:
    """Java's hash of a key, as an unsigned number."""
    return default.murmur2(key)


class Murmur2Partitioner(Partitioner):
    """As Java's clients do."""

    def partition(self, key: Any, partitions: Sequence[int] | None = None) -> int:
        among = partitions or self.partitions
        return among[(murmur2(key) & 0x7FFFFFFF) % len(among)]


class LegacyPartitioner(Partitioner):
    """By Python's own hash, which for texts differs from process to process."""

    def partition(self, key: Any, partitions: Sequence[int] | None = None) -> int:
        among = partitions or self.partitions
        return among[hash(key) % len(among)]


HashedPartitioner = LegacyPartitioner
