"""CreateTopics, versions 2 to 7.

-1 partitions is num.partitions, replication factor -1 default.replication.factor. Creating topics with the
names of internal ones is refused, and so is a request for more than 10,000 partitions.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Container, Sequence
from functools import partial

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.cluster import MAX_PARTITIONS, Cluster
from barnabas.broker.configs.setting_kinds import SettingSource
from barnabas.broker.handlers.api import BrokerParts, Call, Handler
from barnabas.broker.handlers.within_quotas import charge_mutations
from barnabas.broker.replication.assignments import check_assignments, check_replication_factor
from barnabas.broker.settings import TOPIC_SETTINGS
from barnabas.broker.topic import INTERNAL_TOPICS, Topic
from barnabas.broker_errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    InvalidTopicError,
    KafkaStorageError,
    PolicyViolationError,
    TopicAuthorizationFailedError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

Asked = CreateTopicsRequest.CreatableTopic
Result = CreateTopicsResponse.CreatableTopicResult
MOST_OF_A_TURN = 20
"""Topics and their partitions."""
FIRST_VERSION_WITH_DEFAULTS = 4
FIRST_VERSION_WITH_STRICT_QUOTA = 6


async def handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    return await call.parts.topic_changes.alone(partial(_create_all, call, request))


async def _create_all(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    times = Counter(topic.name for topic in request.topics)
    refused = {name: InvalidRequestError("Duplicate topic name.") for name in times if times[name] > 1}
    if _partition_count(call, request, refused) > MAX_PARTITIONS:
        excess = PolicyViolationError("Excessively large number of partitions per request.")
        return CreateTopicsResponse(topics=[_refusal(topic.name, excess) for topic in request.topics])
    results: list[Result] = []
    waiting = deque({topic.name: topic for topic in request.topics}.values())
    while waiting:
        asked = waiting[0]
        if asked.name in refused:
            results.append(_refusal(waiting.popleft().name, refused[asked.name]))
        elif request.validate_only or _weight(call, asked) > MOST_OF_A_TURN:
            results.append(await _create_one(call, waiting.popleft(), request.validate_only))
        else:
            results.extend(_create_in_a_turn(call, waiting, refused))
        await asyncio.sleep(0)
    return CreateTopicsResponse(topics=results)


def _partition_count(call: Call, request: CreateTopicsRequest, refused: Container[str]) -> int:
    """Of all topics that would be created for who asks."""
    return sum(
        max(0, _asked_partitions(call, topic))
        for topic in request.topics
        if topic.name not in refused and may_create(call, topic.name)
    )


def _asked_partitions(call: Call, asked: Asked) -> int:
    if asked.assignments or asked.num_partitions != -1:
        return len(asked.assignments) or asked.num_partitions
    return default_partition_count(call.parts)


def _weight(call: Call, asked: Asked) -> int:
    return 1 + max(0, _asked_partitions(call, asked))


async def _create_one(call: Call, asked: Asked, validate_only: bool) -> Result:
    """Others have their turn while its partitions are made."""
    try:
        topic, assignments = _plan(call, asked)
        if validate_only:
            # What was only looked at has an id as well, which nobody will have.
            return _describe(call, topic, assignments)
        place = partial(_assignments, call, asked)
        topic = await call.parts.topic_changes.create(asked.name, topic.own_settings, place)
        return _describe(call, topic, [partition.registration.replicas for partition in topic.partitions])
    except BrokerError as error:
        return _refusal(asked.name, error)


def _create_in_a_turn(call: Call, waiting: deque[Asked], refused: Container[str]) -> list[Result]:
    """Creates as many small topics, from the first one on, as one turn has the time for, and keeps them with
    one write."""
    results: list[Result] = []
    cluster = call.parts.cluster
    weight = 0
    try:
        with cluster.metadata.saved_once():
            while waiting and waiting[0].name not in refused:
                weight += _weight(call, waiting[0])
                if weight > MOST_OF_A_TURN:
                    break
                asked = waiting.popleft()
                try:
                    topic, assignments = _plan(call, asked)
                    partitions = list(cluster.make_partitions(topic, assignments))
                    cluster.add_topic(topic, partitions)
                    results.append(_describe(call, topic, assignments))
                except BrokerError as error:
                    results.append(_refusal(asked.name, error))
    except KafkaStorageError as error:
        return [result if result.error_code else _not_kept(result.name, error) for result in results]
    return results


def _plan(call: Call, asked: Asked) -> tuple[Topic, list[Sequence[int]]]:
    """The topic as it would be, and the replicas of its partitions. Raises: what it cannot be created for."""
    if not may_create(call, asked.name):
        raise TopicAuthorizationFailedError("Authorization failed.")
    if asked.name in INTERNAL_TOPICS:
        raise InvalidTopicError(f"topic {asked.name} is internal; the broker makes it when it needs it")
    assignments = _assignments(call, asked)
    settings = {config.name: config.value for config in asked.configs}
    topic = call.parts.cluster.new_topic(asked.name, len(assignments), settings)
    if call.parts.throttle.is_on:
        charge_mutations(call, len(assignments), strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
    return topic, assignments


def may_create(call: Call, name: str) -> bool:
    """Whether who asks may create the topic of this name."""
    authorizer = call.parts.authorizer
    return authorizer.authorize(
        call, Operation.CREATE, ResourceKind.CLUSTER, CLUSTER_NAME
    ) or authorizer.authorize(call, Operation.CREATE, ResourceKind.TOPIC, name)


def _not_kept(name: str, error: KafkaStorageError) -> Result:
    return _refusal(name, KafkaStorageError(f"cannot create topic {name}: {error.context}"))


def _refusal(name: str, error: BrokerError) -> Result:
    return Result(name=name, error_code=error.code, error_message=error.context or None, configs=[])


def _assignments(call: Call, asked: Asked) -> list[Sequence[int]]:
    """The replicas of each partition. Raises: InvalidRequestError, InvalidReplicaAssignmentError,
    InvalidReplicationFactorError, InvalidPartitionsError."""
    cluster = call.parts.cluster
    if asked.assignments:
        return _assigned_by_hand(cluster, asked)
    if call.version < FIRST_VERSION_WITH_DEFAULTS and -1 in (asked.num_partitions, asked.replication_factor):
        raise InvalidRequestError(f"topic {asked.name}: -1 means the default from version 4 on only")
    if asked.replication_factor != -1:
        check_replication_factor(asked.replication_factor, cluster.registered, cluster.alive)
    count = default_partition_count(call.parts) if asked.num_partitions == -1 else asked.num_partitions
    if count < 1:
        raise InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
    return cluster.place(count, asked.replication_factor)


def _assigned_by_hand(cluster: Cluster, asked: Asked) -> list[Sequence[int]]:
    for name, number in (
        ("replication factor", asked.replication_factor),
        ("numPartitions", asked.num_partitions),
    ):
        if number != -1:
            raise InvalidRequestError(
                f"A manual partition assignment was specified, but {name} was not set to -1."
            )
    assignments: dict[int, Sequence[int]] = {}
    repeated = None
    for assignment in asked.assignments:
        if assignment.partition_index in assignments:
            repeated = assignment.partition_index
            break
        assignments[assignment.partition_index] = assignment.broker_ids
    check_assignments([*assignments.values()], cluster.registered, cluster.node_logs.within_reach)
    if repeated is not None:
        raise InvalidReplicaAssignmentError(
            f"Found multiple manual partition assignments for partition {repeated}"
        )
    if sorted(assignments) != list(range(len(assignments))):
        raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
    return [assignments[index] for index in range(len(assignments))]


def default_partition_count(parts: BrokerParts) -> int:
    return parts.cluster.settings.number("num.partitions")


def _describe(call: Call, topic: Topic, assignments: Sequence[Sequence[int]]) -> Result:
    authorizer = call.parts.authorizer
    if not authorizer.authorize(call, Operation.DESCRIBE_CONFIGS, ResourceKind.TOPIC, topic.name):
        code = TopicAuthorizationFailedError.code
        return Result(topic.name, topic.topic_id, error_message=None, topic_config_error_code=code)
    values = [topic.settings.get(name) for name, setting in TOPIC_SETTINGS.items() if not setting.hidden]
    return Result(
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=len(assignments),
        replication_factor=len(assignments[0]),
        configs=[
            CreateTopicsResponse.CreatableTopicConfigs(
                name=value.setting.name,
                value=value.value,
                config_source=SettingSource(value.source),
            )
            for value in values
        ],
    )


HANDLER = Handler(CreateTopicsRequest, 2, 7, handle)
