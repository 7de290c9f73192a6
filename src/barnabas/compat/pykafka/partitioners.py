"""A message's partition in a producer: a partitioner is called with a topic's partitions and a key."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from hashlib import sha1
from typing import Any

__all__ = [
    "BasePartitioner",
    "GroupHashingPartitioner",
    "HashingPartitioner",
    "RandomPartitioner",
    "hashing_partitioner",
    "random_partitioner",
]


class BasePartitioner:
    """What partitioners of programs descend from."""

    def __call__(self, partitions: Sequence[Any], key: Any = None) -> Any:
        raise NotImplementedError("Subclasses must define their own  partitioner implementation")


class RandomPartitioner(BasePartitioner):
    """One partition after the other, whatever the key: the original's is as little random as this."""

    def __init__(self) -> None:
        self.idx = 0

    def __call__(self, partitions: Sequence[Any], key: Any = None) -> Any:
        self.idx = (self.idx + 1) % len(partitions)
        return partitions[self.idx]


def random_partitioner(partitions: Sequence[Any], key: Any) -> Any:
    """Any partition: the name and the way of releases before 2.5."""
    return random.choice(partitions)


class HashingPartitioner(BasePartitioner):
    """By a hash of the key, and the ids of the partitions."""

    def __init__(self, hash_func: Callable[[Any], int] | None = None) -> None:
        self.hash_func: Any = hash_func or _sha1_of

    def __call__(self, partitions: Sequence[Any], key: Any = None) -> Any:
        if key is None:
            raise ValueError("key cannot be `None` when using hashing partitioner")
        in_order = sorted(partitions)
        return in_order[abs(self.hash_func(key)) % len(in_order)]


def _sha1_of(key: bytes) -> int:
    return int.from_bytes(sha1(key).digest(), "big")


hashing_partitioner = HashingPartitioner()


class GroupHashingPartitioner(BasePartitioner):
    """Any of `group_size` neighbours of the partition that a hash of the key means."""

    def __init__(self, hash_func: Callable[[Any], int] | None, group_size: int = 1) -> None:
        self.hash_func: Any = hash_func
        self.group_size = group_size
        if hash_func is None:
            raise ValueError("hash_func must be specified when using GroupHashingPartitioner")
        if group_size < 1:
            raise ValueError("group_size cannot be < 1 when using GroupHashingPartitioner")

    def __call__(self, partitions: Sequence[Any], key: Any = None) -> Any:
        if key is None:
            raise ValueError("key cannot be `None` when using hashing partitioner")
        if self.group_size > len(partitions):
            raise ValueError("group_size cannot be > available partitions")
        in_order = sorted(partitions)
        chosen = self.hash_func(key) + random.randrange(self.group_size)
        return in_order[abs(chosen) % len(in_order)]
