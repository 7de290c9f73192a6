"""What the members of a group tell each other, as a program's assignors see it: in the structs of
kafka-python 1.2 and 2, or in the classes of 3.

Knows the bytes of both; the bytes of today are the core's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from barnabas.assignor import GroupMember
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.compat.kafka_engine.wire.member_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from barnabas.compat.kafka_engine.wire.structs import Struct
from barnabas.compat.kafka_engine.wire.types import Array, Bytes, Int16, Int32, Schema, String
from barnabas.types import TopicPartition

PROTOCOL_TYPE = "consumer"


def _partitions_of(assignment: Any) -> list[Any]:
    struct = STRUCTS["TopicPartition"]
    return [struct(topic, number) for topic, numbers in assignment for number in numbers]


class MemberMetadataStruct(Struct):
    """What a member subscribes to, in version 0."""

    SCHEMA = Schema(
        ("version", Int16),
        (generation().member_topics_name, Array(String("utf-8"))),
        ("user_data", Bytes),
    )


class MemberAssignmentStruct(Struct):
    """What a member is given, in version 0."""

    SCHEMA = Schema(
        ("version", Int16),
        ("assignment", Array(("topic", String("utf-8")), ("partitions", Array(Int32)))),
        ("user_data", Bytes),
    )

    def partitions(self) -> list[Any]:
        """As TopicPartition."""
        return _partitions_of(self.get_item("assignment"))


class GroupSubscription:
    """What an assignor of 2 sees of a member: its metadata, and its name if it is a static one."""

    def __init__(self, metadata: Any, group_instance_id: str | None) -> None:
        self._metadata = metadata
        self._group_instance_id = group_instance_id

    @property
    def version(self) -> int:
        return self._metadata.version

    @property
    def user_data(self) -> bytes:
        return self._metadata.user_data

    @property
    def topics(self) -> list[str]:
        return self._metadata.topics

    subscription = topics

    @property
    def group_instance_id(self) -> str | None:
        return self._group_instance_id

    def encode(self) -> bytes:
        return self._metadata.encode()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, GroupSubscription)
            and self._metadata == other._metadata
            and self._group_instance_id == other._group_instance_id
        )

    def __hash__(self) -> int:
        return hash((self._metadata, self._group_instance_id))


class JoinedMember(NamedTuple):
    """What an assignor of 3 sees of a member."""

    member_id: str
    group_instance_id: str | None
    metadata: Any


def assigned(member_assignment: Iterable[tuple[str, Iterable[int]]]) -> Any:
    """A member's assignment as assignors of this generation give it: numbers of partitions by topic."""
    items = [(topic, list(numbers)) for topic, numbers in member_assignment]
    if generation().assignors_see_members == "list":
        return ConsumerProtocolAssignment(0, items, b"")
    return MemberAssignmentStruct(0, items, b"")


def subscribed(topics: Iterable[str], user_data: bytes = b"") -> Any:
    """A member's metadata as assignors of this generation give it."""
    if generation().assignors_see_members == "list":
        return ConsumerProtocolSubscription(0, list(topics), user_data)
    return MemberMetadataStruct(0, list(topics), user_data)


def shown_members(members: Iterable[GroupMember]) -> Any:
    """The members of a group as assignors of this generation see them: a dict by their ids, or a list."""
    if generation().assignors_see_members == "list":
        return [
            JoinedMember(
                member.member_id,
                member.group_instance_id,
                ConsumerProtocolSubscription(
                    3,
                    list(member.topics),
                    member.user_data,
                    _by_topic(member.owned),
                    member.generation,
                    member.rack,
                ),
            )
            for member in members
        ]
    structs = {
        member.member_id: (subscribed(member.topics, member.user_data or b""), member.group_instance_id)
        for member in members
    }
    if generation().assignors_see_members == "subscriptions":
        return {member_id: GroupSubscription(*each) for member_id, each in structs.items()}
    return {member_id: metadata for member_id, (metadata, _) in structs.items()}


def core_members(members: Any) -> list[GroupMember]:
    """The opposite of `shown_members`."""
    if isinstance(members, Mapping):
        shown = [
            (member_id, getattr(metadata, "group_instance_id", None), metadata)
            for member_id, metadata in cast("Mapping[str, Any]", members).items()
        ]
    else:
        shown = [(each.member_id, each.group_instance_id, each.metadata) for each in members]
    return [_core_member(*each) for each in shown]


def _core_member(member_id: str, group_instance_id: str | None, metadata: Any) -> GroupMember:
    topics = getattr(metadata, generation().member_topics_name, None) or ()
    owned = getattr(metadata, "owned_partitions", ())
    return GroupMember(
        member_id,
        tuple(topics),
        group_instance_id,
        tuple(TopicPartition(topic, number) for topic, numbers in owned for number in numbers),
        getattr(metadata, "generation_id", -1),
        metadata.user_data,
        getattr(metadata, "rack_id", None),
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> list[Any]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    subscription: Any = ConsumerProtocolSubscription
    return [subscription.TopicPartition(topic, numbers) for topic, numbers in by_topic.items()]
