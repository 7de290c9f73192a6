"""What Kafka's cleaner leaves of transactions in a compacted topic, the embedded broker's leaves as well."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from tests.waiting import Patience

from barnabas import Admin, NewTopic, Producer, _kernel
from barnabas.net.connection import Connection
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .in_process import fetch_request

Broker = ApacheKafka | EmbeddedBroker
Topic = Callable[[], str]
Layout = list[tuple[int, bool, int]]

CONFIG = {"log.cleaner.backoff.ms": "100"}
SEGMENT_BYTES = 1 << 20
PATIENCE_SECONDS = 40


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[Broker, Broker]]:
    with ApacheKafka(config=CONFIG) as kafka, EmbeddedBroker(config=CONFIG) as embedded:
        yield kafka, embedded


def make_topic(broker: Broker, name: str, delete_retention_ms: int) -> None:
    configs = {
        "cleanup.policy": "compact",
        "segment.bytes": str(SEGMENT_BYTES),
        "min.cleanable.dirty.ratio": "0.0",
        "delete.retention.ms": str(delete_retention_ms),
    }
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1, configs=configs)])


def write_transactions(broker: Broker, topic: str) -> None:
    """Of two producers: what is superseded, what stays, what was aborted."""
    for transactional_id, keys in ((f"{topic}-a", "kkkl"), (f"{topic}-b", "mmk")):
        with Producer(broker.bootstrap, transactional_id=transactional_id) as producer:
            producer.init_transactions()
            for index, key in enumerate(keys):
                producer.begin_transaction()
                producer.send(topic, b"%d" % index, key=key.encode())
                producer.flush()
                producer.abort_transaction() if index == 1 else producer.commit_transaction()


def end_segment(broker: Broker, topic: str, times: int = 1) -> None:
    with Producer(broker.bootstrap) as producer:
        for _ in range(times):
            producer.send(topic, b"x" * (SEGMENT_BYTES - 1_000), key=b"filler")
            producer.flush()


def layout(broker: Broker, topic: str, end: int) -> Layout:
    """Of each batch before an offset the last offset, whether it is a marker, and how many records it has."""

    async def read() -> Layout:
        host, _, port = broker.bootstrap.partition(":")
        connection = await Connection.open(host, int(port), client_id="test")
        found: Layout = []
        offset = 0
        while offset < end:
            request: FetchRequest = fetch_request(topic, offset, max_bytes=8 << 20)
            response = await connection.submit(request, timeout_ms=30_000, max_version=12)
            for batch in _kernel.scan_batches(response.responses[0].partitions[0].records):
                found.append((batch.last_offset, batch.is_control, batch.record_count))
                offset = batch.last_offset + 1
        connection.close()
        return [each for each in found if each[0] < end]

    return asyncio.run(read())


def layouts(brokers: tuple[Broker, Broker], topic: str, end: int) -> tuple[Layout, Layout]:
    return layout(brokers[0], topic, end), layout(brokers[1], topic, end)


@pytest.mark.parametrize(
    ("delete_retention_ms", "expected"), [(3_600_000, 7), (0, 3)], ids=["they stay", "they go"]
)
def test_of_transactions_that_are_gone_markers_stay_for_their_time(
    brokers: tuple[Broker, Broker], topic: Topic, delete_retention_ms: int, expected: int
) -> None:
    name, end = topic(), 14
    for broker in brokers:
        make_topic(broker, name, delete_retention_ms)
        write_transactions(broker, name)
    of_kafka, of_embedded = layouts(brokers, name, end)
    assert of_kafka == of_embedded
    assert len(of_kafka) == end
    # How many passes there are is each cleaner's own: both are given something to do until both are done.
    patience = Patience(PATIENCE_SECONDS)
    while len(of_kafka) == end or of_kafka != of_embedded or markers(of_kafka) > expected:
        patience.check(f"{of_kafka}\n{of_embedded}")
        for broker in brokers:
            end_segment(broker, name)
        patience.pause()
        of_kafka, of_embedded = layouts(brokers, name, end)
    assert markers(of_kafka) == expected


def markers(found: Layout) -> int:
    return sum(is_marker for _, is_marker, _ in found)
