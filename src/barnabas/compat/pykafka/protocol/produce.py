"""Produce: a request with messages for partitions, and what became of them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from barnabas.compat.pykafka.common import CompressionType
from barnabas.compat.pykafka.protocol._writing import numbers, topics
from barnabas.compat.pykafka.protocol.base import Request, Response
from barnabas.compat.pykafka.protocol.message import MessageSet
from barnabas.compat.pykafka.utils import struct_helpers

__all__ = ["ProducePartitionResponse", "ProduceRequest", "ProduceResponse"]


class ProduceRequest(Request):
    """`required_acks`: how many replicas have to have the messages before the broker answers: -1 for all that
    are in sync, 0 for no answer at all. `timeout` in milliseconds."""

    API_KEY = 0

    def __init__(
        self,
        compression_type: int = CompressionType.NONE,
        required_acks: int = 1,
        timeout: int = 10000,
        broker_version: str = "0.9.0",
    ) -> None:
        def message_set() -> MessageSet:
            return MessageSet(compression_type=compression_type, broker_version=broker_version)

        self.msets: defaultdict[bytes, defaultdict[int, MessageSet]] = defaultdict(
            lambda: defaultdict(message_set)
        )
        """By topic, and by partition."""
        self.required_acks = required_acks
        self.timeout = timeout
        self._message_count = 0

    @property
    def messages(self) -> Iterator[Any]:
        """Of all partitions."""
        return itertools.chain.from_iterable(
            message_set.messages for partitions in self.msets.values() for message_set in partitions.values()
        )

    def add_message(self, message: Any, topic_name: bytes, partition_id: int) -> None:
        self.msets[topic_name][partition_id].messages.append(message)
        self._message_count += 1

    def message_count(self) -> int:
        return self._message_count

    def _body(self) -> bytes:
        return numbers("hi", self.required_acks, self.timeout) + topics(self.msets, _partition)


def _partition(partition: tuple[int, MessageSet]) -> bytes:
    partition_id, message_set = partition
    size = len(message_set)
    data = bytearray(size)
    message_set.pack_into(data, 0)
    return numbers("ii", partition_id, size) + data


class ProducePartitionResponse(NamedTuple):
    """`offset`: that of the first message."""

    err: int
    offset: int


class ProduceResponse(Response):
    """`topics`: a ProducePartitionResponse for each partition, by topic."""

    API_KEY = 0

    def __init__(self, buff: Any) -> None:
        self.topics: dict[bytes, dict[int, ProducePartitionResponse]] = {
            topic: {each[0]: ProducePartitionResponse(each[1], each[2]) for each in partitions}
            for topic, partitions in struct_helpers.unpack_from("[S [ihq] ]", buff, 0)
        }
