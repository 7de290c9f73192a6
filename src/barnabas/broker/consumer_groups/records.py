"""A group of the consumer protocol as records of __consumer_offsets, in Kafka's formats, both ways.

Owns which record holds what. Must not know when they are written.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Protocol

from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.consumer_groups.group import (
    ClassicSide,
    ConsumerGroup,
    ConsumerMember,
    Reconciliation,
)
from barnabas.broker.groups.records import ConsumerGroupKey
from barnabas.protocol.messages.consumer_group_current_member_assignment_key import (
    ConsumerGroupCurrentMemberAssignmentKey,
)
from barnabas.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from barnabas.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from barnabas.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from barnabas.protocol.messages.consumer_group_metadata_key import ConsumerGroupMetadataKey
from barnabas.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from barnabas.protocol.messages.consumer_group_target_assignment_member_key import (
    ConsumerGroupTargetAssignmentMemberKey,
)
from barnabas.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from barnabas.protocol.messages.consumer_group_target_assignment_metadata_key import (
    ConsumerGroupTargetAssignmentMetadataKey,
)
from barnabas.protocol.messages.consumer_group_target_assignment_metadata_value import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from barnabas.protocol.schema import Message

_Assigned = ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions
_Target = ConsumerGroupTargetAssignmentMemberValue.TopicPartition
_MEMBER_KEYS = (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupCurrentMemberAssignmentKey,
)


class _TopicPartitions(Protocol):
    topic_id: uuid.UUID
    partitions: list[int]


def entries_of(group: ConsumerGroup) -> Iterator[tuple[ConsumerGroupKey, Message]]:
    """All records of a group as it is."""
    name = group.group_id
    yield ConsumerGroupMetadataKey(name), ConsumerGroupMetadataValue(epoch=group.epoch)
    yield (
        ConsumerGroupTargetAssignmentMetadataKey(name),
        ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=group.assignment_epoch, assignment_timestamp=group.assigned_ms
        ),
    )
    for member in group.members.values():
        yield from member_entries(group, member)


def member_entries(
    group: ConsumerGroup, member: ConsumerMember
) -> Iterator[tuple[ConsumerGroupKey, Message]]:
    names = group.group_id, member.member_id
    yield (
        ConsumerGroupMemberMetadataKey(*names),
        ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor,
            classic_member_metadata=None if member.classic is None else _classic_metadata(member.classic),
        ),
    )
    if (target := group.target.get(member.member_id)) is not None:
        yield (
            ConsumerGroupTargetAssignmentMemberKey(*names),
            ConsumerGroupTargetAssignmentMemberValue(
                topic_partitions=[_Target(topic_id, indexes) for topic_id, indexes in by_topic(target)]
            ),
        )
    yield (
        ConsumerGroupCurrentMemberAssignmentKey(*names),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            assigned_partitions=[
                _Assigned(topic_id, indexes, assignment_epochs=None)
                for topic_id, indexes in by_topic(member.assigned)
            ],
            partitions_pending_revocation=[
                _Assigned(topic_id, indexes, assignment_epochs=None)
                for topic_id, indexes in by_topic(member.pending_revocation)
            ],
        ),
    )


def _classic_metadata(side: ClassicSide) -> ConsumerGroupMemberMetadataValue.ClassicMemberMetadata:
    return ConsumerGroupMemberMetadataValue.ClassicMemberMetadata(
        session_timeout_ms=side.session_timeout_ms,
        supported_protocols=[
            ConsumerGroupMemberMetadataValue.ClassicProtocol(name, metadata)
            for name, metadata in side.protocols
        ],
    )


def _classic_side(kept: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None) -> ClassicSide | None:
    if kept is None:
        return None
    protocols = [(protocol.name, protocol.metadata) for protocol in kept.supported_protocols]
    return ClassicSide(kept.session_timeout_ms, protocols)


def by_topic(partitions: Iterable[TopicIdPartition]) -> list[tuple[uuid.UUID, list[int]]]:
    found: dict[uuid.UUID, list[int]] = {}
    for topic_id, index in sorted(partitions):
        found.setdefault(topic_id, []).append(index)
    return list(found.items())


def partitions_of(topics: Iterable[_TopicPartitions]) -> frozenset[TopicIdPartition]:
    return frozenset(
        TopicIdPartition(topic.topic_id, index) for topic in topics for index in topic.partitions
    )


def take_up(group: ConsumerGroup, key: ConsumerGroupKey, value: Message | None) -> None:
    """Takes up a record of the group that was written down. One that is taken back leaves no member."""
    if isinstance(value, ConsumerGroupMetadataValue):
        group.epoch = value.epoch
    elif isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
        group.assignment_epoch, group.assigned_ms = value.assignment_epoch, value.assignment_timestamp
    elif isinstance(key, _MEMBER_KEYS):
        _take_up_member(group, key.member_id, key, value)


def _take_up_member(group: ConsumerGroup, member_id: str, key: Message, value: Message | None) -> None:
    if isinstance(value, ConsumerGroupTargetAssignmentMemberValue):
        group.target[member_id] = partitions_of(value.topic_partitions)
        return
    if isinstance(key, ConsumerGroupTargetAssignmentMemberKey):
        group.target.pop(member_id, None)
        return
    member = group.members.get(member_id)
    if isinstance(value, ConsumerGroupMemberMetadataValue):
        member = member or ConsumerMember(member_id=member_id)
        member.instance_id, member.rack_id = value.instance_id, value.rack_id
        member.client_id, member.client_host = value.client_id, value.client_host
        member.subscribed_topic_names = frozenset(value.subscribed_topic_names)
        member.subscribed_topic_regex = value.subscribed_topic_regex
        member.rebalance_timeout_ms = value.rebalance_timeout_ms
        member.server_assignor = value.server_assignor
        member.classic = _classic_side(value.classic_member_metadata)
        group.add(member)
    elif isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
        if member is None:
            member = ConsumerMember(member_id=member_id)
            group.add(member)
        member.epoch, member.previous_epoch = value.member_epoch, value.previous_member_epoch
        member.state = Reconciliation(value.state)
        member.assigned = partitions_of(value.assigned_partitions)
        member.pending_revocation = partitions_of(value.partitions_pending_revocation)
    elif member is not None:
        group.remove(member)
