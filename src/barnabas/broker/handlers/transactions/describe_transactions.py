"""DescribeTransactions, version 0: a transactional id's state, producer and partitions (KIP-664)."""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)

State = DescribeTransactionsResponse.TransactionState


async def handle(call: Call, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            _describe(call, transactional_id) for transactional_id in request.transactional_ids
        ]
    )


def _describe(call: Call, transactional_id: str) -> State:
    authorizer = call.parts.authorizer
    if not authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TRANSACTIONAL_ID, transactional_id):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return State(error_code=code, transactional_id=transactional_id)
    if not transactional_id:
        return State(error_code=ErrorCode.INVALID_REQUEST, transactional_id=transactional_id)
    metadata = call.parts.transactions.by_id.get(transactional_id)
    if metadata is None:
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return State(error_code=code, transactional_id=transactional_id)
    by_topic: dict[str, list[int]] = {}
    for partition in sorted(metadata.partitions):
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    return State(
        transactional_id=transactional_id,
        transaction_state=metadata.status.title,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.started_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[
            DescribeTransactionsResponse.TopicData(topic, indexes)
            for topic, indexes in by_topic.items()
            if authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, topic)
        ],
    )


HANDLER = Handler(DescribeTransactionsRequest, 0, 0, handle)
