"""Who may write idempotently and in transactions, and see those: the same answers as Kafka's, with each right
alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.waiting import Patience

from barnabas.broker.authorization.acls import CLUSTER_NAME, Operation, Permission, ResourceKind
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest
from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from barnabas.testing import ApacheKafka

from .probe import Ask, facts, probe
from .stage import PREFIXED, Stage, rule, same_on_both

TOPIC, GROUP, CLUSTER = ResourceKind.TOPIC, ResourceKind.GROUP, ResourceKind.CLUSTER
TRANSACTION = ResourceKind.TRANSACTIONAL_ID


def fixed(request: Any, version: int | None = None) -> Ask:
    return lambda _: (request, version)


async def numbered(stage: Stage) -> None:
    """The broker has ids to give."""
    patience = Patience()
    while True:
        answer = await stage.admin(InitProducerIdRequest(None, 0))
        if not answer.error_code:
            return
        await patience.pause_async()


async def begin(stage: Stage, transactional_id: str, group: str) -> tuple[int, int]:
    """The producer of a transactional id, once both coordinators are there."""
    for key_type, key in ((1, transactional_id), (0, group)):
        patience = Patience()
        while True:
            asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
            if not (await stage.admin(asked)).coordinators[0].error_code:
                break
            await patience.pause_async()
    patience = Patience()
    while True:
        answer = await stage.admin(InitProducerIdRequest(transactional_id, 60_000))
        if not answer.error_code:
            return answer.producer_id, answer.producer_epoch
        await patience.pause_async()


async def idempotent_producers(stage: Stage) -> None:
    topic = stage.name("topic")
    asked = fixed(InitProducerIdRequest(None, 0))
    await numbered(stage)
    await probe(
        stage,
        "init",
        asked,
        (Operation.IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME),
        (Operation.ALL, CLUSTER, CLUSTER_NAME),
        (Operation.WRITE, TOPIC, topic),
        (Operation.WRITE, TOPIC, "*"),
        (Operation.ALL, TOPIC, topic),
        (Operation.READ, TOPIC, topic),
        (Operation.WRITE, GROUP, topic),
    )
    write = rule(Operation.WRITE, TOPIC, topic)
    deny = Permission.DENY
    for others in (
        [rule(Operation.WRITE, TOPIC, topic, permission=deny)],
        [rule(Operation.ALL, TOPIC, topic, permission=deny)],
        [rule(Operation.WRITE, TOPIC, "*", permission=deny)],
        [rule(Operation.WRITE, TOPIC, topic[:2], pattern=PREFIXED, permission=deny)],
        [rule(Operation.WRITE, TOPIC, "elsewhere", pattern=PREFIXED, permission=deny)],
        [rule(Operation.READ, TOPIC, "*", permission=deny)],
        [rule(Operation.WRITE, TOPIC, topic, principal="User:else", permission=deny)],
        [rule(Operation.WRITE, TOPIC, topic, host="10.1.2.3", permission=deny)],
        [
            rule(Operation.WRITE, TOPIC, topic, permission=deny),
            rule(Operation.WRITE, TOPIC, "elsewhere", pattern=PREFIXED),
        ],
    ):
        await stage.allow(write, *others)
        stage.tell(facts(await stage.guest(InitProducerIdRequest(None, 0))))
        await stage.forbid()


async def transactional_producers(stage: Stage) -> None:
    identity, group, topic = stage.name("id"), stage.name("group"), stage.name("topic")
    await stage.create_topic(topic)
    producer = await begin(stage, identity, group)
    use, see = (Operation.WRITE, TRANSACTION, identity), (Operation.DESCRIBE, TRANSACTION, identity)
    write, read, consume = (
        (Operation.WRITE, TOPIC, topic),
        (Operation.READ, TOPIC, topic),
        (Operation.READ, GROUP, group),
    )
    await probe(stage, "init", fixed(InitProducerIdRequest(identity, 60_000)), see)
    topics = [
        AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name, [0])
        for name in (topic, stage.name("missing"), "__consumer_offsets")
    ]
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=identity,
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=topics,
    )
    await probe(
        stage, "add partitions", fixed(add, 3), use, write, [use, write], [use, (Operation.WRITE, TOPIC, "*")]
    )
    by_brokers = AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(identity, *producer, True, topics[:1])
        ]
    )
    action = Operation.CLUSTER_ACTION, CLUSTER, CLUSTER_NAME
    alter = Operation.ALTER, CLUSTER, CLUSTER_NAME
    await probe(stage, "add by brokers", fixed(by_brokers, 4), [use, write], action)
    offsets = AddOffsetsToTxnRequest(identity, *producer, group)
    await probe(stage, "add offsets", fixed(offsets), use, consume, [use, consume])
    committed = TxnOffsetCommitRequest(
        identity,
        group,
        *producer,
        topics=[
            TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                name, [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 1, committed_metadata="")]
            )
            for name in (topic, stage.name("missing"))
        ],
    )
    await probe(
        stage, "commit offsets", fixed(committed, 3), use, consume, [use, consume], [use, consume, read]
    )
    await probe(
        stage,
        "describe",
        fixed(DescribeTransactionsRequest([identity, stage.name("other")])),
        see,
        [use, write],
    )

    async def listed(label: str) -> None:
        answer = await stage.guest(ListTransactionsRequest())
        names = [each.transactional_id for each in answer.transaction_states]
        stage.tell("list", label, answer.error_code, [name for name in names if name == identity])

    await listed("nothing")
    await stage.allow(rule(*see))
    await listed("describe")
    await stage.forbid()
    await stage.allow(rule(*read))
    await listed("read")
    await stage.forbid()
    described = DescribeProducersRequest(
        [DescribeProducersRequest.TopicRequest(name, [0]) for name in (topic, stage.name("missing"))]
    )
    await probe(stage, "producers", fixed(described), read, write, (Operation.READ, TOPIC, "*"))
    await probe(stage, "end", fixed(EndTxnRequest(identity, *producer, False), 4), see, consume)
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=99,
        producer_epoch=0,
        transaction_result=False,
        topics=[WriteTxnMarkersRequest.WritableTxnMarkerTopic(topic, [0])],
    )
    await probe(stage, "markers", fixed(WriteTxnMarkersRequest([marker])), [use, write], alter, action)
    await stage.admin(EndTxnRequest(identity, *producer, False), 4)


def test_idempotent_producers_need_the_rights_that_they_need_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, idempotent_producers))


def test_transactions_need_the_rights_that_they_need_with_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, transactional_producers))
