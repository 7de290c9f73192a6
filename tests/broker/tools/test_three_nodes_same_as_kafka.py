"""Apache Kafka's own tools on three nodes: partitions moved, moves cancelled, and what each node tells."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import wait_for

from barnabas import Admin, Producer, ResourceType
from barnabas.net.connection import Connection
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker

from .java import CONFIG, OF_TEST_KAFKA, Java, Step, first_difference

Cluster = ApacheKafkaCluster | EmbeddedBroker
Move = tuple[str, int, list[int]]
THROTTLED = "follower.replication.throttled.replicas"
BYTES = 100_000
"""A record's. Kafka's throttle lets through a mebibyte before it holds."""


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Cluster, Cluster]]:
    with (
        ApacheKafkaCluster(config=CONFIG) as kafka,
        EmbeddedBroker(nodes=3, config=CONFIG | OF_TEST_KAFKA) as embedded,
    ):
        yield kafka, embedded


class Plans:
    """Files of JSON for the tool, and its words for each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def plan(self, *moves: Move) -> str:
        partitions = [{"topic": name, "partition": index, "replicas": to} for name, index, to in moves]
        return self._written("--reassignment-json-file", {"version": 1, "partitions": partitions})

    def topics(self, *names: str) -> str:
        topics = [{"topic": name} for name in names]
        return self._written("--topics-to-move-json-file", {"version": 1, "topics": topics})

    def _written(self, option: str, content: object) -> str:
        path = self._directory / f"{len(list(self._directory.iterdir()))}.json"
        path.write_text(json.dumps(content))
        return f"{option} {path}"


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    return Plans(tmp_path)


def until_all_know(name: str, *replicas: list[int], throttled: bool = False) -> Step:
    """Until each node knows where the topic's partitions are, no more and no fewer, and whether their moves
    are throttled. Tools change one or the other last."""

    async def known(cluster: Cluster, node: int) -> tuple[list[list[int]], bool]:
        host, port = cluster.node(node).bootstrap.split(":")
        connection = await Connection.open(host, int(port), client_id="knows")
        asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
        (topic,) = (await connection.submit(asked, timeout_ms=30_000)).topics
        of_topic = DescribeConfigsRequest.DescribeConfigsResource(ResourceType.TOPIC, name, [THROTTLED])
        settings = await connection.submit(DescribeConfigsRequest([of_topic]), timeout_ms=30_000)
        connection.close()
        partitions = [partition.replica_nodes for partition in topic.partitions]
        return partitions, any(config.value for config in settings.results[0].configs)

    def wait(cluster: Cluster) -> None:
        for node in (1, 2, 3):
            wait_for(lambda node=node: asyncio.run(known(cluster, node)) == ([*replicas], throttled))

    return wait


def until_nothing_moves(cluster: Cluster) -> None:
    with Admin(cluster.bootstrap) as admin:
        wait_for(lambda: not admin.list_partition_reassignments())


def test_plans_are_proposed_carried_out_and_refused_as_on_kafka(
    java: Java, both: tuple[Cluster, Cluster], plans: Plans
) -> None:
    run = "reassign-partitions --execute"
    to_move = plans.topics("one")
    move = plans.plan(("three", 0, [3, 2]), ("three", 1, [1, 3]))
    grow = plans.plan(("one", 0, [1, 2, 3]))
    shrink = plans.plan(("one", 0, [1]))
    steps: list[Step] = [
        "topics --create --topic three --replica-assignment 1:2,2:3",
        "topics --create --topic one --replica-assignment 1",
        until_all_know("one", [1]),
        f"reassign-partitions --generate {to_move} --broker-list 3",
        f"reassign-partitions --generate {to_move} --broker-list 2 --disable-rack-aware",
        f"reassign-partitions --generate {to_move} --broker-list 3,3",
        f"{run} {move}",
        until_all_know("three", [3, 2], [1, 3]),
        until_nothing_moves,
        f"reassign-partitions --verify {move}",
        "topics --describe --topic three",
        f"reassign-partitions --cancel {move}",
        f"reassign-partitions --verify {grow}",
        f"{run} {grow} --throttle 1000000",
        until_all_know("one", [1, 2, 3], throttled=True),
        until_nothing_moves,
        "configs --describe --broker 1",
        f"reassign-partitions --verify {grow} --preserve-throttles",
        "configs --describe --broker 1",
        f"reassign-partitions --verify {grow}",
        until_all_know("one", [1, 2, 3]),
        "configs --describe --broker 1",
        "configs --describe --topic one",
        "topics --describe --topic one",
        f"{run} {shrink} --disallow-replication-factor-change",
        f"{run} {plans.plan(('nowhere', 0, [1]))}",
        f"{run} {plans.plan(('three', 9, [1]))}",
        f"{run} {plans.plan(('three', 0, [7]))}",
        f"{run} {plans.plan(('three', 0, [1, 1]))}",
        f"{run} {plans.plan(('three', 0, [1]), ('three', 0, [2]))}",
        f"{run} {plans.plan()}",
        f"reassign-partitions --verify {plans.plan(('nowhere', 0, [1]))}",
    ]
    assert first_difference(both, java, steps) == ""


