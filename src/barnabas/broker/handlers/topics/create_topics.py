"""CreateTopics, versions 2 to 7.

-1 partitions is num.partitions, replication factor -1 default.replication.factor. Creating topics with the
names of internal ones is refused, and so is a request for more than 10,000 partitions.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.cluster import INTERNAL_TOPICS, MAX_PARTITIONS, Cluster, Topic
from barnabas.broker.configs.setting_kinds import SettingSource
from barnabas.broker.handlers.api import BrokerParts, Call, Handler
from barnabas.broker.handlers.within_quotas import charge_mutations
from barnabas.broker.replication.assignments import check_assignments, check_replication_factor
from barnabas.broker.settings import TOPIC_SETTINGS, TopicSettings
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

Result = CreateTopicsResponse.CreatableTopicResult
FIRST_VERSION_WITH_DEFAULTS = 4
FIRST_VERSION_WITH_STRICT_QUOTA = 6


async def handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    times = Counter(topic.name for topic in request.topics)
    results: list[Result] = []
    if _partition_count(call, request, times) > MAX_PARTITIONS:
        refused = PolicyViolationError("Excessively large number of partitions per request.")
        return CreateTopicsResponse(topics=[_refusal(topic.name, refused) for topic in request.topics])
    try:
        with call.parts.cluster.saved_once():
            results.extend(
                _create(call, topic, times[topic.name] > 1, request.validate_only)
                for topic in {topic.name: topic for topic in request.topics}.values()
            )
    except KafkaStorageError as error:
        results = [result if result.error_code else _not_kept(result.name, error) for result in results]
    return CreateTopicsResponse(topics=results)


def _partition_count(call: Call, request: CreateTopicsRequest, times: Mapping[str, int]) -> int:
    """Of all topics that would be created for who asks."""
    default = default_partition_count(call.parts)
    return sum(
        len(topic.assignments) or (default if topic.num_partitions == -1 else max(0, topic.num_partitions))
        for topic in request.topics
        if times[topic.name] == 1 and may_create(call, topic.name)
    )


def _create(
    call: Call, asked: CreateTopicsRequest.CreatableTopic, repeated: bool, validate_only: bool
) -> Result:
    try:
        if repeated:
            raise InvalidRequestError("Duplicate topic name.")
        if not may_create(call, asked.name):
            raise TopicAuthorizationFailedError("Authorization failed.")
        if asked.name in INTERNAL_TOPICS:
            raise InvalidTopicError(f"topic {asked.name} is internal; the broker makes it when it needs it")
        assignments = _assignments(call, asked)
        count = len(assignments)
        settings = {config.name: config.value for config in asked.configs}
        cluster = call.parts.cluster
        if call.parts.throttle.is_on:
            cluster.check_new_topic(asked.name, count, settings)
            charge_mutations(call, count, strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
        if not validate_only:
            topic = cluster.create_topic(asked.name, count, settings, assignments)
            return _describe(call, topic.settings, asked.name, assignments, topic)
        kept = cluster.check_new_topic(asked.name, count, settings)
        return _describe(call, TopicSettings(kept, cluster.settings), asked.name, assignments, None)
    except BrokerError as error:
        return _refusal(asked.name, error)


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


def _assignments(call: Call, asked: CreateTopicsRequest.CreatableTopic) -> list[Sequence[int]]:
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


def _assigned_by_hand(cluster: Cluster, asked: CreateTopicsRequest.CreatableTopic) -> list[Sequence[int]]:
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
    check_assignments([*assignments.values()], cluster.registered, cluster.alive)
    if repeated is not None:
        raise InvalidReplicaAssignmentError(
            f"Found multiple manual partition assignments for partition {repeated}"
        )
    if sorted(assignments) != list(range(len(assignments))):
        raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
    return [assignments[index] for index in range(len(assignments))]


def default_partition_count(parts: BrokerParts) -> int:
    return parts.cluster.settings.number("num.partitions")


def _describe(
    call: Call,
    settings: TopicSettings,
    name: str,
    assignments: Sequence[Sequence[int]],
    topic: Topic | None,
) -> Result:
    # What was only looked at has an id as well, which nobody will have.
    topic_id = topic.topic_id if topic is not None else uuid.uuid4()
    if not call.parts.authorizer.authorize(call, Operation.DESCRIBE_CONFIGS, ResourceKind.TOPIC, name):
        code = TopicAuthorizationFailedError.code
        return Result(name, topic_id, error_message=None, topic_config_error_code=code)
    values = [settings.get(name) for name, setting in TOPIC_SETTINGS.items() if not setting.hidden]
    return Result(
        name=name,
        topic_id=topic_id,
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
