"""KeyedProducer of kafka-python 1: the same partition for the same key."""

from __future__ import annotations

import warnings
from typing import Any

from barnabas.compat.kafka.partitioner.hashed import HashedPartitioner
from barnabas.compat.kafka.producer.base import Producer

__all__ = ["KeyedProducer"]


class KeyedProducer(Producer):
    """A Producer whose messages have keys, by which a `partitioner` chooses: a class of kafka.partitioner, or
    one like it, that is made with a topic's partitions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.partitioner_class = kwargs.pop("partitioner", HashedPartitioner)
        self.partitioners: dict[Any, Any] = {}
        super().__init__(*args, **kwargs)

    def _next_partition(self, topic: Any, key: Any) -> int:
        if topic not in self.partitioners:
            if not self.client.has_metadata_for_topic(topic):
                self.client.ensure_topic_exists(topic)
            partitions = self.client.get_partition_ids_for_topic(topic)
            self.partitioners[topic] = self.partitioner_class(partitions)
        return self.partitioners[topic].partition(key)

    def send_messages(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, topic: Any, key: Any, *msg: Any
    ) -> list[Any]:
        """`Producer.send_messages`, of messages that have this key."""
        return self._send_messages(topic, self._next_partition(topic, key), *msg, key=key)

    def send(self, topic: Any, key: Any, msg: Any) -> list[Any]:
        """One message. Deprecated."""
        warnings.warn(
            "KeyedProducer.send is deprecated in favor of send_messages", DeprecationWarning, stacklevel=2
        )
        return self.send_messages(topic, key, msg)

    def __repr__(self) -> str:
        return f"<KeyedProducer batch={self._is_async}>"
