"""What members of groups of consumers tell each other through brokers: read into the shape of either
generation."""

from __future__ import annotations

import logging
import struct
from typing import Any

from barnabas.compat.kafka_engine.admin.containers import container_of
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.compat.kafka_engine.wire.structs import Struct
from barnabas.compat.kafka_engine.wire.types import Array, Bytes, Int16, Int32, Schema, String
from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode_prefix
from barnabas.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.protocol.schema import Message

_VERSION = struct.Struct(">h")


class ConsumerProtocolMemberMetadata_v0(Struct):
    """What a consumer wants to read, in the fields that the oldest has."""

    __module__ = "kafka.coordinator.protocol"
    SCHEMA = Schema(("version", Int16), ("topics", Array(String())), ("user_data", Bytes))


class ConsumerProtocolMemberAssignment_v0(Struct):
    """What a consumer is to read."""

    __module__ = "kafka.coordinator.protocol"
    SCHEMA = Schema(
        ("version", Int16),
        ("assignment", Array(("topic", String()), ("partitions", Array(Int32)))),
        ("user_data", Bytes),
    )
    assignment: list[tuple[str, list[int]]]

    def partitions(self) -> list[Any]:
        """The TopicPartitions."""
        return [
            STRUCTS["TopicPartition"](topic, partition)
            for topic, partitions in self.assignment
            for partition in partitions
        ]


def _decoded(cls: type[Message], data: bytes) -> tuple[Any, int]:
    """A message that its version stands before, and that version. Raises: BrokenProtocolError."""
    if len(data) < _VERSION.size:
        raise BrokenProtocolError(f"{cls.__name__} ends before its version does")
    # Newer versions have what older ones have, and more after it.
    version = min(_VERSION.unpack_from(data)[0], cls.VERSIONS[1])
    message, _ = decode_prefix(cls, version, data, _VERSION.size)
    return message, _VERSION.unpack_from(data)[0]


def read_members(group: Any, log: logging.Logger) -> None:
    """Puts what members of a described group told in place of its bytes, as kafka-python 3 has it. What
    cannot be read stays bytes, and `log` is told."""
    for member in group.members:
        for name, cls in (
            ("member_metadata", ConsumerProtocolSubscription),
            ("member_assignment", ConsumerProtocolAssignment),
        ):
            data = getattr(member, name)
            if not data:
                continue
            try:
                message, version = _decoded(cls, data)
            except BrokenProtocolError:
                log.warning("Unable to decode %s for %s/%s", name, group.group_id, member.member_id)
            else:
                setattr(member, name, container_of(message, min(version, cls.VERSIONS[1])))


def metadata_struct(data: bytes) -> Any:
    """What a member told as it joined, as kafka-python 2 has it; bytes that cannot be read stay."""
    try:
        message, version = _decoded(ConsumerProtocolSubscription, data)
    except BrokenProtocolError:
        return data
    return ConsumerProtocolMemberMetadata_v0(version, list(message.topics), message.user_data)


def assignment_struct(data: bytes) -> Any:
    """What a member was told to read, as kafka-python 2 has it; bytes that cannot be read stay."""
    try:
        message, version = _decoded(ConsumerProtocolAssignment, data)
    except BrokenProtocolError:
        return data
    assignment = [(each.topic, list(each.partitions)) for each in message.assigned_partitions]
    return ConsumerProtocolMemberAssignment_v0(version, assignment, message.user_data)
