"""A transaction that really hangs: on Apache Kafka, which takes one only while it does not verify partitions
(KIP-890), as releases before 3.6 did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient
from tests.cli.conftest import run_here
from tests.ui.pages.test_topic_changes import rows_of
from tests.ui.pages.test_topics import token_of

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition, _kernel
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.settings.table import CommonConfig, load
from barnabas.testing import ApacheKafka

PRODUCER_ID, EPOCH = 777_777, 3
TOPIC = "flights"
PLACE = TopicPartition(TOPIC, 0)


@pytest.fixture(scope="module")
def trusting_kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka(config={"transaction.partition.verification.enable": "false"}) as broker:
        yield broker


@pytest.fixture
def shown_broker(trusting_kafka: ApacheKafka) -> ApacheKafka:
    return trusting_kafka


async def write_without_a_coordinator(bootstrap: str) -> None:
    builder = _kernel.BatchBuilder(max_bytes=1 << 16)
    builder.append(1_700_000_000_000, b"key", b"lost")
    batch = builder.build(
        producer_id=PRODUCER_ID, producer_epoch=EPOCH, base_sequence=0, is_transactional=True
    )
    data = ProduceRequest.PartitionProduceData(index=0, records=batch)
    topics = [ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])]
    request = ProduceRequest("lost", acks=-1, timeout_ms=5_000, topic_data=topics)
    client = KafkaClient(load(CommonConfig, {"bootstrap_servers": bootstrap}))
    try:
        await client.refresh_metadata([TOPIC])
        # From version 12 on a broker has the coordinator told of it.
        answer = await client.send(client.metadata.leader(PLACE), request, 5_000, max_version=11)
        [[partition]] = [topic.partition_responses for topic in answer.responses]
        assert partition.error_code == 0
    finally:
        await client.close()


def test_a_transaction_that_hangs_is_found_and_aborted_by_the_page_and_the_command_line(
    trusting_kafka: ApacheKafka, open_page: Callable[..., TestClient]
) -> None:
    bootstrap = trusting_kafka.bootstrap
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
        asyncio.run(write_without_a_coordinator(bootstrap))
        producer.send(TOPIC, b"behind").result(30)

    told = run_here(bootstrap)("transactions", "find-hanging", "--open-for", "0", "--json")
    [found] = json.loads(told.stdout)
    assert (found["topic"], found["partition"], found["producer_id"]) == (TOPIC, 0, PRODUCER_ID)

    page = open_page(allows_writes=True)
    shown = page.get("/cluster/transactions/hanging", params={"minutes": "0"}).text
    [row] = rows_of(shown)
    assert row[:4] == ["flights-0", str(PRODUCER_ID), str(EPOCH), "0"]
    form = {"csrf": token_of(shown), "topic": TOPIC, "partition": "0", "start_offset": "0"}
    assert "is aborted" in page.post("/cluster/transactions/abort", data=form).text
    assert "No transaction hangs." in page.get("/cluster/transactions/hanging", params={"minutes": "0"}).text

    with Consumer(
        bootstrap, topics=[TOPIC], isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        assert [record.value for record in consumer.poll(30)] == [b"behind"]
