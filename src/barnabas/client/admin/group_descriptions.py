"""How the brokers' descriptions of groups become those of Admin. Pure; asks for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.client.admin.types import (
    ClassicGroupDescription,
    ClassicGroupMember,
    GroupDescription,
    MemberDescription,
    StreamsGroupDescription,
    StreamsGroupMember,
    StreamsSubtopology,
    StreamsTasks,
    StreamsTopic,
)
from barnabas.client.admin.types.acls import authorized_operations
from barnabas.error_codes import ErrorCode
from barnabas.protocol.codec import decode_prefix
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from barnabas.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.protocol.messages.describe_groups import DescribeGroupsResponse
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeResponse
from barnabas.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse
from barnabas.types import Node, TopicPartition

CONSUMER_PROTOCOL = "consumer"
SHARE_PROTOCOL = "share"
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def of_classic_protocol(
    group: DescribeGroupsResponse.DescribedGroup, coordinator: Node | None
) -> GroupDescription:
    is_missing = group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    return GroupDescription(
        group.group_id,
        "Dead" if is_missing else group.group_state,
        group.protocol_type,
        group.protocol_data,
        tuple(_classic_member(member, group.protocol_type) for member in group.members),
        coordinator,
        authorized_operations=authorized_operations(group.authorized_operations),
    )


def of_any_classic_group(
    group: DescribeGroupsResponse.DescribedGroup, coordinator: Node | None
) -> ClassicGroupDescription:
    return ClassicGroupDescription(
        group.group_id,
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        tuple(
            ClassicGroupMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.member_metadata,
                member.member_assignment,
            )
            for member in group.members
        ),
        coordinator,
        authorized_operations(group.authorized_operations),
    )


def of_consumer_protocol(
    group: ConsumerGroupDescribeResponse.DescribedGroup, coordinator: Node | None
) -> GroupDescription:
    return GroupDescription(
        group.group_id,
        group.group_state,
        CONSUMER_PROTOCOL,
        group.assignor_name,
        tuple(
            MemberDescription(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                _partitions(member.assignment.topic_partitions),
                _partitions(member.target_assignment.topic_partitions),
                member.member_epoch,
                member.rack_id,
                tuple(member.subscribed_topic_names),
                member.subscribed_topic_regex or None,
                {CLASSIC_MEMBER: True, CONSUMER_MEMBER: False}.get(member.member_type),
            )
            for member in group.members
        ),
        coordinator,
        "consumer",
        group.group_epoch,
        group.assignment_epoch,
        authorized_operations(group.authorized_operations),
    )


def of_share_group(
    group: ShareGroupDescribeResponse.DescribedGroup, coordinator: Node | None
) -> GroupDescription:
    return GroupDescription(
        group.group_id,
        group.group_state,
        SHARE_PROTOCOL,
        group.assignor_name,
        tuple(
            MemberDescription(
                member.member_id,
                None,
                member.client_id,
                member.client_host,
                _partitions(member.assignment.topic_partitions),
                None,
                member.member_epoch,
                member.rack_id,
                tuple(member.subscribed_topic_names),
            )
            for member in group.members
        ),
        coordinator,
        "share",
        group.group_epoch,
        group.assignment_epoch,
        authorized_operations(group.authorized_operations),
    )


def of_streams_group(
    group: StreamsGroupDescribeResponse.DescribedGroup, coordinator: Node | None
) -> StreamsGroupDescription:
    topology = group.topology
    return StreamsGroupDescription(
        group.group_id,
        group.group_state,
        group.group_epoch,
        group.assignment_epoch,
        None if topology is None else topology.epoch,
        () if topology is None else tuple(map(_subtopology, topology.subtopologies or ())),
        tuple(map(_streams_member, group.members)),
        coordinator,
        authorized_operations(group.authorized_operations),
    )


def _classic_member(
    member: DescribeGroupsResponse.DescribedGroupMember, protocol_type: str
) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        _assignment(member.member_assignment) if protocol_type == CONSUMER_PROTOCOL else (),
    )


def _assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in a member's assignment, which is empty while the group rebalances."""
    if not data:
        return ()
    version = min(int.from_bytes(data[:2]), ConsumerProtocolAssignment.VERSIONS[1])
    # A later version may have more fields behind the known ones.
    assignment, _ = decode_prefix(ConsumerProtocolAssignment, version, data, 2)
    return tuple(
        TopicPartition(topic.topic, number)
        for topic in assignment.assigned_partitions
        for number in topic.partitions
    )


def _partitions(
    topics: Sequence[ConsumerGroupDescribeResponse.TopicPartitions]
    | Sequence[ShareGroupDescribeResponse.TopicPartitions],
) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.topic_name, number) for topic in topics for number in topic.partitions)


def _subtopology(found: StreamsGroupDescribeResponse.Subtopology) -> StreamsSubtopology:
    return StreamsSubtopology(
        found.subtopology_id,
        tuple(found.source_topics),
        tuple(found.repartition_sink_topics),
        tuple(map(_streams_topic, found.state_changelog_topics)),
        tuple(map(_streams_topic, found.repartition_source_topics)),
    )


def _streams_topic(topic: StreamsGroupDescribeResponse.TopicInfo) -> StreamsTopic:
    configs = {config.key: config.value for config in topic.topic_configs}
    return StreamsTopic(topic.name, topic.partitions, topic.replication_factor, configs)


def _streams_member(member: StreamsGroupDescribeResponse.Member) -> StreamsGroupMember:
    endpoint = member.user_endpoint
    return StreamsGroupMember(
        member.member_id,
        member.member_epoch,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.topology_epoch,
        member.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        {tag.key: tag.value for tag in member.client_tags},
        _task_offsets(member.task_offsets),
        _task_offsets(member.task_end_offsets),
        _streams_tasks(member.assignment),
        _streams_tasks(member.target_assignment),
        member.is_classic,
    )


def _task_offsets(offsets: Iterable[StreamsGroupDescribeResponse.TaskOffset]) -> dict[tuple[str, int], int]:
    return {(task.subtopology_id, task.partition): task.offset for task in offsets}


def _streams_tasks(assignment: StreamsGroupDescribeResponse.Assignment) -> StreamsTasks:
    active, standby, warmup = (
        {task.subtopology_id: tuple(task.partitions) for task in tasks}
        for tasks in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
    )
    return StreamsTasks(active, standby, warmup)
