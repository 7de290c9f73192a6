"""ListOffsets: which offsets a partition had at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from barnabas.compat.pykafka.protocol._writing import numbers, topics
from barnabas.compat.pykafka.protocol.base import Request, Response
from barnabas.compat.pykafka.utils import struct_helpers

__all__ = [
    "ListOffsetRequest",
    "ListOffsetRequestV1",
    "ListOffsetResponse",
    "ListOffsetResponseV1",
    "OffsetPartitionResponse",
    "OffsetPartitionResponseV1",
    "OffsetRequest",
    "OffsetResponse",
    "PartitionOffsetRequest",
]


class PartitionOffsetRequest(NamedTuple):
    """At most `max_offsets` of a partition, from before a time in milliseconds or at an OffsetType."""

    topic_name: bytes
    partition_id: int
    offsets_before: int
    max_offsets: int


class ListOffsetRequest(Request):
    API_VERSION = 0
    API_KEY = 2

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {0: ListOffsetRequest, 1: ListOffsetRequest}

    def __init__(self, partition_requests: Iterable[PartitionOffsetRequest]) -> None:
        self._reqs: defaultdict[bytes, dict[int, tuple[int, int]]] = defaultdict(dict)
        for topic, partition, offsets_before, max_offsets in partition_requests:
            self._reqs[topic][partition] = (offsets_before, max_offsets)

    def _body(self) -> bytes:
        return numbers("i", -1) + topics(self._reqs, lambda each: numbers("iqi", each[0], *each[1]))


class ListOffsetRequestV1(ListOffsetRequest):
    """Without a number of offsets: there is one."""

    API_VERSION = 1

    def _body(self) -> bytes:
        return numbers("i", -1) + topics(self._reqs, lambda each: numbers("iq", each[0], each[1][0]))


class OffsetPartitionResponse(NamedTuple):
    """`offset`: a list of them."""

    offset: list[int]
    err: int


class OffsetPartitionResponseV1(NamedTuple):
    """With the time of the message there."""

    offset: Any
    timestamp: int
    err: int


class ListOffsetResponse(Response):
    """`topics`: an OffsetPartitionResponse for each partition, by topic."""

    API_VERSION = 0
    API_KEY = 2
    topics: dict[bytes, dict[int, Any]]

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {0: ListOffsetResponse, 1: ListOffsetResponse}

    def __init__(self, buff: Any) -> None:
        self.topics = {
            topic: {number: OffsetPartitionResponse(offsets, code) for number, code, offsets in partitions}
            for topic, partitions in struct_helpers.unpack_from("[S [ih [q] ] ]", buff, 0)
        }


class ListOffsetResponseV1(ListOffsetResponse):
    """`topics`: an OffsetPartitionResponseV1 for each partition, by topic."""

    API_VERSION = 1

    def __init__(self, buff: Any) -> None:
        self.topics = {
            topic: {
                number: OffsetPartitionResponseV1(offset, timestamp, code)
                for number, code, timestamp, offset in partitions
            }
            for topic, partitions in struct_helpers.unpack_from("[S [ihqq] ]", buff, 0)
        }


# What releases before 2.8 call them.
OffsetRequest = ListOffsetRequest
OffsetResponse = ListOffsetResponse
