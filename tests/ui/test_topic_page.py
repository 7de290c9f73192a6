"""A topic's page beside a registry, and in a cluster where something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from barnabas import Admin, NewTopic, Registry
from barnabas.http.server import Page, PageServer
from barnabas.registry import Schema
from barnabas.spark.queries.progress import BatchProgress, PartitionProgress, SourceProgress
from barnabas.spark.queries.query_figures import Queries
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry
from barnabas.types import PartitionInfo, TopicPartition
from barnabas.ui.figures import partition_marks

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]


@pytest.mark.parametrize(
    ("in_sync", "min_in_sync", "expected"),
    [
        ((1, 2, 3), 3, ()),
        ((1, 2), 1, ("under-replicated",)),
        ((1, 2), 2, ("at min ISR", "under-replicated")),
        ((1,), 2, ("under min ISR", "under-replicated")),
        ((1, 2), 0, ("under-replicated",)),
    ],
)
def test_a_partition_is_marked_by_its_replicas(
    in_sync: tuple[int, ...], min_in_sync: int, expected: tuple[str, ...]
) -> None:
    info = PartitionInfo("flights", 0, 1, 0, (1, 2, 3), in_sync)
    assert partition_marks(info, min_in_sync) == expected


def test_a_partition_without_leader_is_marked_first() -> None:
    info = PartitionInfo("flights", 0, -1, 0, (1, 2), (1,), offline_replicas=(1, 2))
    assert partition_marks(info, 0) == ("no leader", "offline replicas", "under-replicated")


def test_topics_with_problems_are_filtered_and_their_partitions_marked(
    open_page: OpenPage, eventually: Callable[[Callable[[], bool]], bool]
) -> None:
    with EmbeddedBroker(nodes=3) as cluster:
        with Admin(cluster.bootstrap) as admin:
            admin.create_topics([NewTopic("whole", replica_assignments={0: [1]})])
            admin.create_topics(
                [
                    NewTopic(
                        "lacking",
                        replica_assignments={0: [1, 2], 1: [1, 3]},
                        configs={"min.insync.replicas": "1"},
                    )
                ]
            )
            cluster.node(2).stop()
            eventually(
                lambda: len(admin.describe_topics(["lacking"])["lacking"].partitions[0].in_sync_replicas) == 1
            )
        page = open_page(cluster)
        text = page.get("/topics", params={"problems": "1"}).text
        assert "/topics/lacking" in text
        assert "/topics/whole" not in text
        text = page.get("/topics/lacking").text
        assert "1 at min ISR" in text
        assert "1 under-replicated" in text
        assert "partition=1" in text
        assert "partition=1" not in page.get("/topics/lacking", params={"problems": "1"}).text


def test_subjects_that_are_named_after_a_topic_are_linked(open_page: OpenPage, written: Written) -> None:
    topic = written()
    with EmbeddedRegistry() as registry:
        with Registry(registry.url) as client:
            client.register(f"{topic}-value", Schema('"string"'))
            client.register(f"{topic}-values", Schema('"string"'))
        text = open_page(registry=registry.url).get(f"/topics/{topic}/schemas").text
    assert f'/schema?subject={topic}-value"' in text
    assert f"{topic}-values" not in text
    assert f"subject={topic}-key" not in text


def test_a_topic_is_shown_while_the_registry_is_away(open_page: OpenPage, written: Written) -> None:
    topic = written()
    page = open_page(registry="http://127.0.0.1:9", registry_settings={"retries": 0})
    assert page.get(f"/topics/{topic}").status_code == 200
    answer = page.get(f"/topics/{topic}/schemas")
    assert answer.status_code == 200
    assert "127.0.0.1:9" in answer.text


def test_streaming_queries_that_read_a_topic_are_linked(
    open_page: OpenPage, written: Written, eventually: Callable[[Callable[[], bool]], bool]
) -> None:
    topic, other = written("a", "b", "c"), written("a")
    queries = Queries()
    queries.started("id-1", "run-1", "<b>delays</b>")
    position = {TopicPartition(topic, 0): PartitionProgress(1, 1, 1)}
    batch = BatchProgress(7, "2026-01-31T12:00:00.000Z", 1.0, (SourceProgress(0, 1, position),))
    queries.progressed("id-1", "run-1", batch, {})
    status = Page("application/json", lambda: json.dumps({"queries": queries.status()}).encode())
    server = PageServer("127.0.0.1", 0, {"/status": status})
    try:
        page = open_page(listener=server.url)
        eventually(lambda: "/query?id=id-1" in page.get(f"/topics/{topic}").text)
        text = page.get(f"/topics/{topic}").text
        assert "&lt;b&gt;delays&lt;/b&gt;</a>" in text
        assert '<td class="n lag">2</td>' in text
        assert "/query?id=id-1" not in page.get(f"/topics/{other}").text
    finally:
        server.close()
