"""DescribeProducers, version 0: who has written to partitions, and whose transaction is open (KIP-664), as
far as the replica knows that is asked, a follower as well."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse

PartitionResponse = DescribeProducersResponse.PartitionResponse


async def handle(call: Call, request: DescribeProducersRequest) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(
                topic.name, [_describe(call, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


def _describe(call: Call, topic: str, index: int) -> PartitionResponse:
    cluster = call.parts.cluster
    if not call.parts.authorizer.authorize(call, Operation.READ, ResourceKind.TOPIC, topic):
        return PartitionResponse(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    try:
        log = cluster.partition_at(cluster.topic(topic), index, call.node).log_on(call.node)
    except BrokerError as error:
        return PartitionResponse(index, error.code)
    if log is None:
        return PartitionResponse(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return PartitionResponse(
        index,
        active_producers=[
            DescribeProducersResponse.ProducerState(
                producer_id=producer_id,
                producer_epoch=known.epoch,
                last_sequence=known.last_sequence,
                last_timestamp=known.last_timestamp,
                coordinator_epoch=known.coordinator_epoch,
                current_txn_start_offset=-1 if known.first_offset is None else known.first_offset,
            )
            for producer_id, known in log.producers.by_id.items()
        ],
    )


HANDLER = Handler(DescribeProducersRequest, 0, 0, handle)
