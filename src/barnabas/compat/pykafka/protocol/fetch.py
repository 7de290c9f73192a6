"""Fetch: a request for the messages of partitions from an offset on, and those messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from barnabas.compat.pykafka.common import CompressionType
from barnabas.compat.pykafka.protocol._writing import numbers, topics
from barnabas.compat.pykafka.protocol.base import Request, Response
from barnabas.compat.pykafka.protocol.message import MessageSet
from barnabas.compat.pykafka.utils import compression, parse_version, struct_helpers

__all__ = [
    "FetchPartitionResponse",
    "FetchRequest",
    "FetchResponse",
    "FetchResponseV1",
    "FetchResponseV2",
    "PartitionFetchRequest",
]


class _PartitionFetchRequest(NamedTuple):
    topic_name: bytes
    partition_id: int
    offset: int
    max_bytes: int


class PartitionFetchRequest(_PartitionFetchRequest):
    """From which offset on one partition is to be read, and how many bytes at most."""

    def __new__(cls, topic: bytes, partition: int, offset: int, max_bytes: int = 1024 * 1024) -> Self:
        return super().__new__(cls, topic, partition, offset, max_bytes)


class FetchRequest(Request):
    """`timeout`: for how many milliseconds the broker waits for `min_bytes`."""

    API_KEY = 1

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {0: FetchRequest, 1: FetchRequest, 2: FetchRequest}

    def __init__(
        self,
        partition_requests: Iterable[PartitionFetchRequest] = (),
        timeout: int = 1000,
        min_bytes: int = 1024,
        api_version: int = 0,
    ) -> None:
        self.timeout = timeout
        self.min_bytes = min_bytes
        self.api_version = api_version
        self._reqs: defaultdict[bytes, dict[int, tuple[int, int]]] = defaultdict(dict)
        for each in partition_requests:
            self.add_request(each)

    def add_request(self, partition_request: PartitionFetchRequest) -> None:
        topic, partition, offset, max_bytes = partition_request
        self._reqs[topic][partition] = (offset, max_bytes)

    def _version(self) -> int:
        return self.api_version

    def _body(self) -> bytes:
        head = numbers("iii", -1, self.timeout, self.min_bytes)
        return head + topics(self._reqs, lambda each: numbers("iqi", each[0], *each[1]))


class FetchPartitionResponse(NamedTuple):
    """`max_offset`: the partition's high watermark."""

    max_offset: int
    messages: list[Any]
    err: int


class FetchResponse(Response):
    """`topics`: a FetchPartitionResponse for each partition, by topic."""

    API_VERSION = 0
    API_KEY = 1

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {0: FetchResponse, 1: FetchResponseV1, 2: FetchResponseV2}

    def __init__(self, buff: Any, offset: int = 0, broker_version: str = "0.9.0") -> None:
        self.topics: defaultdict[bytes, dict[int, FetchPartitionResponse]] = defaultdict(dict)
        for topic, partitions in struct_helpers.unpack_from("[S [ihqY] ]", buff, offset):
            for partition, code, max_offset, data in partitions:
                messages = self._unpack_message_set(data or b"", partition, broker_version)
                self.topics[topic][partition] = FetchPartitionResponse(max_offset, messages, code)

    def _unpack_message_set(
        self, buff: Any, partition_id: int = -1, broker_version: str = "0.9.0"
    ) -> list[Any]:
        output: list[Any] = []
        for message in MessageSet.decode(buff, partition_id=partition_id).messages:
            if message.compression_type == CompressionType.NONE:
                output.append(message)
                continue
            decode = _codec_of(message.compression_type, broker_version)
            within = self._unpack_message_set(decode(message.value), partition_id, broker_version)
            if within[-1].offset < message.offset:
                # Since 0.10 the messages within one are counted from 0 on, and it has the last one's offset.
                first = message.offset - within[-1].offset
                for each in within:
                    each.offset += first
            output += within
        return output


def _codec_of(compression_type: int, broker_version: str) -> Any:
    if compression_type == CompressionType.LZ4:
        is_of_old = parse_version(broker_version) < parse_version("0.10.0")
        return compression.decode_lz4_old_kafka if is_of_old else compression.decode_lz4
    return {
        CompressionType.GZIP: compression.decode_gzip,
        CompressionType.SNAPPY: compression.decode_snappy,
    }[compression_type]


class FetchResponseV1(FetchResponse):
    """With the time for which the broker throttled the client."""

    API_VERSION = 1

    def __init__(self, buff: Any, offset: int = 0, broker_version: str = "0.9.0") -> None:
        (self.throttle_time,) = struct_helpers.unpack_from("i", buff, offset)
        super().__init__(buff, offset + 4, broker_version=broker_version)


class FetchResponseV2(FetchResponseV1):
    """With messages that have timestamps."""

    API_VERSION = 2
