"""WriteTxnMarkers, versions 1 and 2: ends transactions in partitions without asking their coordinator, as an
administrator does with those that hang. A marker is answered once the replicas in sync have it.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.log.markers import EndMarker
from barnabas.broker.replication.acknowledgement import Written
from barnabas.broker.transactions.transaction import VERSION_WITH_EPOCH_BUMPS
from barnabas.broker_errors import ErrorCode, UnknownServerError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from barnabas.types import TopicPartition

REPLICATION_MS = 30_000

Result = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult


async def handle(call: Call, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    authorizer = call.parts.authorizer
    is_refused = not (
        authorizer.authorize(call, Operation.ALTER, ResourceKind.CLUSTER, CLUSTER_NAME)
        or authorizer.authorize(call, Operation.CLUSTER_ACTION, ResourceKind.CLUSTER, CLUSTER_NAME)
    )
    response = WriteTxnMarkersResponse()
    for asked in request.markers:
        marker = EndMarker(
            asked.producer_id, asked.producer_epoch, asked.transaction_result, asked.coordinator_epoch
        )
        needs_newer_epoch = asked.transaction_version >= VERSION_WITH_EPOCH_BUMPS
        topics = [
            WriteTxnMarkersResponse.WritableTxnMarkerTopicResult(
                topic.name,
                [
                    Result(index, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
                    if is_refused
                    else await _write(call, TopicPartition(topic.name, index), marker, needs_newer_epoch)
                    for index in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ]
        response.markers.append(WriteTxnMarkersResponse.WritableTxnMarkerResult(asked.producer_id, topics))
    return response


async def _write(call: Call, name: TopicPartition, marker: EndMarker, needs_newer_epoch: bool) -> Result:
    try:
        if marker.producer_epoch < 0:
            raise UnknownServerError("a marker needs its producer's epoch")
        transactions = call.parts.transactions
        written: Written = transactions.write_marker(name, marker, needs_newer_epoch=needs_newer_epoch)
        await written.until_replicated(REPLICATION_MS)
    except BrokerError as error:
        return Result(name.partition, error.code)
    return Result(name.partition)


HANDLER = Handler(WriteTxnMarkersRequest, 1, 2, handle)
