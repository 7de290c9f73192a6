"""What a partitioner of a KafkaProducer is in kafka-python 3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Partitioner(ABC):
    """Chooses partitions for records that name none. A subclass may have `on_new_batch(topic, cluster,
    prev_partition)` as well."""

    @abstractmethod
    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Any,
    ) -> int:
        """The number of a partition. `cluster` tells of `partitions_for_topic(topic)` and
        `available_partitions_for_topic(topic)`."""
