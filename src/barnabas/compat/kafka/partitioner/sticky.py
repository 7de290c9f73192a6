"""The partitioner that stays with a partition for a batch (KIP-480).

A producer that has this one, and no subclass of it, leaves the choice to the kernel, which does the same.
"""

from __future__ import annotations

import random
import threading
from typing import Any

from barnabas.compat.kafka.partitioner.abc import Partitioner
from barnabas.compat.kafka.partitioner.default import chosen


class StickyPartitioner(Partitioner):
    """Records without a key go to one partition of their topic, until `on_new_batch` has another one
    chosen. All threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._present: dict[str, int] = {}

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
        all_partitions, available = _partitions(topic, cluster)
        if serialized_key is not None:
            return chosen(serialized_key, all_partitions, available)
        with self._lock:
            present = self._present.get(topic)
            if present is None or present not in (available or all_partitions):
                present = self._present[topic] = random.choice(available or all_partitions)
            return present

    def on_new_batch(self, topic: str, cluster: Any, prev_partition: int) -> None:
        """Goes on to another available partition, unless another thread has done so."""
        all_partitions, available = _partitions(topic, cluster)
        with self._lock:
            if all_partitions and self._present.get(topic) == prev_partition:
                others = [each for each in available if each != prev_partition]
                self._present[topic] = random.choice(others or available or all_partitions)


def _partitions(topic: str, cluster: Any) -> tuple[list[int], list[int]]:
    all_partitions: set[int] = cluster.partitions_for_topic(topic) or set()
    return sorted(all_partitions), list(cluster.available_partitions_for_topic(topic) or ())
