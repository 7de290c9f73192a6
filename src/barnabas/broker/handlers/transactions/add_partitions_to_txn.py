"""AddPartitionsToTxn, versions 0 to 5: makes partitions part of a transaction, before they are written to.

Producers of the first protocol ask for one transaction (versions 0 to 3), other brokers for several at a time
(from version 4 on), or only whether partitions belong to a transaction. One partition that does not exist
fails all of a transaction's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.cluster import Cluster
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.transactions.producer_errors import code_for
from barnabas.broker.topic import INTERNAL_TOPICS
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from barnabas.types import TopicPartition

FIRST_VERSION_WITH_FENCING = 2
FIRST_VERSION_WITH_MANY = 4
PROTOCOL_VERSION = 0

Asked = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
Codes = Callable[[TopicPartition], int]


async def handle(call: Call, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if call.version < FIRST_VERSION_WITH_MANY:
        asked = Asked(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_add_for_client(call, asked))
    try:
        call.parts.authorizer.require_cluster(call, Operation.CLUSTER_ACTION)
    except BrokerError as error:
        return AddPartitionsToTxnResponse(error_code=error.code)
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResponse.AddPartitionsToTxnResult(asked.transactional_id, _add(call, asked))
            for asked in request.transactions
        ]
    )


def _add_for_client(call: Call, asked: Asked) -> list[TopicResult]:
    authorizer = call.parts.authorizer
    transactional_id = asked.transactional_id
    if not authorizer.authorize(call, Operation.WRITE, ResourceKind.TRANSACTIONAL_ID, transactional_id):
        return _results(asked.topics, lambda _: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    refused = {
        topic.name
        for topic in asked.topics
        if topic.name in INTERNAL_TOPICS
        or not authorizer.authorize(call, Operation.WRITE, ResourceKind.TOPIC, topic.name)
    }
    return _add(call, asked, refused)


def _add(call: Call, asked: Asked, refused: Collection[str] = ()) -> list[TopicResult]:
    """`refused`: the topics that the client may not write to."""
    partitions = {TopicPartition(topic.name, index) for topic in asked.topics for index in topic.partitions}
    wrong = {name: ErrorCode.TOPIC_AUTHORIZATION_FAILED for name in partitions if name.topic in refused}
    for name in partitions - wrong.keys():
        if not _exists(call.parts.cluster, name):
            wrong[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if wrong:
        return _results(asked.topics, lambda name: wrong.get(name, ErrorCode.OPERATION_NOT_ATTEMPTED))
    transactions, producer = call.parts.transactions, (asked.producer_id, asked.producer_epoch)
    missing: set[TopicPartition] = set()
    try:
        if asked.verify_only:
            missing = transactions.missing_partitions(asked.transactional_id, producer, partitions)
        else:
            transactions.add_partitions(asked.transactional_id, producer, partitions, PROTOCOL_VERSION)
    except BrokerError as error:
        code = code_for(error, call.version, FIRST_VERSION_WITH_FENCING)
        return _results(asked.topics, lambda _: code)
    return _results(asked.topics, lambda name: ErrorCode.TRANSACTION_ABORTABLE if name in missing else 0)


def _exists(cluster: Cluster, name: TopicPartition) -> bool:
    topic = cluster.topics.get(name.topic)
    return topic is not None and 0 <= name.partition < len(topic.partitions)


def _results(topics: Iterable[Topic], code_of: Codes) -> list[TopicResult]:
    return [
        TopicResult(
            topic.name,
            [
                PartitionResult(index, code_of(TopicPartition(topic.name, index)))
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


HANDLER = Handler(AddPartitionsToTxnRequest, 0, 5, handle)
