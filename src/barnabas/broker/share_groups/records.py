"""A share group as records of __consumer_offsets, in Kafka's formats, both ways.

Owns which record holds what. Must not know when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.consumer_groups.records import by_topic, partitions_of
from barnabas.broker.groups.records import ShareGroupKey
from barnabas.broker.share_groups.group import ShareGroup, ShareMember
from barnabas.protocol.messages.share_group_current_member_assignment_key import (
    ShareGroupCurrentMemberAssignmentKey,
)
from barnabas.protocol.messages.share_group_current_member_assignment_value import (
    ShareGroupCurrentMemberAssignmentValue,
)
from barnabas.protocol.messages.share_group_member_metadata_key import ShareGroupMemberMetadataKey
from barnabas.protocol.messages.share_group_member_metadata_value import ShareGroupMemberMetadataValue
from barnabas.protocol.messages.share_group_metadata_key import ShareGroupMetadataKey
from barnabas.protocol.messages.share_group_metadata_value import ShareGroupMetadataValue
from barnabas.protocol.messages.share_group_target_assignment_member_key import (
    ShareGroupTargetAssignmentMemberKey,
)
from barnabas.protocol.messages.share_group_target_assignment_member_value import (
    ShareGroupTargetAssignmentMemberValue,
)
from barnabas.protocol.messages.share_group_target_assignment_metadata_key import (
    ShareGroupTargetAssignmentMetadataKey,
)
from barnabas.protocol.messages.share_group_target_assignment_metadata_value import (
    ShareGroupTargetAssignmentMetadataValue,
)
from barnabas.protocol.schema import Message

_Assigned = ShareGroupCurrentMemberAssignmentValue.TopicPartitions
_Target = ShareGroupTargetAssignmentMemberValue.TopicPartition


def entries_of(group: ShareGroup) -> Iterator[tuple[ShareGroupKey, Message]]:
    """All records of a group as it is."""
    name = group.group_id
    yield ShareGroupMetadataKey(name), ShareGroupMetadataValue(epoch=group.epoch)
    yield (
        ShareGroupTargetAssignmentMetadataKey(name),
        ShareGroupTargetAssignmentMetadataValue(
            assignment_epoch=group.assignment_epoch, assignment_timestamp=group.assigned_ms
        ),
    )
    for member in group.members.values():
        yield from member_entries(group, member)


def member_entries(group: ShareGroup, member: ShareMember) -> Iterator[tuple[ShareGroupKey, Message]]:
    names = group.group_id, member.member_id
    yield (
        ShareGroupMemberMetadataKey(*names),
        ShareGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
        ),
    )
    if (target := group.target.get(member.member_id)) is not None:
        yield (
            ShareGroupTargetAssignmentMemberKey(*names),
            ShareGroupTargetAssignmentMemberValue(
                topic_partitions=[_Target(topic_id, indexes) for topic_id, indexes in by_topic(target)]
            ),
        )
    yield (
        ShareGroupCurrentMemberAssignmentKey(*names),
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            assigned_partitions=[
                _Assigned(topic_id, indexes) for topic_id, indexes in by_topic(member.assigned)
            ],
        ),
    )


def take_up(group: ShareGroup, key: ShareGroupKey, value: Message | None) -> None:
    """Takes up a record of the group that was written down. One that is taken back leaves no member."""
    if isinstance(value, ShareGroupMetadataValue):
        group.epoch = value.epoch
    elif isinstance(value, ShareGroupTargetAssignmentMetadataValue):
        group.assignment_epoch, group.assigned_ms = value.assignment_epoch, value.assignment_timestamp
    elif isinstance(key, ShareGroupTargetAssignmentMemberKey):
        if isinstance(value, ShareGroupTargetAssignmentMemberValue):
            group.target[key.member_id] = partitions_of(value.topic_partitions)
        else:
            group.target.pop(key.member_id, None)
    elif isinstance(key, (ShareGroupMemberMetadataKey, ShareGroupCurrentMemberAssignmentKey)):
        _take_up_member(group, key.member_id, value)


def _take_up_member(group: ShareGroup, member_id: str, value: Message | None) -> None:
    if value is None:
        group.members.pop(member_id, None)
        return
    member = group.members.setdefault(member_id, ShareMember(member_id=member_id))
    if isinstance(value, ShareGroupMemberMetadataValue):
        member.rack_id = value.rack_id
        member.client_id, member.client_host = value.client_id, value.client_host
        member.subscribed_topic_names = frozenset(value.subscribed_topic_names)
    elif isinstance(value, ShareGroupCurrentMemberAssignmentValue):
        member.epoch, member.previous_epoch = value.member_epoch, value.previous_member_epoch
        member.assigned = partitions_of(value.assigned_partitions)
