"""What a query asks of brokers as its cluster and its topics grow, counted by bench.spark_cluster."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.paper_cluster import PaperCluster
from bench.spark_cluster import costs, next_batch
from tests.waiting import wait_for

from barnabas import Admin, NewTopic, TopicPartition
from barnabas.spark.options import source_options
from barnabas.spark.reading import cluster as views
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.testing import EmbeddedBroker

BROKERS = 4


def test_what_the_driver_asks_grows_with_brokers_and_not_with_partitions_or_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(views, "MANY_PARTITIONS", 100)
    monkeypatch.setattr(views, "PAUSE_BY_SEARCH", 1e9)
    few = costs(workers=4, partitions=400, brokers=BROKERS)
    many = costs(workers=8, partitions=1600, brokers=BROKERS)
    for found in (few, many):
        assert found.start.list_offsets == 3 * BROKERS
        # One connection to ask for metadata, and one to each broker, of an admin client and of a consumer.
        assert found.start.connections <= 2 * (BROKERS + 1)
        assert (found.trigger.list_offsets, found.trigger.metadata, found.trigger.connections) == (
            BROKERS,
            0,
            0,
        )
        assert (found.idle_list_offsets_a_trigger, found.idle_metadata_a_trigger) == (BROKERS, 0)
        assert found.tasks <= found.workers + BROKERS
    assert many.start.metadata == few.start.metadata


def test_what_workers_ask_grows_with_workers_and_not_with_partitions() -> None:
    few = costs(workers=4, partitions=400, brokers=BROKERS)
    more_partitions = costs(workers=4, partitions=1600, brokers=BROKERS)
    more_workers = costs(workers=8, partitions=1600, brokers=BROKERS)
    for found in (few, more_partitions, more_workers):
        # One of each task, and some more on a slow machine, which waits for an answer more than once.
        assert found.tasks <= found.first_batch.fetches < found.partitions / 10
        assert found.first_batch.list_offsets == found.later_batch.list_offsets == 0
        assert 2 <= found.connections_a_worker <= BROKERS + 1
        # All its topics at once, and once more where it has met others.
        assert found.first_batch.metadata <= 2 * found.workers
        assert found.later_batch.connections < found.first_batch.connections


def test_the_cluster_on_paper_is_asked_what_brokers_are_asked() -> None:
    nodes, topics, partitions = 3, 20, 4
    with PaperCluster(nodes, topics, partitions) as paper:
        on_paper = asked_by_driver(paper.bootstrap)
        asked = Counter({api: paper.requests(api) for api in ("Metadata", "ListOffsets")})
    with EmbeddedBroker(nodes=nodes) as broker:
        names = [f"paper-{number}" for number in range(topics)]
        every = [TopicPartition(name, number) for name in names for number in range(partitions)]
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions, 1) for name in names])
            wait_for(lambda: len(admin.list_offsets(dict.fromkeys(every, "latest"))) == len(every))
        before = len(broker.faults.requests())
        assert asked_by_driver(broker.bootstrap) == on_paper == len(every)
        requests = Counter(each.api for each in broker.faults.requests()[before:])
    assert {api: requests[api] for api in asked} == asked


def asked_by_driver(bootstrap: str) -> int:
    """Plans the start of a query and some triggers; gives how many partitions it found."""
    options = {"kafka.bootstrap.servers": bootstrap, "subscribePattern": "paper-.*"}
    reader = KafkaStreamReader(source_options(options | {"startingOffsets": "earliest"}))
    try:
        at = reader.initialOffset()
        for _ in range(4):
            at = next_batch(reader, at)
        return len(reader.connected().leaders)
    finally:
        reader.stop()
