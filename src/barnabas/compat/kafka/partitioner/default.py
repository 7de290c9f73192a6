"""The partitioner of a KafkaProducer that is given none.

A producer that has this one leaves the choice to the kernel: the same partition for the same key, and for
records without a key one partition after the other, a batch's worth each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from barnabas import _kernel
from barnabas.compat.kafka.partitioner.abc import Partitioner
from barnabas.compat.kafka_engine.generations import generation

_POSITIVE = 0x7FFFFFFF
_32_BITS = 0xFFFFFFFF


def murmur2(data: Any) -> int:
    """Java's hash of a key, as an unsigned number. In generation 1.2 of anything's text as well."""
    if generation().murmur2_takes_anything and not isinstance(data, bytes | bytearray):
        data = str(data).encode()
    return _kernel.murmur2(data) & _32_BITS


def chosen(key: bytes | None, all_partitions: Sequence[int], available: Sequence[int]) -> int:
    """The key's partition; without a key any that is available, or any."""
    if key is None:
        return random.choice(available or all_partitions)
    return all_partitions[(murmur2(key) & _POSITIVE) % len(all_partitions)]


class _CallablePartitioner:
    @classmethod
    def __call__(cls, key: bytes | None, all_partitions: Sequence[int], available: Sequence[int]) -> int:
        """`all_partitions` in their order."""
        return chosen(key, all_partitions, available)


class _ClusterPartitioner(Partitioner):
    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Any,
    ) -> int:
        """Raises: ValueError for a topic that the cluster does not know."""
        if topic not in cluster.topics():
            raise ValueError(f"Topic {topic} not found in ClusterMetadata")
        available = list(cluster.available_partitions_for_topic(topic))
        return chosen(serialized_key, sorted(cluster.partitions_for_topic(topic)), available)


DefaultPartitioner: Any = (
    _ClusterPartitioner if generation().partitioners_see_cluster else _CallablePartitioner
)
DefaultPartitioner.__name__ = DefaultPartitioner.__qualname__ = "DefaultPartitioner"
