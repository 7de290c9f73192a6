"""SimpleProducer of kafka-python 1: one partition after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from barnabas.chance import chance
from barnabas.compat.kafka.producer.base import Producer

__all__ = ["SimpleProducer"]


class SimpleProducer(Producer):
    """A Producer each of whose calls writes to the next partition. `random_start`: whether the first one is
    chosen by chance, in place of partition 0."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.partition_cycles: dict[Any, Iterator[int]] = {}
        self.random_start = kwargs.pop("random_start", True)
        super().__init__(*args, **kwargs)

    def _next_partition(self, topic: Any) -> int:
        if topic not in self.partition_cycles:
            if not self.client.has_metadata_for_topic(topic):
                self.client.ensure_topic_exists(topic)
            partitions = self.client.get_partition_ids_for_topic(topic)
            start = chance.randrange(len(partitions)) if self.random_start else 0
            self.partition_cycles[topic] = itertools.cycle(partitions[start:] + partitions[:start])
        return next(self.partition_cycles[topic])

    def send_messages(self, topic: Any, *msg: Any) -> list[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`Producer.send_messages`, to the topic's next partition."""
        return super().send_messages(topic, self._next_partition(topic), *msg)

    def __repr__(self) -> str:
        return f"<SimpleProducer batch={self._is_async}>"
