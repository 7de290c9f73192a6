"""Reassignments, elections, log directories and brokers to forget, in a cluster of one: Apache Kafka and the
embedded broker are asked the same, and answer alike."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.net.connection import Connection
from barnabas.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker, run_kafka_tool

Kafka = ApacheKafka | EmbeddedBroker
Partitions = list[tuple[int, list[int] | None]]

LEADER_ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def ask_both(
    kafka: ApacheKafka, embedded: EmbeddedBroker, make_topic: Callable[..., str], *requests: tuple[Any, int]
) -> list[list[str]]:
    """What both answer, in Kafka's words. The topic `t` of a request is one of two partitions, and `LOGS` the
    folder that each has its logs in."""
    return [asyncio.run(_ask(broker, make_topic(broker, 2), requests)) for broker in (kafka, embedded)]


async def _ask(broker: Kafka, topic: str, requests: tuple[tuple[Any, int], ...]) -> list[str]:
    host, port = broker.bootstrap.split(":")
    connection = await Connection.open(host, int(port), client_id="replicas")
    try:
        logs = (await connection.submit(DescribeLogDirsRequest(), timeout_ms=30_000)).results[0].log_dir
        answers: list[str] = []
        for request, version in requests:
            _rename(request, {"t": topic, "LOGS": logs})
            answer = await connection.submit(request, timeout_ms=30_000, max_version=version)
            _rename(request, {topic: "t", logs: "LOGS"})
            if isinstance(request, AlterReplicaLogDirsRequest):
                _sort(answer)
            answers.append(str(answer).replace(topic, "t"))
        return answers
    finally:
        connection.close()


def _sort(answer: AlterReplicaLogDirsResponse) -> None:
    """Kafka's are in the order of a hash."""
    answer.results.sort(key=lambda result: result.topic_name)
    for result in answer.results:
        result.partitions.sort(key=lambda partition: partition.partition_index)


def _rename(message: Any, names: dict[str, str]) -> None:
    for field in ("name", "topic", "path"):
        if (value := getattr(message, field, None)) in names:
            setattr(message, field, names[value])
    for field in ("topics", "topic_partitions", "dirs"):
        for part in getattr(message, field, None) or ():
            _rename(part, names)


def reassignment(
    *topics: tuple[str, Partitions], may_change: bool = True
) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change,
        topics=[
            AlterPartitionReassignmentsRequest.ReassignableTopic(
                name,
                [AlterPartitionReassignmentsRequest.ReassignablePartition(*asked) for asked in partitions],
            )
            for name, partitions in topics
        ],
    )


ASKED_PARTITIONS: list[Partitions] = [
    [(0, [1])],
    [(0, None)],
    [(0, [2])],
    [(0, [1, 2])],
    [(0, [2, 1])],
    [(0, [])],
    [(0, [1, 1])],
    [(0, [-1])],
    [(5, [1])],
    [(5, None)],
    [(0, [1]), (0, [2]), (1, None)],
    [],
]


@pytest.mark.parametrize("version", [0, 1])
def test_reassignments_are_judged_as_kafka_judges_them(
    version: int, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    requests: list[tuple[Any, int]] = [
        (reassignment((name, partitions), may_change=may_change), version)
        for name in ("t", "nope")
        for partitions in ASKED_PARTITIONS
        for may_change in ((True, False) if version else (True,))
    ]
    requests += [(reassignment(("t", [(0, [1])]), ("t", [(1, [1])])), version), (reassignment(), version)]
    kafka, embedded = ask_both(apache_kafka, embedded_broker, make_topic, *requests)
    assert embedded == kafka


def test_no_reassignment_is_under_way(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    asked: list[Any] = [None, [], [topic("t", [0, 1])], [topic("t", [7])], [topic("nope", [0])]]
    requests = [(ListPartitionReassignmentsRequest(topics=topics), 0) for topics in asked]
    kafka, embedded = ask_both(apache_kafka, embedded_broker, make_topic, *requests)
    assert embedded == kafka


@pytest.mark.parametrize("version", [0, 1, 2])
def test_elections_are_judged_as_kafka_judges_them(
    version: int, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = ElectLeadersRequest.TopicPartitions
    asked = [
        [],
        [topic("t", [0, 1])],
        [topic("t", [0, 7, -1])],
        [topic("nope", [0])],
        [topic("t", [])],
        [topic("t", [0, 0])],
        [topic("t", [0]), topic("t", [1])],
    ]
    requests = [
        (ElectLeadersRequest(kind, topics), version)
        for kind in ((0, 1, 7) if version else (0,))
        for topics in asked
    ]
    kafka, embedded = ask_both(apache_kafka, embedded_broker, make_topic, *requests)
    assert embedded == kafka


@pytest.mark.parametrize("kind", [0, 1, 7])
def test_an_election_of_all_leaders_tells_of_those_that_were_elected(kind: int, broker: Kafka) -> None:
    (answer,) = asyncio.run(_ask(broker, uuid.uuid4().hex, ((ElectLeadersRequest(kind, None), 2),)))
    assert "PartitionResult(" not in answer
    assert f"error_code={42 if kind == 7 else 0}" in answer


@pytest.mark.parametrize("version", [1, 2])
def test_replicas_can_only_stay_in_their_folder(
    version: int, apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic
    folder = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    asked = [
        [],
        [folder("LOGS", [topic("t", [0, 1])])],
        [folder("LOGS", [topic("t", [7])])],
        [folder("LOGS", [topic("nope", [0])])],
        [folder("/nowhere", [topic("t", [0]), topic("nope", [1])])],
        [folder("relative", [topic("t", [0])])],
        [folder("LOGS", [topic("t", [0])]), folder("/nowhere", [topic("t", [1])])],
        [folder("LOGS", [topic("t", [0])]), folder("/nowhere", [topic("t", [0])])],
    ]
    requests = [(AlterReplicaLogDirsRequest(dirs), version) for dirs in asked]
    kafka, embedded = ask_both(apache_kafka, embedded_broker, make_topic, *requests)
    assert embedded == kafka


def test_brokers_that_are_not_there_cannot_be_unregistered(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    requests = [(UnregisterBrokerRequest(node), 0) for node in (7, 0, -1)]
    kafka, embedded = ask_both(apache_kafka, embedded_broker, make_topic, *requests)
    assert embedded == kafka


def test_javas_tools_elect_leaders_and_list_reassignments(
    embedded_broker: EmbeddedBroker, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(embedded_broker)
    server = ("--bootstrap-server", embedded_broker.bootstrap)
    elected = run_kafka_tool(
        LEADER_ELECTION, *server, "--election-type", "preferred", "--topic", topic, "--partition", "0"
    )
    assert f"Valid replica already elected for partitions {topic}-0" in elected.stdout, elected.stderr
    listed = run_kafka_tool(REASSIGN, *server, "--list")
    assert listed.stdout.strip() == "No partition reassignments found.", listed.stderr
