"""Membership in groups, as structs of fixed versions."""

from __future__ import annotations

from typing import Any, NamedTuple

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.wire.message_modules import message_module
from barnabas.compat.kafka_engine.wire.structs import Struct
from barnabas.compat.kafka_engine.wire.types import Array, Bytes, Int16, Int32, Schema, String

DEFAULT_GENERATION_ID = -1
UNKNOWN_MEMBER_ID = ""


class GroupMember(NamedTuple):
    """A member as the coordinator tells it to the leader."""

    member_id: Any = None
    group_instance_id: Any = None
    metadata_bytes: Any = None


class ProtocolMetadata(Struct):
    """What a member of a group of consumers says of itself."""

    SCHEMA = Schema(("version", Int16), ("subscription", Array(String("utf-8"))), ("user_data", Bytes))


class MemberAssignment(Struct):
    """Which partitions a member of a group of consumers gets."""

    SCHEMA = Schema(
        ("version", Int16),
        (
            generation().member_assignment_name,
            Array(("topic", String("utf-8")), ("partitions", Array(Int32))),
        ),
        ("user_data", Bytes),
    )


__getattr__ = message_module(
    __name__,
    *("DEFAULT_GENERATION_ID", "UNKNOWN_MEMBER_ID", "GroupMember", "ProtocolMetadata", "MemberAssignment"),
)
