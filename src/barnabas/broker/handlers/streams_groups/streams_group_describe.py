"""StreamsGroupDescribe, version 0 (KIP-1071). A group of another kind is not found."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.features import STREAMS_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import behind_feature
from barnabas.broker.streams_groups.group import StreamsGroup, StreamsMember
from barnabas.broker.streams_groups.tasks import MemberTasks, by_subtopology
from barnabas.broker.streams_groups.topology import ConfiguredTopology, InternalTopic, Topology
from barnabas.broker_errors import ErrorCode, InvalidGroupIdError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)

Response = StreamsGroupDescribeResponse
DescribedGroup = StreamsGroupDescribeResponse.DescribedGroup


async def handle(call: Call, request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
    return Response(
        groups=[
            _described(call, group_id, with_operations=request.include_authorized_operations)
            for group_id in request.group_ids
        ]
    )


def _described(call: Call, group_id: str, *, with_operations: bool) -> DescribedGroup:
    authorizer = call.parts.authorizer
    try:
        authorizer.require(call, Operation.DESCRIBE, ResourceKind.GROUP, group_id)
        if not group_id:
            raise InvalidGroupIdError("")
        group = call.parts.streams_groups.group(group_id)
    except BrokerError as error:
        return DescribedGroup(error_code=error.code, error_message=error.context or None, group_id=group_id)
    topology = _topology(group)
    if not all(
        authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, name) for name in _topics(topology)
    ):
        return DescribedGroup(
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="The described group uses topics that the client is not authorized to describe.",
            group_id=group_id,
        )
    described = DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=topology,
        members=[_member(group, member) for member in group.members.values()],
    )
    if with_operations:
        described.authorized_operations = authorizer.authorized_operations(call, ResourceKind.GROUP, group_id)
    return described


def _topics(topology: Response.Topology | None) -> set[str]:
    parts = () if topology is None else topology.subtopologies or ()
    return {
        name
        for part in parts
        for name in (
            *(*part.source_topics, *part.repartition_sink_topics),
            *(topic.name for topic in (*part.repartition_source_topics, *part.state_changelog_topics)),
        )
    }


def _topology(group: StreamsGroup) -> Response.Topology | None:
    """Internal topics have their numbers of partitions once the group is ready."""
    if group.topology is None:
        return None
    configured = group.configured
    parts = (
        _asked_for(group.topology) if configured is None or not configured.is_ready else _ready(configured)
    )
    return Response.Topology(group.topology.epoch, list(parts))


def _ready(topology: ConfiguredTopology) -> Iterable[Response.Subtopology]:
    def infos(topics: Collection[InternalTopic]) -> list[Response.TopicInfo]:
        return [
            Response.TopicInfo(
                topic.name,
                topic.partition_count,
                topic.replication_factor,
                [Response.KeyValue(key, value) for key, value in topic.settings.items()],
            )
            for topic in topics
        ]

    for name, part in topology.subtopologies.items():
        yield Response.Subtopology(
            name,
            list(part.source_topics),
            list(part.repartition_sink_topics),
            infos(part.changelog_topics),
            infos(part.repartition_source_topics),
        )


def _asked_for(topology: Topology) -> Iterable[Response.Subtopology]:
    def infos(topics: list[Topology.TopicInfo]) -> list[Response.TopicInfo]:
        return [
            Response.TopicInfo(
                topic.name,
                topic.partitions,
                topic.replication_factor,
                [Response.KeyValue(config.key, config.value) for config in topic.topic_configs],
            )
            for topic in sorted(topics, key=lambda topic: topic.name)
        ]

    for part in sorted(topology.subtopologies, key=lambda part: part.subtopology_id):
        yield Response.Subtopology(
            part.subtopology_id,
            sorted(part.source_topics),
            sorted(part.repartition_sink_topics),
            infos(part.state_changelog_topics),
            infos(part.repartition_source_topics),
        )


def _member(group: StreamsGroup, member: StreamsMember) -> Response.Member:
    return Response.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if member.endpoint is None else Response.Endpoint(*member.endpoint),
        client_tags=[Response.KeyValue(key, value) for key, value in member.client_tags.items()],
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(group.target.get(member.member_id, MemberTasks())),
    )


def _assignment(tasks: MemberTasks) -> Response.Assignment:
    active, standby, warmup = (
        [Response.TaskIds(*part) for part in by_subtopology(each)]
        for each in (tasks.active, tasks.standby, tasks.warmup)
    )
    return Response.Assignment(active, standby, warmup)


def _refuse(request: StreamsGroupDescribeRequest, code: int) -> StreamsGroupDescribeResponse:
    return Response(groups=[DescribedGroup(code, group_id=name) for name in request.group_ids])


HANDLER = Handler(StreamsGroupDescribeRequest, 0, 0, behind_feature(STREAMS_VERSION, handle, _refuse))
