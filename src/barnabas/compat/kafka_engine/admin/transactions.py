"""Transactions and the producers that have them (KIP-664). Knows no shape of answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.compat.kafka_engine.admin.partitions import by_topic, leaders_of
from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse
from barnabas.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from barnabas.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

Partition = tuple[str, int]

_TRANSACTION = 1


async def list_transactions(
    session: BrokerSession,
    broker_ids: Iterable[int] | None,
    *,
    states: Iterable[str],
    producer_ids: Iterable[int],
    duration_ms: int | None,
    pattern: str | None,
) -> dict[int, BrokerAnswer[ListTransactionsResponse]]:
    """The answers of brokers, of all for None."""
    request = ListTransactionsRequest(
        state_filters=[getattr(state, "value", state) for state in states],
        producer_id_filters=list(producer_ids),
        duration_filter=-1 if duration_ms is None else int(duration_ms),
        transactional_id_pattern=pattern,
    )
    needed = 2 if pattern is not None else 1 if duration_ms is not None else 0
    brokers = await session.nodes() if broker_ids is None else broker_ids
    return {broker: await session.ask(request, broker, min_version=needed) for broker in brokers}


async def describe_transactions(
    session: BrokerSession, transactional_ids: Iterable[str]
) -> list[BrokerAnswer[DescribeTransactionsResponse]]:
    """The answers of their coordinators."""
    return await session.ask_coordinators(
        transactional_ids,
        lambda ids: DescribeTransactionsRequest(transactional_ids=ids),
        lambda response: [each.error_code for each in response.transaction_states],
        key_type=_TRANSACTION,
    )


async def describe_producers(
    session: BrokerSession, partitions: Iterable[Partition], broker_id: int | None
) -> list[BrokerAnswer[DescribeProducersResponse]]:
    """Those that the leaders know, or a replica. Raises: UnknownTopicOrPartitionError."""
    wanted = list(partitions)
    places = {broker_id: wanted} if broker_id is not None else await leaders_of(session, wanted)
    topic = DescribeProducersRequest.TopicRequest
    return [
        await session.ask(
            DescribeProducersRequest(
                topics=[
                    topic(name=name, partition_indexes=numbers) for name, numbers in by_topic(group).items()
                ]
            ),
            place,
        )
        for place, group in places.items()
    ]


async def write_abort_marker(session: BrokerSession, spec: Any) -> BrokerAnswer[WriteTxnMarkersResponse]:
    """Ends the transaction that a producer has open in a partition, which its leader is asked for. Raises:
    UnknownTopicOrPartitionError."""
    topic, partition = spec.topic_partition
    [leader] = await leaders_of(session, [spec.topic_partition])
    request = WriteTxnMarkersRequest(
        markers=[
            WriteTxnMarkersRequest.WritableTxnMarker(
                producer_id=spec.producer_id,
                producer_epoch=spec.producer_epoch,
                transaction_result=False,
                topics=[
                    WriteTxnMarkersRequest.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])
                ],
                coordinator_epoch=spec.coordinator_epoch,
            )
        ]
    )
    return await session.ask(request, leader)
