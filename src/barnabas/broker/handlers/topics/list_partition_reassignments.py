"""ListPartitionReassignments, version 0 (KIP-455): the reassignments under way, of all topics for null."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorization.acls import Operation
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.topic import Partition, Topic
from barnabas.errors import BrokerError
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from barnabas.turns import in_turns

OngoingPartition = ListPartitionReassignmentsResponse.OngoingPartitionReassignment
OngoingTopic = ListPartitionReassignmentsResponse.OngoingTopicReassignment


async def handle(
    call: Call, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    try:
        call.parts.authorizer.require_cluster(call, Operation.DESCRIBE)
    except BrokerError as error:
        return ListPartitionReassignmentsResponse(
            error_code=error.code,
            error_message=error.context,
            topics=[
                OngoingTopic(asked.name, [OngoingPartition(index) for index in asked.partition_indexes])
                for asked in request.topics or ()
            ],
        )
    topics = call.parts.cluster.topics
    if request.topics is None:
        found = [_describe(topic, topic.partitions) async for topic in in_turns(list(topics.values()), 1)]
    else:
        found = [
            _describe(
                topic,
                (
                    topic.partitions[index]
                    for index in asked.partition_indexes
                    if 0 <= index < len(topic.partitions)
                ),
            )
            for asked in request.topics
            if (topic := topics.get(asked.name)) is not None
        ]
    return ListPartitionReassignmentsResponse(
        error_message=None, topics=[topic for topic in found if topic.partitions]
    )


def _describe(topic: Topic, partitions: Iterable[Partition]) -> OngoingTopic:
    return OngoingTopic(
        topic.name,
        [
            OngoingPartition(
                partition.index,
                list(partition.registration.replicas),
                list(partition.registration.adding),
                list(partition.registration.removing),
            )
            for partition in partitions
            if partition.registration.is_being_reassigned
        ],
    )


HANDLER = Handler(ListPartitionReassignmentsRequest, 0, 0, handle)
