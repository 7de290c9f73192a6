"""What the planner of a streaming query asks brokers for at a trigger, with many partitions on several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from tests.waiting import wait_for

from barnabas import Admin, NewTopic, Producer
from barnabas.spark.options import source_options
from barnabas.spark.planning.offsets import Document
from barnabas.spark.reading import cluster as views
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.testing import EmbeddedBroker
from barnabas.types import TopicPartition

NODES, TOPICS, PARTITIONS = 3, 60, 4


@pytest.fixture
def cluster() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(nodes=NODES) as started:
        yield started


def send(cluster: EmbeddedBroker, topics: list[str]) -> None:
    with Producer(cluster.bootstrap) as producer:
        for topic in topics:
            for partition in range(PARTITIONS):
                producer.send(topic, b"x", partition=partition)
        producer.flush()


def next_batch(reader: KafkaStreamReader, start: Document) -> Document:
    return reader.latestOffset(start, reader.getDefaultReadLimit())


def test_a_trigger_asks_each_broker_once_for_ends_and_only_what_changed_is_planned(
    cluster: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MANY_PARTITIONS", 100)
    monkeypatch.setattr(views, "PAUSE_BY_SEARCH", 1e9)
    topics = [f"many-{number}" for number in range(TOPICS)]
    with Admin(cluster.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics])
        partitions = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
        wait_for(lambda: len(admin.list_offsets(dict.fromkeys(partitions, "latest"))) == len(partitions))
    options = {
        "kafka.bootstrap.servers": cluster.bootstrap,
        "subscribePattern": "many-.*",
        "startingOffsets": "earliest",
        "maxPartitions": "30",
    }
    reader = KafkaStreamReader(source_options(options))
    try:
        start = next_batch(reader, reader.initialOffset())
        send(cluster, topics)
        end = next_batch(reader, start)
        assert len(reader.partitions(start, end)) <= 30 + NODES
        asked = len(cluster.faults.requests())
        send(cluster, topics[:2])
        changed = next_batch(reader, end)
        assert len(reader.partitions(end, changed)) == 2 * PARTITIONS
        for _ in range(3):
            assert next_batch(reader, changed) is changed
            assert reader.partitions(changed, changed) == []
    finally:
        reader.stop()
    of_driver = [
        each for each in cluster.faults.requests()[asked:] if each.api not in ("Produce", "InitProducerId")
    ]
    found = Counter((each.api, each.node) for each in of_driver if each.api != "Metadata")
    assert {api for api, _ in found} <= {"ListOffsets", "ApiVersions"}
    assert [found["ListOffsets", node] for node in range(1, NODES + 1)] == [4] * NODES
