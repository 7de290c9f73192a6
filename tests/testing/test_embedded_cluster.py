"""EmbeddedBroker(nodes=3): a cluster in one process, used by our client and by Kafka's own tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.errors import MisuseError
from barnabas.testing import EmbeddedBroker, SecureListeners, run_kafka_tool

TOPICS = "org.apache.kafka.tools.TopicCommand"
LEADER_ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture(scope="module")
def embedded_cluster() -> Iterator[EmbeddedBroker]:
    """A test leaves all nodes running."""
    with EmbeddedBroker(nodes=3, racks=["a", "b", "c"]) as cluster:
        yield cluster


def tool(cluster: EmbeddedBroker, class_name: str, *arguments: str) -> str:
    result = run_kafka_tool(class_name, "--bootstrap-server", cluster.bootstrap, *arguments, timeout=90)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def create(cluster: EmbeddedBroker, name: str, partitions: int = 3) -> None:
    with Admin(cluster.bootstrap) as admin:
        admin.create_topics([NewTopic(name, partitions, 3)])


def test_a_producer_and_a_group_go_on_while_nodes_go_and_come(
    embedded_cluster: EmbeddedBroker, topic: Callable[[], str], eventually: Any
) -> None:
    name = topic()
    create(embedded_cluster, name)
    found: set[bytes] = set()
    with (
        Producer(embedded_cluster.bootstrap, acks="all") as producer,
        Consumer(
            embedded_cluster.bootstrap, group_id=f"{name}-group", auto_offset_reset="earliest"
        ) as consumer,
    ):
        consumer.subscribe([name])

        def read(count: int) -> None:
            def all_there() -> bool:
                found.update(record.value or b"" for record in consumer.poll(0.2))
                return len(found) >= count

            eventually(all_there)

        for node_id, node in embedded_cluster.nodes.items():
            deliveries = [producer.send(name, b"before %d %d" % (node_id, each)) for each in range(50)]
            node.stop()
            deliveries += [producer.send(name, b"after %d %d" % (node_id, each)) for each in range(50)]
            for delivery in deliveries:
                delivery.result(60)
            read(100 * node_id)
            node.start()
    assert len(found) == 300


def test_javas_tools_describe_elect_and_reassign(
    embedded_cluster: EmbeddedBroker, topic: Callable[[], str], eventually: Any, tmp_path: Path
) -> None:
    name = topic()
    create(embedded_cluster, name, 1)
    described = tool(embedded_cluster, TOPICS, "--describe", "--topic", name)
    assert "ReplicationFactor: 3" in described
    with Admin(embedded_cluster.bootstrap) as admin:

        def partition() -> Any:
            return admin.describe_topics([name])[name].partitions[0]

        first = partition().leader
        embedded_cluster.nodes[first].stop()
        assert partition().leader != first
        assert "Isr: " in tool(embedded_cluster, TOPICS, "--describe", "--under-replicated-partitions")
        embedded_cluster.nodes[first].start()
        eventually(lambda: first in partition().in_sync_replicas)
        elected = tool(
            embedded_cluster,
            LEADER_ELECTION,
            *("--election-type", "preferred", "--topic", name, "--partition", "0"),
        )
        assert "Successfully completed leader election (PREFERRED)" in elected
        assert partition().leader == first
        plan = tmp_path / "plan.json"
        others = [node for node in (1, 2, 3) if node != first]
        wanted = {"topic": name, "partition": 0, "replicas": others}
        plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
        arguments = ("--reassignment-json-file", str(plan))
        tool(embedded_cluster, REASSIGN, *arguments, "--execute")
        eventually(lambda: list(partition().replicas) == others)
        assert "is completed" in tool(embedded_cluster, REASSIGN, *arguments, "--verify")


def test_all_nodes_are_there_after_a_crash_of_the_process(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path, nodes=2) as cluster:
        ports = [node.port for node in cluster.nodes.values()]
        create_two = NewTopic("t", 2, 2)
        with Admin(cluster.bootstrap) as admin:
            admin.create_topics([create_two])
        with Producer(cluster.bootstrap, acks="all") as producer:
            producer.send("t", b"a", partition=0).result(30)
            producer.send("t", b"b", partition=1).result(30)
        cluster.kill()
        cluster.start()
        assert [node.port for node in cluster.nodes.values()] == ports
        assert all(node.is_running and not node.is_paused for node in cluster.nodes.values())
        with Consumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([TopicPartition("t", 0), TopicPartition("t", 1)])
            values: set[bytes | None] = set()
            while len(values) < 2:
                values |= {record.value for record in consumer.poll(10)}
        assert values == {b"a", b"b"}


@pytest.mark.parametrize(("nodes", "racks"), [(0, None), (3, ["a"])])
def test_a_cluster_without_nodes_or_with_racks_for_others_is_refused(
    nodes: int, racks: list[str] | None
) -> None:
    with pytest.raises(MisuseError):
        EmbeddedBroker(nodes=nodes, racks=racks)


def test_a_start_brings_back_the_nodes_that_do_not_run(embedded_cluster: EmbeddedBroker) -> None:
    embedded_cluster.node(2).kill()
    embedded_cluster.node(3).stop()
    with Admin(embedded_cluster.bootstrap) as admin:
        embedded_cluster.start()
        embedded_cluster.wait_until_whole()
        assert [node.node_id for node in admin.describe_cluster().nodes] == [1, 2, 3]
        assert [voter.replica_id for voter in admin.describe_metadata_quorum().voters] == [1, 2, 3]


def test_each_node_of_a_cluster_has_all_secure_listeners_and_tells_clients_of_theirs() -> None:
    with EmbeddedBroker(nodes=3, storage="memory", security=SecureListeners()) as cluster:
        encrypted = {
            "security_protocol": "SASL_SSL",
            "ssl_truststore_location": str(cluster.certificates.ca),
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_username": "admin",
            "sasl_password": "admin-secret",
        }
        open_login = encrypted | {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
        for listener, settings in (("SASL_SSL", encrypted), ("SASL_PLAINTEXT", open_login)):
            bootstrap = cluster.bootstrap_for(listener)
            with Admin(bootstrap, **settings) as admin:
                told = {f"{node.host}:{node.port}" for node in admin.describe_cluster().nodes}
            assert told == {*bootstrap.split(",")}
            assert len(told) == 3
        with Producer(cluster.bootstrap_for("SASL_SSL").split(",")[2], acks="all", **encrypted) as producer:
            for number in range(9):
                producer.send("spread", b"%d" % number).result(timeout=30)
        cluster.nodes[1].stop()
        with Producer(cluster.bootstrap_for("SASL_SSL"), acks="all", **encrypted) as producer:
            producer.send("spread", b"more").result(timeout=30)
