"""StreamsGroupHeartbeat, version 0 (KIP-1071): joining, staying and leaving, all in one.

As in Kafka 4.3 there are no static members, no warm-up tasks and no regular expressions yet. Internal topics
that are missing are created here, and members are told that they were missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.cluster import is_topic_name
from barnabas.broker.features import STREAMS_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import behind_feature
from barnabas.broker.handlers.topics.create_topics import may_create
from barnabas.broker.heartbeat_groups.group import JOINING_EPOCH, STATIC_LEAVING_EPOCH
from barnabas.broker.streams_groups.coordinator import StreamsAnswer, StreamsHeartbeat
from barnabas.broker.streams_groups.tasks import MemberTasks, by_subtopology, tasks_of
from barnabas.broker.streams_groups.topology import InternalTopic, Problem, Status, Topology
from barnabas.broker.topic import INTERNAL_TOPICS
from barnabas.broker_errors import (
    InvalidRequestError,
    StreamsInvalidTopologyError,
    TopicAuthorizationFailedError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

Request = StreamsGroupHeartbeatRequest
Response = StreamsGroupHeartbeatResponse
_TOLD_FAILURES = 3


async def handle(call: Call, request: Request) -> Response:
    try:
        call.parts.authorizer.require(call, Operation.READ, ResourceKind.GROUP, request.group_id)
        if request.topology is not None:
            _check_topics(call, request.topology)
        for complaint in (*_not_yet(request), *_complaints(request)):
            raise InvalidRequestError(complaint)
        if request.member_epoch == JOINING_EPOCH and request.topology is not None:
            _check_changelogs(request.topology)
        answer = call.parts.streams_groups.heartbeat(_heartbeat(call, request))
    except BrokerError as error:
        return Response(error_code=error.code, error_message=error.context or None)
    return _response(answer, await _with_creation(call, answer))


def _heartbeat(call: Call, request: Request) -> StreamsHeartbeat:
    owned = None
    if request.active_tasks is not None:
        owned = MemberTasks(
            tasks_of(request.active_tasks),
            tasks_of(request.standby_tasks or ()),
            tasks_of(request.warmup_tasks or ()),
        )
    endpoint, tags = request.user_endpoint, request.client_tags
    return StreamsHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        client_id=call.client_id,
        client_host=f"/{call.client_host}",
        endpoint_epoch=request.endpoint_information_epoch,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topology=None if request.topology is None else _topology(request.topology),
        owned=owned,
        process_id=request.process_id,
        endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
        client_tags=None if tags is None else {tag.key: tag.value for tag in tags},
        shuts_down=request.shutdown_application,
    )


def _topology(said: Request.Topology) -> Topology:
    def topics(infos: list[Request.TopicInfo]) -> list[Topology.TopicInfo]:
        return [
            Topology.TopicInfo(
                info.name,
                info.partitions,
                info.replication_factor,
                [Topology.TopicConfig(config.key, config.value) for config in info.topic_configs],
            )
            for info in infos
        ]

    return Topology(
        said.epoch,
        [
            Topology.Subtopology(
                part.subtopology_id,
                part.source_topics,
                part.source_topic_regex,
                topics(part.state_changelog_topics),
                part.repartition_sink_topics,
                topics(part.repartition_source_topics),
                [
                    Topology.CopartitionGroup(
                        group.source_topics, group.source_topic_regex, group.repartition_source_topics
                    )
                    for group in part.copartition_groups
                ],
            )
            for part in said.subtopologies
        ],
    )


def _check_topics(call: Call, topology: Request.Topology) -> None:
    """Raises: StreamsInvalidTopologyError, TopicAuthorizationFailedError."""
    names = dict.fromkeys(
        name
        for part in topology.subtopologies
        for name in (
            *(*part.source_topics, *part.repartition_sink_topics),
            *(topic.name for topic in (*part.repartition_source_topics, *part.state_changelog_topics)),
        )
    )
    if internal := [name for name in names if name in INTERNAL_TOPICS]:
        raise StreamsInvalidTopologyError(
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        )
    if invalid := [name for name in names if not is_topic_name(name)]:
        raise StreamsInvalidTopologyError(f"Topic names {','.join(invalid)} are not valid topic names.")
    for name in names:
        if not call.parts.authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, name):
            raise TopicAuthorizationFailedError("")


def _check_changelogs(topology: Request.Topology) -> None:
    """Raises: StreamsInvalidTopologyError."""
    for part in topology.subtopologies:
        for topic in part.state_changelog_topics:
            if topic.partitions:
                raise StreamsInvalidTopologyError(
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}."
                )


def _not_yet(request: Request) -> Iterator[str]:
    if request.instance_id is not None:
        yield "Static membership is not yet supported."
    if request.task_offsets is not None:
        yield "TaskOffsets are not supported yet."
    if request.task_end_offsets is not None:
        yield "TaskEndOffsets are not supported yet."
    if request.warmup_tasks:
        yield "WarmupTasks are not supported yet."
    if request.topology is not None and any(
        part.source_topic_regex for part in request.topology.subtopologies
    ):
        yield "Regular expressions for source topics are not supported yet."


def _complaints(request: Request) -> Iterator[str]:
    """In Kafka's words, and its order."""
    tasks = {
        "ActiveTasks": request.active_tasks,
        "StandbyTasks": request.standby_tasks,
        "WarmupTasks": request.warmup_tasks,
    }
    if not request.member_id.strip():
        yield "MemberId can't be empty."
    if not request.group_id.strip():
        yield "GroupId can't be empty."
    if request.rack_id is not None and not request.rack_id.strip():
        yield "RackId can't be empty."
    if request.member_epoch == JOINING_EPOCH:
        if request.rebalance_timeout_ms == -1:
            yield "RebalanceTimeoutMs must be provided in first request."
        for name, given in tasks.items():
            if given is None or given:
                yield f"{name} must be empty when (re-)joining."
        if request.topology is None:
            yield "Topology must be non-null when (re-)joining."
    elif request.member_epoch == STATIC_LEAVING_EPOCH:
        yield "InstanceId can't be null."
    elif request.member_epoch < STATIC_LEAVING_EPOCH:
        yield f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
    given = [each is not None for each in tasks.values()]
    if any(given) and not all(given):
        yield "If one task-type is non-null, all must be non-null."
    if request.member_epoch != JOINING_EPOCH and request.topology is not None:
        yield "Topology can only be provided when (re-)joining."


