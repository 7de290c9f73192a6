"""Asking for groups and for versions, making and removing topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.compat.pykafka.protocol._writing import array, numbers, string
from barnabas.compat.pykafka.protocol.base import (
    ApiVersionsSpec,
    ConsumerGroupProtocolMetadata,
    MemberAssignment,
    Request,
    Response,
)
from barnabas.compat.pykafka.utils import struct_helpers

__all__ = [
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "ApiVersionsResponseV1",
    "ApiVersionsSpec",
    "CreateTopicRequest",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
    "DescribeGroupResponse",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "GroupListing",
    "GroupMember",
    "ListGroupsRequest",
    "ListGroupsResponse",
]


class ListGroupsRequest(Request):
    """For the groups that the broker coordinates."""

    API_KEY = 16

    def _body(self) -> bytes:
        return b""


class GroupListing(NamedTuple):
    group_id: bytes
    protocol_type: bytes


class ListGroupsResponse(Response):
    """`groups`: a GroupListing by each group's name."""

    API_KEY = 16

    def __init__(self, buff: Any) -> None:
        self.error, groups = struct_helpers.unpack_from("h [SS]", buff, 0)
        self.groups: dict[bytes, GroupListing] = {each[0]: GroupListing(*each) for each in groups}


class DescribeGroupsRequest(Request):
    API_KEY = 15

    def __init__(self, group_ids: Any) -> None:
        self.group_ids = group_ids

    def _body(self) -> bytes:
        return array(self.group_ids, string)


class GroupMember(NamedTuple):
    member_id: bytes
    client_id: bytes
    client_host: bytes
    member_metadata: ConsumerGroupProtocolMetadata
    member_assignment: MemberAssignment


class DescribeGroupResponse(NamedTuple):
    """`members`: by their ids."""

    error_code: int
    group_id: bytes
    state: bytes
    protocol_type: bytes
    protocol: bytes
    members: dict[bytes, GroupMember]


class DescribeGroupsResponse(Response):
    """`groups`: a DescribeGroupResponse by each group's name."""

    API_KEY = 15

    def __init__(self, buff: Any) -> None:
        self.groups: dict[bytes, DescribeGroupResponse] = {
            group[1]: DescribeGroupResponse._make((*group[:5], {row[0]: _member(*row) for row in group[5]}))
            for group in struct_helpers.unpack_from("[hSSSS [SSSYY ] ]", buff, 0)
        }


def _member(
    member_id: bytes, client_id: bytes, client_host: bytes, metadata: Any, assignment: Any
) -> GroupMember:
    return GroupMember(
        member_id,
        client_id,
        client_host,
        ConsumerGroupProtocolMetadata.from_bytestring(metadata),
        MemberAssignment.from_bytestring(assignment),
    )


class CreateTopicRequest(NamedTuple):
    """A topic. Where `replica_assignment` has pairs of a partition and its replicas, the two numbers are -1;
    `config_entries` has pairs of a name and a value."""

    topic_name: Any
    num_partitions: int
    replication_factor: int
    replica_assignment: Any
    config_entries: Any


class CreateTopicsRequest(Request):
    """`timeout`: for how many milliseconds the broker waits for the topics to be there."""

    API_KEY = 19

    def __init__(self, topic_requests: Any, timeout: int = 0) -> None:
        self.topic_requests = topic_requests
        self.timeout = timeout

    def _body(self) -> bytes:
        return array(self.topic_requests, _topic) + numbers("i", self.timeout)


def _topic(topic: CreateTopicRequest) -> bytes:
    return b"".join(
        (
            string(topic.topic_name),
            numbers("ih", topic.num_partitions, topic.replication_factor),
            array(topic.replica_assignment, _replicas),
            array(topic.config_entries, lambda each: string(each[0]) + string(each[1])),
        )
    )


def _replicas(partition: tuple[int, Any]) -> bytes:
    return numbers("i", partition[0]) + array(partition[1], lambda each: numbers("i", each))


class _TopicErrors(Response):
    """Raises: the exception of the first error code that the answer has."""

    def __init__(self, buff: Any) -> None:
        response = struct_helpers.unpack_from("[Sh]", buff, 0)
        for _, code in response:
            if code != 0:
                self.raise_error(code, response)


class CreateTopicsResponse(_TopicErrors):
    API_KEY = 19


class DeleteTopicsRequest(Request):
    API_KEY = 20

    def __init__(self, topics: Any, timeout: int = 0) -> None:
        self.topics = topics
        self.timeout = timeout

    def _body(self) -> bytes:
        return array(self.topics, string) + numbers("i", self.timeout)


class DeleteTopicsResponse(_TopicErrors):
    API_KEY = 20


class ApiVersionsRequest(Request):
    API_KEY = 18

    def _body(self) -> bytes:
        return b""


class ApiVersionsResponse(Response):
    """`api_versions`: an ApiVersionsSpec by each API's key."""

    API_KEY = 18

    @classmethod
    def get_versions(cls) -> Mapping[int, type]:
        return {0: ApiVersionsResponse, 1: ApiVersionsResponseV1}

    def __init__(self, buff: Any) -> None:
        self._take(struct_helpers.unpack_from("h [hhh]", buff, 0)[1])

    def _take(self, versions: Any) -> None:
        self.api_versions: dict[int, ApiVersionsSpec] = {each[0]: ApiVersionsSpec(*each) for each in versions}


class ApiVersionsResponseV1(ApiVersionsResponse):
    """With the time for which the broker throttled the client."""

    def __init__(self, buff: Any) -> None:
        _, versions, self.throttle_time = struct_helpers.unpack_from("h [hhh]i", buff, 0)
        self._take(versions)
