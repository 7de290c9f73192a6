"""DescribeTopicPartitions, version 0 (KIP-966).

Topics in the order of their names, all of them if none is named, up to response_partition_limit partitions; a
cursor says where to go on.
"""

from __future__ import annotations

from collections.abc import Container

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.cluster import is_topic_name
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.replication.registration import NO_LEADER, PartitionRegistration
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)

MAX_PARTITIONS = 2000
Described = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic


async def handle(call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    cluster = call.parts.cluster
    if not _is_good_cursor(request):
        return DescribeTopicPartitionsResponse(
            topics=[Described(ErrorCode.INVALID_REQUEST, topic.name) for topic in request.topics]
        )
    names = sorted({topic.name for topic in request.topics} or set(cluster.topics))
    first = 0
    if request.cursor is not None:
        names = [name for name in names if name >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first = request.cursor.partition_index
    authorizer = call.parts.authorizer
    hidden = {
        name for name in names if not authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, name)
    }
    names = [name for name in names if name not in hidden]
    room = min(MAX_PARTITIONS, max(1, request.response_partition_limit))
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if room == 0:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(name, first)
            break
        topic = cluster.topics.get(name)
        described = Described(name=name)
        response.topics.append(described)
        described.topic_authorized_operations = authorizer.authorized_operations(
            call, ResourceKind.TOPIC, name
        )
        if topic is None or not cluster.knows(topic, call.node):
            described.error_code = (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if is_topic_name(name)
                else ErrorCode.INVALID_TOPIC_EXCEPTION
            )
            continue
        described.topic_id = topic.topic_id
        described.is_internal = topic.is_internal
        count = cluster.partition_count_at(topic, call.node)
        indexes = range(first, count)[:room]
        described.partitions = [
            _describe(
                index,
                cluster.registration_at(cluster.partition_at(topic, index, call.node), call.node),
                cluster.alive_at(call.node),
            )
            for index in indexes
        ]
        room -= len(indexes)
        if first + len(indexes) < count:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(name, first + len(indexes))
            break
        first = 0
    if request.topics:
        refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        response.topics += [Described(refused, name) for name in sorted(hidden)]
    return response


def _is_good_cursor(request: DescribeTopicPartitionsRequest) -> bool:
    """Whether it is at a partition of one of the topics that are asked for."""
    cursor = request.cursor
    if cursor is None:
        return True
    names = {topic.name for topic in request.topics}
    return cursor.partition_index >= 0 and (not names or cursor.topic_name in names)


def _describe(
    index: int, known: PartitionRegistration, alive: Container[int]
) -> DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=known.leader,
        leader_epoch=known.leader_epoch,
        replica_nodes=list(known.replicas),
        isr_nodes=list(known.in_sync),
        offline_replicas=[replica for replica in known.replicas if replica not in alive],
        eligible_leader_replicas=list(known.eligible),
        last_known_elr=[] if known.last_leader == NO_LEADER else [known.last_leader],
    )


HANDLER = Handler(DescribeTopicPartitionsRequest, 0, 0, handle)