async def _with_creation(call: Call, answer: StreamsAnswer) -> list[Problem]:
    """Creates what is missing; what the member is told, with what that has come to."""
    if not answer.missing:
        return answer.status
    forbidden = [topic.name for topic in answer.missing if not may_create(call, topic.name)]
    more = ""
    if forbidden:
        more = f"; Unauthorized to CREATE on topics {', '.join(forbidden)}."
    elif failures := await _create(call, answer):
        rest = len(failures) - _TOLD_FAILURES
        told = ", ".join(failures[:_TOLD_FAILURES]) + (f" and {rest} more" if rest > 0 else "")
        more = f"; Creation failed: {told}."
    return [
        Problem(problem.status, problem.detail + more)
        if problem.status is Status.MISSING_INTERNAL_TOPICS
        else problem
        for problem in answer.status
    ]


async def _create(call: Call, answer: StreamsAnswer) -> list[str]:
    """Which of the topics could not be created, and why."""
    failures: list[str] = []
    for topic in answer.missing:
        try:
            await call.parts.topic_changes.alone(partial(_create_one, call, topic))
        except BrokerError as error:
            failures.append(f"{topic.name} ({error.context})")
    return failures


async def _create_one(call: Call, topic: InternalTopic) -> None:
    parts = call.parts
    place = partial(parts.cluster.place, topic.partition_count, topic.replication_factor or -1)
    await parts.topic_changes.create(topic.name, topic.settings, place)


def _response(answer: StreamsAnswer, status: list[Problem]) -> Response:
    response = Response(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        status=[Response.Status(problem.status, problem.detail) for problem in status],
        endpoint_information_epoch=answer.endpoint_epoch,
    )
    if answer.assigned is not None:
        response.active_tasks, response.standby_tasks, response.warmup_tasks = (
            [Response.TaskIds(*part) for part in by_subtopology(tasks)]
            for tasks in (answer.assigned.active, answer.assigned.standby, answer.assigned.warmup)
        )
    if answer.endpoints is not None:
        response.partitions_by_user_endpoint = [
            Response.EndpointToPartitions(
                Response.Endpoint(*found.endpoint), _partitions(found.active), _partitions(found.standby)
            )
            for found in answer.endpoints
        ]
    return response


def _partitions(found: Mapping[str, Sequence[int]]) -> list[Response.TopicPartition]:
    return [Response.TopicPartition(topic, list(indexes)) for topic, indexes in found.items()]


def _refuse(request: StreamsGroupHeartbeatRequest, code: int) -> StreamsGroupHeartbeatResponse:
    return Response(error_code=code)


HANDLER = Handler(StreamsGroupHeartbeatRequest, 0, 0, behind_feature(STREAMS_VERSION, handle, _refuse))
