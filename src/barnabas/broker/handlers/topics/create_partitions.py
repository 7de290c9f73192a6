"""CreatePartitions, versions 0 to 3: more partitions for a topic, never fewer."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.cluster import MAX_PARTITIONS
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.topics.create_topics import check_replicas
from barnabas.broker.handlers.within_quotas import charge_mutations
from barnabas.broker_errors import InvalidPartitionsError, InvalidReplicaAssignmentError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

FIRST_VERSION_WITH_STRICT_QUOTA = 3
Result = CreatePartitionsResponse.CreatePartitionsTopicResult


async def handle(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[_create(call, topic, request.validate_only) for topic in request.topics]
    )


def _create(call: Call, asked: CreatePartitionsRequest.CreatePartitionsTopic, validate_only: bool) -> Result:
    cluster = call.parts.cluster
    try:
        call.parts.authorizer.require(call, Operation.ALTER, ResourceKind.TOPIC, asked.name)
        topic = cluster.topic(asked.name)
        present = len(topic.partitions)
        if not present < asked.count <= MAX_PARTITIONS:
            raise InvalidPartitionsError(
                f"topic {asked.name} has {present} partitions; "
                f"{asked.count} is not from {present + 1} to {MAX_PARTITIONS}"
            )
        if asked.assignments is not None:
            if len(asked.assignments) != asked.count - present:
                raise InvalidReplicaAssignmentError(
                    f"topic {asked.name}: {len(asked.assignments)} assignments "
                    f"for {asked.count - present} partitions"
                )
            for assignment in asked.assignments:
                check_replicas(f"topic {asked.name}", assignment.broker_ids)
        charge_mutations(call, asked.count - present, strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
        if not validate_only:
            cluster.create_partitions(topic, asked.count)
        return Result(name=asked.name)
    except BrokerError as error:
        return Result(name=asked.name, error_code=error.code, error_message=error.context or None)


HANDLER = Handler(CreatePartitionsRequest, 0, 3, handle)
