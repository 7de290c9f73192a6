"""Membership of groups: joining, the leader's assignment, heartbeats, leaving."""

from __future__ import annotations

from typing import Any

from barnabas.compat.pykafka.protocol._writing import array, numbers, sized, string
from barnabas.compat.pykafka.protocol.base import (
    ConsumerGroupProtocolMetadata,
    MemberAssignment,
    Request,
    Response,
)
from barnabas.compat.pykafka.utils import struct_helpers

__all__ = [
    "ConsumerGroupProtocolMetadata",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "MemberAssignment",
    "SyncGroupRequest",
    "SyncGroupResponse",
]


class JoinGroupRequest(Request):
    """`membership_protocol`: a GroupMembershipProtocol, whose metadata says what the member is for."""

    API_KEY = 11

    def __init__(
        self,
        group_id: Any,
        member_id: Any,
        topic_name: Any,
        membership_protocol: Any,
        session_timeout: int = 30000,
    ) -> None:
        self.protocol = membership_protocol
        self.group_id = group_id
        self.session_timeout = session_timeout
        self.member_id = member_id
        self.protocol_type = membership_protocol.protocol_type
        metadata = bytes(membership_protocol.metadata.get_bytes())
        self.group_protocols = [(membership_protocol.protocol_name, metadata)]

    def _body(self) -> bytes:
        member = numbers("i", self.session_timeout) + string(self.member_id) + string(self.protocol_type)
        protocols = array(self.group_protocols, lambda each: string(each[0]) + sized(each[1]))
        return string(self.group_id) + member + protocols


class JoinGroupResponse(Response):
    """`members`: of the leader's answer, the metadata of each."""

    API_KEY = 11

    def __init__(self, buff: Any) -> None:
        response = struct_helpers.unpack_from("hiSSS[SY ]", buff, 0)
        self.error_code, self.generation_id, self.group_protocol, self.leader_id, self.member_id = response[
            :5
        ]
        self.members: dict[bytes, ConsumerGroupProtocolMetadata] = {
            member_id: ConsumerGroupProtocolMetadata.from_bytestring(metadata)
            for member_id, metadata in response[5]
        }


class SyncGroupRequest(Request):
    """`group_assignment`: the leader's pairs of a member's id and a MemberAssignment; others have none."""

    API_KEY = 14

    def __init__(self, group_id: Any, generation_id: int, member_id: Any, group_assignment: Any) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_assignment = group_assignment

    def _body(self) -> bytes:
        head = string(self.group_id) + numbers("i", self.generation_id) + string(self.member_id)
        return head + array(self.group_assignment, lambda each: string(each[0]) + sized(each[1].get_bytes()))


class SyncGroupResponse(Response):
    API_KEY = 14

    def __init__(self, buff: Any) -> None:
        self.error_code, assignment = struct_helpers.unpack_from("hY", buff, 0)
        self.member_assignment = MemberAssignment.from_bytestring(assignment)


class HeartbeatRequest(Request):
    API_KEY = 12

    def __init__(self, group_id: Any, generation_id: int, member_id: Any) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id

    def _body(self) -> bytes:
        return string(self.group_id) + numbers("i", self.generation_id) + string(self.member_id)


class HeartbeatResponse(Response):
    API_KEY = 12

    def __init__(self, buff: Any) -> None:
        (self.error_code,) = struct_helpers.unpack_from("h", buff, 0)


class LeaveGroupRequest(Request):
    API_KEY = 13

    def __init__(self, group_id: Any, member_id: Any) -> None:
        self.group_id = group_id
        self.member_id = member_id

    def _body(self) -> bytes:
        return string(self.group_id) + string(self.member_id)


class LeaveGroupResponse(Response):
    API_KEY = 13

    def __init__(self, buff: Any) -> None:
        (self.error_code,) = struct_helpers.unpack_from("h", buff, 0)
