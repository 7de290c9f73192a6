"""OffsetForLeaderEpoch, versions 2 to 4: where a leader epoch ended, so that clients notice truncation
(KIP-320).
"""

from __future__ import annotations

from barnabas.broker.cluster import Cluster
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.leadership import check_leader_epoch
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
                partitions=[_look_up(call.parts.cluster, topic.topic, asked) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _look_up(
    cluster: Cluster, topic: str, asked: OffsetForLeaderEpochRequest.OffsetForLeaderPartition
) -> EpochEndOffset:
    try:
        partition = cluster.partition(cluster.topic(topic), asked.partition)
        check_leader_epoch(asked.current_leader_epoch, cluster.leader_epoch)
    except BrokerError as error:
        return EpochEndOffset(partition=asked.partition, error_code=error.code)
    leader_epoch, end_offset = partition.log.epoch_end_offset(asked.leader_epoch)
    return EpochEndOffset(partition=asked.partition, leader_epoch=leader_epoch, end_offset=end_offset)


HANDLER = Handler(OffsetForLeaderEpochRequest, 2, 4, handle)
