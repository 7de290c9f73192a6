"""A program for kafka-python: `admin_program.py FUNCTION BOOTSTRAP [ARGUMENT ...]` prints what the function
gives, as JSON."""

from __future__ import annotations

import inspect
import json
import struct
import sys
from typing import Any, ClassVar

from kafka.admin import KafkaAdminClient  # pyright: ignore[reportMissingImports]


def log_dirs(admin: Any, topic: str) -> Any:
    answer = admin.describe_log_dirs()
    found = [name for _, _, topics in answer.log_dirs for name, _ in topics if name == topic]
    return type(answer).__name__, found


def members(admin: Any, group: str) -> Any:
    """What the only member of a group wants, and what it has, in either shape."""
    described = admin.describe_consumer_groups([group])[0]
    [member] = described.members
    partitions = [list(partition) for partition in member.member_assignment.partitions()]
    as_dict = admin.describe_groups([group])[group]["members"][0]
    return (
        described.state,
        *(type(member.member_metadata).__name__, member.member_metadata.topics, partitions),
        *(as_dict["member_metadata"]["topics"], as_dict["member_assignment"]["assigned_partitions"]),
    )


def assign_partitions(admin: Any, topic: str) -> Any:
    """Of a topic with one partition: to brokers 2 and 3 as an object, then 3 and 1 in a dictionary."""
    from kafka.admin import NewPartitions  # pyright: ignore[reportMissingImports]

    admin.create_partitions({topic: NewPartitions(3, [[2], [3]])})
    if "raise_errors" in inspect.signature(admin.create_partitions).parameters:
        admin.create_partitions({topic: {"count": 5, "assignments": [[3], [1]]}})
    return None


def remove_all(admin: Any, group: str) -> Any:
    from kafka.admin import MemberToRemove  # pyright: ignore[reportMissingImports]

    [member] = admin.describe_groups([group])[group]["members"]
    removed = admin.remove_group_members(group, [MemberToRemove(member["member_id"], reason="a test")])
    return [error.__name__ for error in removed.values()]


class _ListGroupsResponse:
    @staticmethod
    def decode(data: bytes) -> Any:
        throttle_ms, code, count = struct.unpack_from(">ihi", data)
        return throttle_ms, code, count


class _ListGroupsRequest:
    """Version 1, as the structs of `kafka.protocol` are."""

    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 1
    RESPONSE_TYPE = _ListGroupsResponse

    def encode(self) -> bytes:
        return b""


def requests(admin: Any) -> Any:
    one = admin.send_request(_ListGroupsRequest())
    return one[:2], len(admin.send_requests([(_ListGroupsRequest(), 1), (_ListGroupsRequest(), None)]))


def main() -> None:
    function, bootstrap, *arguments = sys.argv[1:]
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    print(json.dumps(globals()[function](admin, *arguments)))
    admin.close()


main()
