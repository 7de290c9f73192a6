"""A Streams group as records of __consumer_offsets, in Kafka's formats, both ways.

Owns which record holds what. Must not know when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from barnabas.broker.groups.records import StreamsGroupKey
from barnabas.broker.streams_groups.group import StreamsGroup, StreamsMember, TaskReconciliation
from barnabas.broker.streams_groups.tasks import MemberTasks, TaskId, TaskSet, by_subtopology, tasks_of
from barnabas.protocol.messages.streams_group_current_member_assignment_key import (
    StreamsGroupCurrentMemberAssignmentKey,
)
from barnabas.protocol.messages.streams_group_current_member_assignment_value import (
    StreamsGroupCurrentMemberAssignmentValue,
)
from barnabas.protocol.messages.streams_group_member_metadata_key import StreamsGroupMemberMetadataKey
from barnabas.protocol.messages.streams_group_member_metadata_value import StreamsGroupMemberMetadataValue
from barnabas.protocol.messages.streams_group_metadata_key import StreamsGroupMetadataKey
from barnabas.protocol.messages.streams_group_metadata_value import StreamsGroupMetadataValue
from barnabas.protocol.messages.streams_group_target_assignment_member_key import (
    StreamsGroupTargetAssignmentMemberKey,
)
from barnabas.protocol.messages.streams_group_target_assignment_member_value import (
    StreamsGroupTargetAssignmentMemberValue,
)
from barnabas.protocol.messages.streams_group_target_assignment_metadata_key import (
    StreamsGroupTargetAssignmentMetadataKey,
)
from barnabas.protocol.messages.streams_group_target_assignment_metadata_value import (
    StreamsGroupTargetAssignmentMetadataValue,
)
from barnabas.protocol.messages.streams_group_topology_key import StreamsGroupTopologyKey
from barnabas.protocol.messages.streams_group_topology_value import StreamsGroupTopologyValue
from barnabas.protocol.schema import Message

_Current = StreamsGroupCurrentMemberAssignmentValue.TaskIds
_Target = StreamsGroupTargetAssignmentMemberValue.TaskIds


def entries_of(group: StreamsGroup) -> Iterator[tuple[StreamsGroupKey, Message]]:
    """All records of a group as it is."""
    name = group.group_id
    yield (
        StreamsGroupMetadataKey(name),
        StreamsGroupMetadataValue(
            epoch=group.epoch,
            metadata_hash=group.metadata_hash,
            validated_topology_epoch=group.validated_topology_epoch,
            last_assignment_configs=[
                StreamsGroupMetadataValue.LastAssignmentConfig(key, value)
                for key, value in sorted(group.assignment_settings.items())
            ],
        ),
    )
    if group.topology is not None:
        yield StreamsGroupTopologyKey(name), group.topology
    yield (
        StreamsGroupTargetAssignmentMetadataKey(name),
        StreamsGroupTargetAssignmentMetadataValue(
            assignment_epoch=group.assignment_epoch, assignment_timestamp=group.assigned_ms
        ),
    )
    for member in group.members.values():
        yield from member_entries(group, member)


def member_entries(group: StreamsGroup, member: StreamsMember) -> Iterator[tuple[StreamsGroupKey, Message]]:
    names = group.group_id, member.member_id
    endpoint = None if member.endpoint is None else StreamsGroupMemberMetadataValue.Endpoint(*member.endpoint)
    yield (
        StreamsGroupMemberMetadataKey(*names),
        StreamsGroupMemberMetadataValue(
            instance_id=None,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=endpoint,
            client_tags=[
                StreamsGroupMemberMetadataValue.KeyValue(key, value)
                for key, value in sorted(member.client_tags.items())
            ],
        ),
    )
    if (target := group.target.get(member.member_id)) is not None:
        yield (
            StreamsGroupTargetAssignmentMemberKey(*names),
            StreamsGroupTargetAssignmentMemberValue(
                _targets(target.active), _targets(target.standby), _targets(target.warmup)
            ),
        )
    assigned, pending = member.assigned, member.pending_revocation
    yield (
        StreamsGroupCurrentMemberAssignmentKey(*names),
        StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            active_tasks=_with_epochs(assigned.active, member.active_epochs),
            standby_tasks=_without_epochs(assigned.standby),
            warmup_tasks=_without_epochs(assigned.warmup),
            active_tasks_pending_revocation=_with_epochs(pending.active, member.active_epochs),
            standby_tasks_pending_revocation=_without_epochs(pending.standby),
            warmup_tasks_pending_revocation=_without_epochs(pending.warmup),
        ),
    )


def _targets(tasks: TaskSet) -> list[_Target]:
    return [_Target(*part) for part in by_subtopology(tasks)]


def _with_epochs(tasks: TaskSet, epochs: Mapping[TaskId, int]) -> list[_Current]:
    return [
        _Current(name, indexes, [epochs[TaskId(name, index)] for index in indexes])
        for name, indexes in by_subtopology(tasks)
    ]


def _without_epochs(tasks: TaskSet) -> list[_Current]:
    return [_Current(name, indexes, assignment_epochs=None) for name, indexes in by_subtopology(tasks)]


def take_up(group: StreamsGroup, key: StreamsGroupKey, value: Message | None) -> None:
    """Takes up a record of the group that was written down. One that is taken back leaves no member."""
    if isinstance(value, StreamsGroupMetadataValue):
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
        group.validated_topology_epoch = value.validated_topology_epoch
        group.assignment_settings = {kept.key: kept.value for kept in value.last_assignment_configs or ()}
    elif isinstance(value, StreamsGroupTopologyValue):
        group.topology = value
    elif isinstance(value, StreamsGroupTargetAssignmentMetadataValue):
        group.assignment_epoch, group.assigned_ms = value.assignment_epoch, value.assignment_timestamp
    elif isinstance(key, StreamsGroupTargetAssignmentMemberKey):
        if isinstance(value, StreamsGroupTargetAssignmentMemberValue):
            group.target[key.member_id] = MemberTasks(
                tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
            )
        else:
            group.target.pop(key.member_id, None)
    elif isinstance(key, (StreamsGroupMemberMetadataKey, StreamsGroupCurrentMemberAssignmentKey)):
        _take_up_member(group, key.member_id, value)


def _take_up_member(group: StreamsGroup, member_id: str, value: Message | None) -> None:
    if value is None:
        group.members.pop(member_id, None)
        return
    member = group.members.setdefault(member_id, StreamsMember(member_id=member_id))
    if isinstance(value, StreamsGroupMemberMetadataValue):
        member.rack_id = value.rack_id
        member.client_id, member.client_host = value.client_id, value.client_host
        member.rebalance_timeout_ms, member.topology_epoch = value.rebalance_timeout_ms, value.topology_epoch
        member.process_id = value.process_id
        endpoint = value.user_endpoint
        member.endpoint = None if endpoint is None else (endpoint.host, endpoint.port)
        member.client_tags = {tag.key: tag.value for tag in value.client_tags}
    elif isinstance(value, StreamsGroupCurrentMemberAssignmentValue):
        member.epoch, member.previous_epoch = value.member_epoch, value.previous_member_epoch
        member.state = TaskReconciliation(value.state)
        member.assigned = MemberTasks(
            tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
        )
        member.pending_revocation = MemberTasks(
            tasks_of(value.active_tasks_pending_revocation),
            tasks_of(value.standby_tasks_pending_revocation),
            tasks_of(value.warmup_tasks_pending_revocation),
        )
        member.active_epochs = {
            TaskId(part.subtopology_id, index): epoch
            for part in (*value.active_tasks, *value.active_tasks_pending_revocation)
            for index, epoch in zip(
                part.partitions,
                part.assignment_epochs or [value.member_epoch] * len(part.partitions),
                strict=True,
            )
        }
