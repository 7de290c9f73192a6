"""AlterPartitionReassignments, versions 0 and 1 (KIP-455, KIP-860): other replicas for partitions; null ends
the reassignment that is under way.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.topic import Partition
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from barnabas.turns import in_turns

PartitionResponse = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse


async def handle(
    call: Call, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    try:
        call.parts.authorizer.require_cluster(call, Operation.ALTER)
    except BrokerError as error:
        return AlterPartitionReassignmentsResponse(
            error_code=error.code,
            error_message=error.context,
            responses=[
                AlterPartitionReassignmentsResponse.ReassignableTopicResponse(
                    topic.name,
                    [
                        PartitionResponse(asked.partition_index, error.code, error.context)
                        for asked in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        # As Kafka answers to a request without topics.
        error_message=None if request.topics else "",
        responses=[
            AlterPartitionReassignmentsResponse.ReassignableTopicResponse(
                topic.name,
                [
                    _reassign(call, topic.name, asked, request.allow_replication_factor_change)
                    async for asked in in_turns(topic.partitions, 1)
                ],
            )
            for topic in request.topics
        ],
    )
    call.parts.controller.save()
    return response


def _reassign(
    call: Call,
    name: str,
    asked: AlterPartitionReassignmentsRequest.ReassignablePartition,
    may_change_replication_factor: bool,
) -> PartitionResponse:
    controller = call.parts.controller
    try:
        partition = _find(call, name, asked.partition_index)
        if asked.replicas is None:
            controller.cancel_reassignment(partition)
        else:
            controller.reassign(
                partition, asked.replicas, may_change_replication_factor=may_change_replication_factor
            )
    except BrokerError as error:
        return PartitionResponse(asked.partition_index, error.code, error.context or None)
    return PartitionResponse(asked.partition_index, error_message=None)


def _find(call: Call, name: str, index: int) -> Partition:
    topic = call.parts.cluster.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartitionError(f"Unable to find a topic named {name}.")
    if not 0 <= index < len(topic.partitions):
        raise UnknownTopicOrPartitionError(f"Unable to find partition {name}:{index}.")
    return topic.partitions[index]


HANDLER = Handler(AlterPartitionReassignmentsRequest, 0, 1, handle)
