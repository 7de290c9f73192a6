"""CreatePartitions, versions 0 to 3: more partitions for a topic, never fewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.cluster import MAX_PARTITIONS, Cluster
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.within_quotas import charge_mutations
from barnabas.broker.replication.assignments import check_assignments
from barnabas.broker.topic import Topic
from barnabas.broker_errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    UnknownTopicOrPartitionError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from barnabas.turns import in_turns

FIRST_VERSION_WITH_STRICT_QUOTA = 3
Result = CreatePartitionsResponse.CreatePartitionsTopicResult


async def handle(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    return await call.parts.topic_changes.alone(partial(_create_all, call, request))


async def _create_all(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    times = Counter(topic.name for topic in request.topics)
    asked = {topic.name: topic for topic in request.topics}
    return CreatePartitionsResponse(
        results=[
            await _create(call, topic, times[topic.name] > 1, request.validate_only)
            async for topic in in_turns(asked.values(), 1)
        ]
    )


async def _create(
    call: Call, asked: CreatePartitionsRequest.CreatePartitionsTopic, repeated: bool, validate_only: bool
) -> Result:
    cluster = call.parts.cluster
    try:
        if repeated:
            raise InvalidRequestError("Duplicate topic name.")
        call.parts.authorizer.require(call, Operation.ALTER, ResourceKind.TOPIC, asked.name)
        topic = cluster.topics.get(asked.name)
        if topic is None:
            # As Kafka, without a word.
            raise UnknownTopicOrPartitionError("")
        assignments = _assignments(cluster, topic, asked)
        charge_mutations(call, len(assignments), strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
        if not validate_only:
            place = partial(_assignments, cluster, topic, asked)
            await call.parts.topic_changes.add_partitions(topic, place)
        return Result(name=asked.name)
    except BrokerError as error:
        return Result(name=asked.name, error_code=error.code, error_message=error.context or None)


def _assignments(
    cluster: Cluster, topic: Topic, asked: CreatePartitionsRequest.CreatePartitionsTopic
) -> Sequence[Sequence[int]]:
    """The replicas of each new partition. Raises: InvalidPartitionsError, InvalidReplicaAssignmentError,
    InvalidReplicationFactorError."""
    present = len(topic.partitions)
    count = asked.count - present
    if count == 0:
        raise InvalidPartitionsError(f"Topic already has {present} partition(s).")
    if count < 0:
        raise InvalidPartitionsError(
            f"The topic {topic.name} currently has {present} partition(s); {asked.count} would not be an "
            "increase."
        )
    if asked.count > MAX_PARTITIONS:
        raise InvalidPartitionsError(f"topic {topic.name}: {asked.count} are more than {MAX_PARTITIONS}")
    replication_factor = len(topic.partitions[0].registration.target_replicas)
    if asked.assignments is None:
        return cluster.place(count, replication_factor, present)
    if len(asked.assignments) != count:
        raise InvalidReplicaAssignmentError(
            f"Attempted to add {count} additional partition(s), but only {len(asked.assignments)} "
            "assignment(s) were specified."
        )
    assignments = [assignment.broker_ids for assignment in asked.assignments]
    check_assignments(assignments, cluster.registered, cluster.node_logs.within_reach, present)
    return assignments


HANDLER = Handler(CreatePartitionsRequest, 0, 3, handle)
