"""OffsetForLeaderEpoch, versions 2 to 4: where a leader epoch ended, so that clients notice truncation
(KIP-320).
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.replication.leadership import check_leader_epoch
from barnabas.errors import BrokerError
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

EpochEndOffset = OffsetForLeaderEpochResponse.EpochEndOffset


async def handle(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_look_up(call, topic.topic, asked) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _look_up(
    call: Call, topic: str, asked: OffsetForLeaderEpochRequest.OffsetForLeaderPartition
) -> EpochEndOffset:
    cluster, authorizer = call.parts.cluster, call.parts.authorizer
    try:
        if not authorizer.authorize(call, Operation.CLUSTER_ACTION, ResourceKind.CLUSTER, CLUSTER_NAME):
            authorizer.require(call, Operation.DESCRIBE, ResourceKind.TOPIC, topic)
        partition = cluster.led_partition(cluster.topic(topic), asked.partition, call.node)
        check_leader_epoch(asked.current_leader_epoch, partition.registration.leader_epoch)
    except BrokerError as error:
        return EpochEndOffset(partition=asked.partition, error_code=error.code)
    leader_epoch, end_offset = partition.log.epoch_end_offset(asked.leader_epoch)
    return EpochEndOffset(partition=asked.partition, leader_epoch=leader_epoch, end_offset=end_offset)


HANDLER = Handler(OffsetForLeaderEpochRequest, 2, 4, handle)