def test_a_move_that_is_under_way_is_told_changed_and_cancelled_as_on_kafka(
    java: Java, both: tuple[Cluster, Cluster], plans: Plans
) -> None:
    def fill(cluster: Cluster) -> None:
        """Also has the third node take its time: that of Kafka does by its throttle."""
        with Producer(cluster.bootstrap) as producer:
            for _ in range(100):
                producer.send("big", bytes(BYTES))
        if isinstance(cluster, EmbeddedBroker):
            cluster.node(3).lag()

    def go_on(cluster: Cluster) -> None:
        if isinstance(cluster, EmbeddedBroker):
            cluster.node(3).catch_up()

    run = "reassign-partitions --execute"
    move = plans.plan(("big", 0, [2, 3]))
    other = plans.plan(("big", 0, [3, 2]))
    back = plans.plan(("big", 0, [1, 2]), ("small", 0, [1]))
    shown = (
        "reassign-partitions --list",
        "topics --describe --topic big",
        "configs --describe --topic big",
        "configs --describe --broker 3",
    )
    steps: list[Step] = [
        "topics --create --topic big --replica-assignment 1:2",
        "topics --create --topic small --replica-assignment 1",
        until_all_know("small", [1]),
        fill,
        f"{run} {move} --throttle 1",
        until_all_know("big", [2, 3, 1], throttled=True),
        *shown,
        "topics --describe --under-replicated-partitions",
        f"reassign-partitions --verify {move}",
        f"{run} {other} --throttle 1",
        f"{run} {other} --throttle 1 --additional",
        until_all_know("big", [3, 2, 1], throttled=True),
        *shown,
        f"reassign-partitions --cancel {back}",
        until_all_know("big", [2, 1]),
        *shown,
        f"reassign-partitions --cancel {back}",
        f"{run} {move} --throttle 1",
        f"reassign-partitions --cancel {move} --preserve-throttles",
        until_all_know("big", [2, 1], throttled=True),
        *shown,
        f"{run} {move} --throttle 1",
        f"{run} {move} --throttle 100000000 --additional",
        go_on,
        until_all_know("big", [2, 3], throttled=True),
        f"reassign-partitions --verify {move}",
        until_all_know("big", [2, 3]),
        *shown,
        f"reassign-partitions --verify {back}",
    ]
    assert first_difference(both, java, steps) == ""


def test_any_replica_tells_of_producers_and_the_cluster_of_its_nodes_as_on_kafka(
    java: Java, both: tuple[Cluster, Cluster]
) -> None:
    def produce(cluster: Cluster) -> None:
        with Producer(cluster.bootstrap) as producer:
            producer.send("told", b"a", partition=0).result(30)

    steps: list[Step] = [
        "topics --create --topic told --replica-assignment 1:2,2:3",
        until_all_know("told", [1, 2], [2, 3]),
        produce,
        "transactions describe-producers --topic told --partition 0 --broker-id 3",
        "transactions find-hanging --broker-id 1",
        "transactions find-hanging --broker-id 3",
        "log-dirs --describe --topic-list told,nowhere",
        "log-dirs --describe --topic-list told --broker-list 2",
        "log-dirs --describe --broker-list 7",
        "leader-election --election-type preferred --all-topic-partitions",
        "leader-election --election-type unclean --topic told --partition 0",
        "topics --describe --at-min-isr-partitions",
        "topics --describe --under-min-isr-partitions",
        "cluster list-endpoints",
        "cluster unregister --id 7",
    ]
    assert first_difference(both, java, steps) == ""

    def told_by(cluster: Cluster, node: int) -> tuple[str, list[str]]:
        command = f"transactions describe-producers --topic told --partition 0 --broker-id {node}"
        return java.run(cluster.bootstrap, command)

    for cluster in both:
        status, lines = told_by(cluster, 1)
        assert (status, len(lines)) == ("0", 2)
        assert told_by(cluster, 2) == (status, lines)
