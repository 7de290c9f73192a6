"""What the members of a classic group tell each other through the coordinator, as bytes.

Owns the subscription that a member sends to the leader and the assignment that the leader sends back, in the
versions that Java's members read. Pure functions: knows nothing of requests or of how partitions are divided.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from barnabas.assignor import GroupMember
from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.types import TopicPartition

SUBSCRIPTION_VERSION = ConsumerProtocolSubscription.VERSIONS[1]
ASSIGNMENT_VERSION = ConsumerProtocolAssignment.VERSIONS[1]

_VERSION = struct.Struct(">h")


def encode_subscription(
    topics: Sequence[str],
    owned: Iterable[TopicPartition],
    generation: int,
    user_data: bytes | None,
    rack: str | None,
) -> bytes:
    """What a member tells the leader of itself, in the newest version that Java's members read."""
    message = ConsumerProtocolSubscription(
        topics=list(topics),
        user_data=user_data,
        owned_partitions=[
            ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=partitions)
            for topic, partitions in _by_topic(owned).items()
        ],
        generation_id=generation,
        rack_id=rack,
    )
    return _VERSION.pack(SUBSCRIPTION_VERSION) + encode(message, SUBSCRIPTION_VERSION)


def decode_subscription(member_id: str, group_instance_id: str | None, metadata: bytes) -> GroupMember:
    """Raises: BrokenProtocolError."""
    message = decode(ConsumerProtocolSubscription, *_versioned(metadata, SUBSCRIPTION_VERSION))
    return GroupMember(
        member_id,
        tuple(message.topics),
        group_instance_id,
        tuple(TopicPartition(t.topic, p) for t in message.owned_partitions for p in t.partitions),
        message.generation_id,
        None if message.user_data is None else bytes(message.user_data),
        message.rack_id,
    )


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """What the leader tells a member, in the oldest version, which all members read."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in _by_topic(partitions).items()
        ]
    )
    return _VERSION.pack(0) + encode(message, 0)


def decode_assignment(assignment: bytes) -> list[TopicPartition]:
    """No bytes mean no partitions: the leader did not know this member. Raises: BrokenProtocolError."""
    if not assignment:
        return []
    message = decode(ConsumerProtocolAssignment, *_versioned(assignment, ASSIGNMENT_VERSION))
    return [TopicPartition(t.topic, p) for t in message.assigned_partitions for p in t.partitions]


def _versioned(data: bytes, newest: int) -> tuple[int, bytes]:
    """A newer version than ours is read as the newest we know: later versions only add fields."""
    if len(data) < _VERSION.size:
        raise BrokenProtocolError("a member's metadata is cut short")
    return max(0, min(_VERSION.unpack_from(data)[0], newest)), data[_VERSION.size :]


def _by_topic(partitions: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in sorted(partitions):
        by_topic[topic].append(partition)
    return by_topic
