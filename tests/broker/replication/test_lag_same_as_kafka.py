"""A follower that is silent for longer than replica.lag.time.max.ms, and is held to be alive: three brokers
of Apache Kafka and three nodes of the embedded broker are asked the same, and answer alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping

import pytest
from tests.broker.conftest import batch_of, values
from tests.broker.in_process import produce_request
from tests.waiting import wait_for_async

from barnabas.broker_errors import ErrorCode
from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker

Cluster = ApacheKafkaCluster | EmbeddedBroker

# Long enough for a busy machine, and far shorter than a session.
CONFIG = {"replica.lag.time.max.ms": "2000", "broker.session.timeout.ms": "600000"}
LATEST = -1
TIMEOUT_MS = 60_000


class Asker:
    """Asks the node that leads partition 0 of the topic. `follower` may be harmed, as it is not the
    controller."""

    def __init__(self, cluster: Cluster, connection: Connection, topic: str, replicas: list[int]) -> None:
        self.cluster = cluster
        self.topic = topic
        self.connection = connection
        self.replicas = replicas
        self.follower = cluster.node(replicas[-1])

    async def create(self, settings: Mapping[str, str]) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            self.topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreateTopicsRequest.CreatableReplicaAssignment(0, self.replicas)],
            configs=[CreateTopicsRequest.CreatableTopicConfig(*each) for each in settings.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        answer = await self.connection.submit(request, timeout_ms=TIMEOUT_MS)
        assert answer.topics[0].error_code == 0, answer.topics[0].error_message
        await self.until_in_sync(self.replicas)
        await wait_for_async(self.is_led)

    async def is_led(self) -> bool:
        """Kafka's metadata name the leader of a new topic before that node knows that it is."""
        partition = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=LATEST)
        topic = ListOffsetsRequest.ListOffsetsTopic(self.topic, [partition])
        answer = await self.connection.submit(ListOffsetsRequest(-1, topics=[topic]), timeout_ms=TIMEOUT_MS)
        return answer.topics[0].partitions[0].error_code == 0

    async def in_sync(self) -> list[int]:
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=self.topic)])
        answer = await self.connection.submit(request, timeout_ms=TIMEOUT_MS)
        partitions = answer.topics[0].partitions
        if not partitions or partitions[0].leader_id != self.replicas[0]:
            return []
        return [node for node in self.replicas if node in partitions[0].isr_nodes]

    async def until_in_sync(self, nodes: list[int]) -> None:
        """Kafka's metadata tell of it later than its leader acts on it."""

        async def is_so() -> bool:
            return await self.in_sync() == nodes

        await wait_for_async(is_so)

    async def produce(self, text: str, *, acks: int = -1, timeout_ms: int = TIMEOUT_MS) -> str:
        request = produce_request(self.topic, batch_of(values(text)), acks=acks)
        request.timeout_ms = timeout_ms
        answer = await self.connection.submit(request, timeout_ms=2 * TIMEOUT_MS, max_version=12)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code).name


@pytest.fixture(scope="module")
def apache() -> Iterator[ApacheKafkaCluster]:
    with ApacheKafkaCluster(config=CONFIG) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(nodes=3, config=CONFIG) as cluster:
        yield cluster


@pytest.fixture(params=["apache", "embedded"])
def lagging(request: pytest.FixtureRequest) -> Cluster:
    return request.getfixturevalue(request.param)


async def _connect(cluster: Cluster, node_id: int) -> Connection:
    host, port = cluster.node(node_id).bootstrap.split(":")
    return await Connection.open(host, int(port), client_id="lag")


async def _controller(cluster: Cluster) -> int:
    partition = DescribeQuorumRequest.PartitionData(0)
    request = DescribeQuorumRequest([DescribeQuorumRequest.TopicData("__cluster_metadata", [partition])])
    connection = await _connect(cluster, 1)
    answer = await connection.submit(request, timeout_ms=TIMEOUT_MS)
    connection.close()
    return answer.topics[0].partitions[0].leader_id


def ask(cluster: Cluster, topic: str, scenario: Callable[[Asker], Awaitable[None]]) -> None:
    async def main() -> None:
        controller = await _controller(cluster)
        leader, follower = (node for node in (1, 2, 3) if node != controller)
        asker = Asker(cluster, await _connect(cluster, leader), topic, [leader, controller, follower])
        try:
            await scenario(asker)
        finally:
            asker.connection.close()
            asker.follower.resume()

    asyncio.run(main())


def test_a_silent_follower_leaves_those_in_sync_and_acks_all_goes_on_without_it(
    lagging: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        await asker.create({"min.insync.replicas": "2"})
        assert await asker.produce("a") == "NONE"
        asker.follower.pause()
        assert await asker.produce("b") == "NONE"
        await asker.until_in_sync(asker.replicas[:2])
        asker.follower.resume()
        await asker.until_in_sync(asker.replicas)

    ask(lagging, topic(), scenario)


def test_with_too_few_in_sync_what_waits_times_out_and_what_comes_is_refused(
    lagging: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        await asker.create({"min.insync.replicas": "3"})
        asker.follower.pause()
        # Which ends long after the follower has left.
        assert await asker.produce("a", timeout_ms=10_000) == "REQUEST_TIMED_OUT"
        await asker.until_in_sync(asker.replicas[:2])
        assert await asker.produce("b") == "NOT_ENOUGH_REPLICAS"
        assert await asker.produce("c", acks=1) == "NONE"
        asker.follower.resume()
        await asker.until_in_sync(asker.replicas)
        assert await asker.produce("d") == "NONE"

    ask(lagging, topic(), scenario)


def test_a_silent_follower_that_lacks_nothing_stays_in_sync(
    lagging: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        await asker.create({})
        other = Asker(lagging, asker.connection, f"{asker.topic}-idle", asker.replicas)
        await other.create({})
        assert await other.produce("a") == "NONE"
        asker.follower.pause()
        assert await asker.produce("a") == "NONE"
        await asker.until_in_sync(asker.replicas[:2])
        assert await other.in_sync() == asker.replicas

    ask(lagging, topic(), scenario)
