"""Faults before a real Apache Kafka, and the proxy itself: what goes through it is what the cluster says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from tests.share_groups import begin_at_the_first_record

from barnabas import Admin, Consumer, NewTopic, Producer, ShareConsumer, TopicPartition
from barnabas.errors import InvalidSettingError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.testing import (
    ApacheKafka,
    ApacheKafkaCluster,
    EmbeddedBroker,
    FaultControlError,
    KafkaProxy,
    run_kafka_tool,
)


@pytest.fixture(scope="module")
def proxied(broker: ApacheKafka | EmbeddedBroker) -> Iterator[KafkaProxy]:
    with KafkaProxy(broker.bootstrap) as proxy:
        yield proxy


@pytest.fixture
def proxy(proxied: KafkaProxy) -> Iterator[KafkaProxy]:
    proxied.faults.clear()
    yield proxied
    proxied.faults.clear()


def test_a_producer_and_a_group_go_through_it_and_meet_its_faults(
    proxy: KafkaProxy, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(proxy, 2)
    fault = proxy.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic, partition=1, times=2)
    lost = proxy.faults.disconnect("Produce", times=1, after=4, stage="after")
    with Producer(proxy.bootstrap, retry_backoff_ms=10) as producer:
        for number in range(20):
            producer.send(topic, str(number).encode(), partition=number % 2).result(60)
    assert (fault.hits, lost.hits) == (2, 1)
    with Consumer(proxy.bootstrap, group_id=f"g-{topic}", auto_offset_reset="earliest") as consumer:
        consumer.subscribe([topic])
        found: list[bytes | None] = []
        while len(found) < 20:
            found += [record.value for record in consumer.poll(30)]
    assert sorted(found) == sorted(str(number).encode() for number in range(20))
    assert {each.groups for each in proxy.faults.requests("OffsetCommit")} == {(f"g-{topic}",)}


def test_a_transaction_goes_through_it(proxy: KafkaProxy, make_topic: Callable[..., str]) -> None:
    topic = make_topic(proxy)
    proxy.faults.error("EndTxn", "CONCURRENT_TRANSACTIONS", times=2)
    producer = confluent_kafka.Producer({"bootstrap.servers": proxy.bootstrap, "transactional.id": topic})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"a")
    producer.commit_transaction(60)
    asked = proxy.faults.requests(transactional_id=topic)
    assert {"InitProducerId", "EndTxn", "FindCoordinator"} <= {each.api for each in asked}
    with Consumer(
        proxy.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        assert [record.value for record in consumer.poll(30)] == [b"a"]


def test_a_share_group_goes_through_it(
    apache_kafka: ApacheKafka, make_topic: Callable[..., str], eventually: Callable[..., Any]
) -> None:
    with KafkaProxy(apache_kafka.bootstrap) as proxy:
        topic = make_topic(proxy)
        group = f"g-{topic}"
        # So long are records lent to nobody whose answers the faults replace. It is the shortest by default.
        begin_at_the_first_record(proxy.bootstrap, group, share_record_lock_duration_ms="15000")
        with Producer(proxy.bootstrap) as producer:
            producer.send(topic, b"a").result(60)
        fault = proxy.faults.error("ShareFetch", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2)
        with ShareConsumer(proxy.bootstrap, group_id=group, topics=[topic]) as consumer:
            assert eventually(lambda: [record.value for record in consumer.poll(0.5)]) == [b"a"]
        assert fault.hits == 2
        assert {topic: (0,)} in [each.partitions for each in proxy.faults.requests("ShareFetch", group=group)]


def test_the_tools_of_kafka_go_through_it(proxy: KafkaProxy, make_topic: Callable[..., str]) -> None:
    topic = make_topic(proxy)
    fault = proxy.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2)
    run_kafka_tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *("--bootstrap-server", proxy.bootstrap, "--topic", topic),
        input="a\nb\n",
    )
    read = run_kafka_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", proxy.bootstrap, "--topic", topic, "--from-beginning"),
        *("--max-messages", "2", "--timeout-ms", "30000"),
    )
    assert (fault.hits, read.stdout.split()) == (2, ["a", "b"])


async def answers(bootstrap: str, *requests: Any) -> list[Any]:
    host, port = bootstrap.split(":")
    connection = await Connection.open(host, int(port), client_id="test")
    try:
        return [
            connection.versions,
            *[await connection.submit(request, timeout_ms=60_000) for request in requests],
        ]
    finally:
        connection.close()


def test_answers_are_those_of_the_cluster_but_for_addresses(
    broker: ApacheKafka | EmbeddedBroker, proxy: KafkaProxy, make_topic: Callable[..., str]
) -> None:
    """On purpose: the addresses are the proxy's, and SaslHandshake is not offered in version 0."""
    topic = make_topic(broker)
    requests = [
        MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)]),
        DescribeClusterRequest(),
        FindCoordinatorRequest(coordinator_keys=["some group"]),
    ]
    direct = asyncio.run(answers(broker.bootstrap, *requests))
    through = asyncio.run(answers(proxy.bootstrap, *requests))
    host, port = proxy.bootstrap.split(":")
    for named in (*through[1].brokers, *through[2].brokers, *through[3].coordinators):
        assert (named.host, named.port) == (host, int(port))
    for said in (direct, through):
        for named in (*said[1].brokers, *said[2].brokers, *said[3].coordinators):
            named.host, named.port = "a host", 1
    assert through[1:] == direct[1:]
    sasl_handshake = {17: (1, 1)}
    assert {**through[0], **sasl_handshake} == {**direct[0], **sasl_handshake}


def test_each_node_of_a_cluster_has_an_address_and_faults_of_its_own(
    apache_cluster: ApacheKafkaCluster, eventually: Callable[..., Any]
) -> None:
    with KafkaProxy(apache_cluster.bootstrap.split(",")[0]) as proxy:
        with Admin(proxy.bootstrap) as admin:
            described = admin.describe_cluster()
            ports = {node.port for node in described.nodes}
            assert len(ports) == len(apache_cluster.nodes)
            assert ports.isdisjoint(node.port for node in apache_cluster.nodes)
        # Not the one that the clients begin with.
        down = next(node.node_id for node in described.nodes if str(node.port) not in proxy.bootstrap)
        fault = proxy.faults.disconnect(None, node=down)
        topic = "through-proxy"
        with Admin(proxy.bootstrap) as admin:
            admin.create_topics([NewTopic(topic, 6, 3)])
        with Producer(proxy.bootstrap, retry_backoff_ms=10) as producer:
            sent = [producer.send(topic, b"a", partition=partition) for partition in range(6)]
            eventually(lambda: fault.hits)
            fault.remove()
            assert [each.result(60).offset for each in sent] == [0] * 6
        nodes = {each.node for each in proxy.faults.requests("Produce")}
        assert nodes == {node.node_id for node in described.nodes}


def test_what_only_a_broker_of_our_own_can_do_is_said(proxy: KafkaProxy) -> None:
    with pytest.raises(FaultControlError, match="this is a proxy"):
        proxy.faults.disk_full()


def test_nobody_behind_it_is_an_error_at_once() -> None:
    with pytest.raises(InvalidSettingError, match="no broker"):
        KafkaProxy("127.0.0.1:1").start()
    with pytest.raises(InvalidSettingError, match="upstream"):
        KafkaProxy("9092").start()
