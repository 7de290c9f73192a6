"""A transaction that really hangs, on Apache Kafka."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient
from tests.broker.transactions.hanging_transaction import (
    PRODUCER_EPOCH,
    PRODUCER_ID,
    TAKES_ANY_TRANSACTION,
    write_without_a_coordinator,
)
from tests.cli.conftest import run_here
from tests.ui.pages.test_topic_changes import rows_of
from tests.ui.pages.test_topics import token_of

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.testing import ApacheKafka

TOPIC = "flights"
PLACE = TopicPartition(TOPIC, 0)


@pytest.fixture(scope="module")
def trusting_kafka() -> Iterator[ApacheKafka]:
    with ApacheKafka(config=TAKES_ANY_TRANSACTION) as broker:
        yield broker


@pytest.fixture
def shown_broker(trusting_kafka: ApacheKafka) -> ApacheKafka:
    return trusting_kafka


def test_a_transaction_that_hangs_is_found_and_aborted_by_the_page_and_the_command_line(
    trusting_kafka: ApacheKafka, open_page: Callable[..., TestClient]
) -> None:
    bootstrap = trusting_kafka.bootstrap
    with Admin(bootstrap) as admin, Producer(bootstrap) as producer:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
        asyncio.run(write_without_a_coordinator(bootstrap, PLACE, 1_700_000_000_000))
        producer.send(TOPIC, b"behind").result(30)

    told = run_here(bootstrap)("transactions", "find-hanging", "--open-for", "0", "--json")
    [found] = json.loads(told.stdout)
    assert (found["topic"], found["partition"], found["producer_id"]) == (TOPIC, 0, PRODUCER_ID)

    page = open_page(allows_writes=True)
    shown = page.get("/cluster/transactions/hanging", params={"minutes": "0"}).text
    [row] = rows_of(shown)
    assert row[:4] == ["flights-0", str(PRODUCER_ID), str(PRODUCER_EPOCH), "0"]
    form = {"csrf": token_of(shown), "topic": TOPIC, "partition": "0", "start_offset": "0"}
    assert "is aborted" in page.post("/cluster/transactions/abort", data=form).text
    assert "No transaction hangs." in page.get("/cluster/transactions/hanging", params={"minutes": "0"}).text

    with Consumer(
        bootstrap, topics=[TOPIC], isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        assert [record.value for record in consumer.poll(30)] == [b"behind"]
