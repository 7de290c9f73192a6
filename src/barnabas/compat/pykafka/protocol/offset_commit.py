"""The offsets of groups: who keeps them, committing them, and asking for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from barnabas.compat.pykafka.protocol._writing import numbers, string, topics
from barnabas.compat.pykafka.protocol.base import Request, Response
from barnabas.compat.pykafka.utils import struct_helpers

__all__ = [
    "GroupCoordinatorRequest",
    "GroupCoordinatorResponse",
    "OffsetCommitPartitionResponse",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetFetchPartitionResponse",
    "OffsetFetchRequest",
    "OffsetFetchRequestV1",
    "OffsetFetchRequestV2",
    "OffsetFetchResponse",
    "OffsetFetchResponseV1",
    "OffsetFetchResponseV2",
    "PartitionOffsetCommitRequest",
    "PartitionOffsetFetchRequest",
]


class GroupCoordinatorRequest(Request):
    API_KEY = 10

    def __init__(self, consumer_group: Any) -> None:
        self.consumer_group = consumer_group

    def _body(self) -> bytes:
        return string(self.consumer_group)


class GroupCoordinatorResponse(Response):
    """Raises: the exception of the error code that the answer has."""

    API_KEY = 10

    def __init__(self, buff: Any) -> None:
        response = struct_helpers.unpack_from("hiSi", buff, 0)
        code, self.coordinator_id, self.coordinator_host, self.coordinator_port = response
        if code != 0:
            self.raise_error(code, response)


class PartitionOffsetCommitRequest(NamedTuple):
    """`timestamp`: of the commit, in milliseconds."""

    topic_name: bytes
    partition_id: int
    offset: int
    timestamp: int
    metadata: Any


class OffsetCommitRequest(Request):
    """In version 1. Who is no member of the group has generation -1 and the id b""."""

    API_KEY = 8
    API_VERSION = 1

    def __init__(
        self,
        consumer_group: Any,
        consumer_group_generation_id: int,
        consumer_id: Any,
        partition_requests: Iterable[PartitionOffsetCommitRequest] = (),
    ) -> None:
        self.consumer_group = consumer_group
        self.consumer_group_generation_id = consumer_group_generation_id
        self.consumer_id = consumer_id
        self._reqs: defaultdict[bytes, dict[int, tuple[int, int, Any]]] = defaultdict(dict)
        for topic, partition, *rest in partition_requests:
            self._reqs[topic][partition] = (rest[0], rest[1], rest[2])

    def _body(self) -> bytes:
        group = string(self.consumer_group) + numbers("i", self.consumer_group_generation_id)
        return group + string(self.consumer_id) + topics(self._reqs, _commit)


def _commit(partition: tuple[int, tuple[int, int, Any]]) -> bytes:
    number, (offset, timestamp, metadata) = partition
    return numbers("iqq", number, offset, timestamp) + (string(metadata) if metadata else numbers("h", -1))


class OffsetCommitPartitionResponse(NamedTuple):
    err: int


class OffsetCommitResponse(Response):
    """`topics`: an OffsetCommitPartitionResponse for each partition, by topic."""

    API_KEY = 8

    def __init__(self, buff: Any) -> None:
        self.topics: dict[bytes, dict[int, OffsetCommitPartitionResponse]] = {
            topic: {number: OffsetCommitPartitionResponse(code) for number, code in partitions}
            for topic, partitions in struct_helpers.unpack_from("[S [ih ] ]", buff, 0)
        }


class PartitionOffsetFetchRequest(NamedTuple):
    topic_name: bytes
    partition_id: int


class OffsetFetchRequest(Request):
    """For what ZooKeeper has; the versions after that, for what Kafka has."""

    API_VERSION = 0
    API_KEY = 9

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {0: OffsetFetchRequest, 1: OffsetFetchRequestV1, 2: OffsetFetchRequestV2}

    def __init__(
        self, consumer_group: Any, partition_requests: Iterable[PartitionOffsetFetchRequest] = ()
    ) -> None:
        self.consumer_group = consumer_group
        self._reqs: defaultdict[bytes, list[int]] = defaultdict(list)
        for topic, partition in partition_requests:
            self._reqs[topic].append(partition)

    def _body(self) -> bytes:
        return string(self.consumer_group) + self._topics()

    def _topics(self) -> bytes:
        return topics(self._reqs, lambda each: numbers("i", each))


class OffsetFetchRequestV1(OffsetFetchRequest):
    API_VERSION = 1


class OffsetFetchRequestV2(OffsetFetchRequestV1):
    """Without partitions, it is for all that the group has."""

    API_VERSION = 2

    def _topics(self) -> bytes:
        return super()._topics() if self._reqs else numbers("i", -1)


class OffsetFetchPartitionResponse(NamedTuple):
    """`offset`: -1 where nothing was committed."""

    offset: int
    metadata: bytes | None
    err: int


class OffsetFetchResponse(Response):
    """`topics`: an OffsetFetchPartitionResponse for each partition, by topic."""

    API_VERSION = 0
    API_KEY = 9
    topics: dict[bytes, dict[int, OffsetFetchPartitionResponse]]

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {0: OffsetFetchResponse, 1: OffsetFetchResponseV1, 2: OffsetFetchResponseV2}

    def __init__(self, buff: Any) -> None:
        self._populate_partition_responses(struct_helpers.unpack_from("[S [iqSh ] ]", buff, 0))

    def _populate_partition_responses(self, partition_responses: Any) -> None:
        self.topics = {
            topic: {each[0]: OffsetFetchPartitionResponse(*each[1:]) for each in partitions}
            for topic, partitions in partition_responses
        }


class OffsetFetchResponseV1(OffsetFetchResponse):
    API_VERSION = 1


class OffsetFetchResponseV2(OffsetFetchResponseV1):
    """With an error code of the group's."""

    API_VERSION = 2

    def __init__(self, buff: Any) -> None:
        partition_responses, self.err = struct_helpers.unpack_from("[S [iqSh ] ] h", buff, 0)
        self._populate_partition_responses(partition_responses)
