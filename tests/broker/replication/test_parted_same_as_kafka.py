"""A node that is parted from the others, and whom its clients still reach: three brokers of Apache Kafka and
three nodes of the embedded broker are asked the same, and answer alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.broker.conftest import batch_of, values
from tests.broker.in_process import fetch_request, produce_request
from tests.waiting import wait_for_async

from barnabas import _kernel
from barnabas.broker_errors import ErrorCode
from barnabas.net.connection import Connection
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.fetch import FetchResponse
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from barnabas.protocol.messages.produce import ProduceResponse
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
from barnabas.testing import EmbeddedBroker

from .parted_kafka import GatedKafka

TIMEOUT_MS = 60_000
SESSION = {"broker.session.timeout.ms": "3000"}
"""What `ApacheKafkaCluster` has."""
CONSUMER = -1
LATEST = -1
PREFERRED = 0
ELIGIBLE_LEADERS = "eligible.leader.replicas.version"
UPGRADE, SAFE_DOWNGRADE = 1, 2


class PartedNodes(EmbeddedBroker):
    """Three nodes of the embedded broker."""

    def __init__(self) -> None:
        super().__init__(nodes=3, config=SESSION)

    def part(self, node: int) -> None:
        self.node(node).part()

    def join(self, node: int) -> None:
        self.node(node).join()


Cluster = GatedKafka | PartedNodes


class Asker:
    """Asks nodes about partition 0 of the topic. `parted` is neither the controller nor, where another is to
    lead, the first replica; `others` are the two that are not parted."""

    def __init__(self, cluster: Cluster, topic: str, parted: int, others: list[int]) -> None:
        self.cluster = cluster
        self.topic = topic
        self.parted = parted
        self.others = others
        self._connections: dict[int, Connection] = {}

    async def ask(self, node: int, request: Any, version: int | None = None) -> Any:
        if node not in self._connections:
            host, port = self.cluster.node(node).bootstrap.split(":")
            self._connections[node] = await Connection.open(host, int(port), client_id="asker")
        return await self._connections[node].submit(request, timeout_ms=TIMEOUT_MS, max_version=version)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    async def create(self, replicas: list[int], **settings: str) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            self.topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreateTopicsRequest.CreatableReplicaAssignment(0, replicas)],
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name.replace("_", "."), value)
                for name, value in settings.items()
            ],
        )
        answer = await self.ask(replicas[0], CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        assert answer.topics[0].error_code == 0, answer.topics[0].error_message
        for node in replicas:
            await self.until_known(node, leader=replicas[0], in_sync=replicas)
        await self.until_leads(replicas[0], 0)

    async def known(self, node: int) -> MetadataResponse:
        return await self.ask(
            node, MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=self.topic)])
        )

    async def until_known(self, node: int, *, leader: int, in_sync: list[int]) -> None:
        async def is_so() -> bool:
            partitions = (await self.known(node)).topics[0].partitions
            return [(each.leader_id, sorted(each.isr_nodes)) for each in partitions] == [
                (leader, sorted(in_sync))
            ]

        await wait_for_async(is_so)

    async def until_leads(self, node: int, leader_epoch: int) -> None:
        """Kafka's metadata may tell of a leader before it leads."""

        async def is_so() -> bool:
            return (await self.fetch(node, leader_epoch)).error_code == 0

        await wait_for_async(is_so)

    async def until_elected(self) -> int:
        """The leader among the others."""
        leaders: list[int] = []

        async def is_elected() -> bool:
            leaders.clear()
            for node in self.others:
                partition = (await self.known(node)).topics[0].partitions[0]
                leaders.append(partition.leader_id)
            return leaders[0] == leaders[1] != self.parted

        await wait_for_async(is_elected)
        await self.until_leads(leaders[0], 1)
        return leaders[0]

    async def elect_preferred(self, node: int) -> None:
        asked = [ElectLeadersRequest.TopicPartitions(self.topic, [0])]
        answer = await self.ask(node, ElectLeadersRequest(PREFERRED, asked))
        assert answer.replica_election_results[0].partition_result[0].error_code == 0

    async def eligible(self, node: int) -> tuple[list[int], list[int]]:
        """Eligible leaders, and who led last."""
        request = DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(self.topic)])
        partition = (await self.ask(node, request)).topics[0].partitions[0]
        return partition.eligible_leader_replicas or [], partition.last_known_elr or []

    async def coordinator(self, node: int, group: str) -> int:
        """The id of the node that coordinates the group, or -1."""
        answer = await self.ask(node, FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
        return answer.coordinators[0].node_id

    async def heartbeat(self, node: int, group: str) -> str:
        """What a member hears that is not there."""
        return _name((await self.ask(node, HeartbeatRequest(group, 1, "nobody"))).error_code)

    async def change_level(self, level: int, kind: int) -> None:
        """Of what allows for eligible leaders."""
        update = UpdateFeaturesRequest.FeatureUpdateKey(ELIGIBLE_LEADERS, level, upgrade_type=kind)
        answer = await self.ask(self.others[0], UpdateFeaturesRequest(feature_updates=[update]))
        assert answer.error_code == 0, answer.error_message

    async def produce(
        self, node: int, text: str, *, acks: int = -1, timeout_ms: int = TIMEOUT_MS
    ) -> ProduceResponse.PartitionProduceResponse:
        request = produce_request(self.topic, batch_of(values(text)), acks=acks)
        request.timeout_ms = timeout_ms
        answer = await self.ask(node, request, 12)
        return answer.responses[0].partition_responses[0]

    async def said(self, node: int, text: str, *, acks: int = -1, timeout_ms: int = TIMEOUT_MS) -> str:
        return _name((await self.produce(node, text, acks=acks, timeout_ms=timeout_ms)).error_code)

    async def fetch(self, node: int, leader_epoch: int = -1) -> FetchResponse.PartitionData:
        request = fetch_request(self.topic, 0)
        request.topics[0].partitions[0].current_leader_epoch = leader_epoch
        return (await self.ask(node, request, 12)).responses[0].partitions[0]

    async def texts(self, node: int) -> list[str]:
        data = await self.fetch(node)
        assert data.error_code == 0
        reader = _kernel.RecordReader(self.topic, 0, data.records or b"")
        return [(record.value or b"").decode() for record in reader]

    async def latest_offset(self, node: int) -> int:
        partition = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=LATEST)
        topics = [ListOffsetsRequest.ListOffsetsTopic(self.topic, [partition])]
        return (
            (await self.ask(node, ListOffsetsRequest(CONSUMER, topics=topics))).topics[0].partitions[0].offset
        )

    async def end_of_epoch(self, node: int, epoch: int) -> tuple[str, int, int]:
        partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0, -1, epoch)
        topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(self.topic, [partition])]
        found = (await self.ask(node, OffsetForLeaderEpochRequest(topics=topics))).topics[0].partitions[0]
        return _name(found.error_code), found.leader_epoch, found.end_offset


def _name(code: int) -> str:
    return ErrorCode(code).name


@pytest.fixture(scope="module", params=[GatedKafka, PartedNodes])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with request.param() as cluster:
        yield cluster


async def _controller(asker: Asker) -> int:
    partition = DescribeQuorumRequest.PartitionData(0)
    request = DescribeQuorumRequest([DescribeQuorumRequest.TopicData("__cluster_metadata", [partition])])
    return (await asker.ask(1, request)).topics[0].partitions[0].leader_id


def play(cluster: Cluster, topic: str, scenario: Callable[[Asker], Awaitable[None]]) -> None:
    async def main() -> None:
        asker = Asker(cluster, topic, 0, [])
        controller = await _controller(asker)
        asker.parted, other = (node for node in (1, 2, 3) if node != controller)
        asker.others = [other, controller]
        try:
            await scenario(asker)
        finally:
            cluster.join(asker.parted)
            asker.close()
        cluster.wait_until_whole()

    asyncio.run(main())


def test_a_parted_leader_goes_on_in_its_epoch_and_gives_up_what_the_others_lack(
    cluster: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        old = asker.parted
        await asker.create([old, *asker.others])
        assert await asker.said(old, "kept") == "NONE"
        cluster.part(old)
        assert await asker.said(old, "lost", acks=1) == "NONE"
        assert await asker.said(old, "never acknowledged", timeout_ms=500) == "REQUEST_TIMED_OUT"
        new = await asker.until_elected()
        for node in asker.others:
            await asker.until_known(node, leader=new, in_sync=asker.others)

        stale = await asker.known(old)
        (partition,) = stale.topics[0].partitions
        assert (partition.leader_id, partition.leader_epoch) == (old, 0)
        assert sorted(partition.isr_nodes) == [1, 2, 3]
        assert sorted(broker.node_id for broker in stale.brokers) == [1, 2, 3]
        assert await asker.said(old, "lost as well", acks=1) == "NONE"
        assert await asker.said(old, "never acknowledged", timeout_ms=500) == "REQUEST_TIMED_OUT"
        assert await asker.texts(old) == ["kept"]
        assert (await asker.fetch(old)).high_watermark == 1
        assert await asker.latest_offset(old) == 1
        assert _name((await asker.fetch(old, 1)).error_code) == "UNKNOWN_LEADER_EPOCH"
        assert _name((await asker.fetch(new, 0)).error_code) == "FENCED_LEADER_EPOCH"
        assert await asker.said(new, "elected") == "NONE"
        assert await asker.texts(old) == ["kept"]

        cluster.join(old)
        for node in (old, *asker.others):
            await asker.until_known(node, leader=new, in_sync=[1, 2, 3])
        refused = await asker.produce(old, "late")
        assert _name(refused.error_code) == "NOT_LEADER_OR_FOLLOWER"
        assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (new, 1)
        assert await asker.texts(new) == ["kept", "elected"]
        assert await asker.end_of_epoch(new, 0) == ("NONE", 0, 1)
        assert await asker.said(new, "in sync") == "NONE"
        assert await asker.latest_offset(new) == 3

    play(cluster, topic(), scenario)


def test_who_led_leads_again_when_it_has_joined_with_what_was_acknowledged_by_the_others(
    cluster: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        old = asker.parted
        await asker.create([old, *asker.others])
        cluster.part(old)
        assert await asker.said(old, "lost", acks=1) == "NONE"
        new = await asker.until_elected()
        assert await asker.said(new, "elected") == "NONE"
        cluster.join(old)
        for node in (old, *asker.others):
            await asker.until_known(node, leader=new, in_sync=[1, 2, 3])
        await asker.elect_preferred(new)
        for node in (old, *asker.others):
            await asker.until_known(node, leader=old, in_sync=[1, 2, 3])
        await asker.until_leads(old, 2)
        assert await asker.said(old, "again") == "NONE"
        assert await asker.texts(old) == ["elected", "again"]
        assert await asker.end_of_epoch(old, 0) == ("NONE", 0, 0)

    play(cluster, topic(), scenario)


def test_acks_all_waits_for_a_parted_follower_until_it_is_not_in_sync_any_more(
    cluster: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        leader, follower = asker.others[0], asker.parted
        await asker.create([leader, asker.others[1], follower])
        cluster.part(follower)
        assert await asker.said(leader, "waits") == "NONE"
        await asker.until_known(leader, leader=leader, in_sync=asker.others)
        assert sorted((await asker.known(follower)).topics[0].partitions[0].isr_nodes) == [1, 2, 3]
        assert _name((await asker.produce(follower, "astray")).error_code) == "NOT_LEADER_OR_FOLLOWER"
        assert await asker.said(leader, "does not wait", timeout_ms=1_000) == "NONE"
        cluster.join(follower)
        await asker.until_known(leader, leader=leader, in_sync=[1, 2, 3])
        assert await asker.texts(leader) == ["waits", "does not wait"]

    play(cluster, topic(), scenario)


def test_with_too_few_in_sync_for_a_follower_that_is_parted_acks_all_is_refused(
    cluster: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        leader, follower = asker.others[0], asker.parted
        await asker.create([leader, asker.others[1], follower], min_insync_replicas="3")
        assert await asker.said(leader, "kept") == "NONE"
        cluster.part(follower)
        assert await asker.said(leader, "in doubt", timeout_ms=500) == "REQUEST_TIMED_OUT"
        await asker.until_known(leader, leader=leader, in_sync=asker.others)
        doubtful = ["in doubt"]

        async def is_refused() -> bool:
            # Kafka's metadata may tell of who is in sync before its leader acts on it.
            text = f"in doubt {len(doubtful)}"
            said = await asker.said(leader, text, timeout_ms=1)
            if said == "REQUEST_TIMED_OUT":
                doubtful.append(text)
            return said == "NOT_ENOUGH_REPLICAS"

        await wait_for_async(is_refused)
        assert await asker.said(leader, "by the leader alone", acks=1) == "NONE"
        assert await asker.texts(leader) == ["kept"]
        cluster.join(follower)
        await asker.until_known(leader, leader=leader, in_sync=[1, 2, 3])
        assert await asker.said(leader, "whole") == "NONE"
        assert await asker.texts(leader) == ["kept", *doubtful, "by the leader alone", "whole"]

    play(cluster, topic(), scenario)


def test_a_parted_node_that_alone_has_a_partition_goes_on_with_it(
    cluster: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        only = asker.parted
        await asker.create([only], min_insync_replicas="1")
        cluster.part(only)
        assert await asker.said(only, "a") == "NONE"
        for node in asker.others:
            await asker.until_known(node, leader=-1, in_sync=[])
            assert await asker.eligible(node) == ([only], [only])
        assert await asker.said(asker.others[0], "nobody leads") == "NOT_LEADER_OR_FOLLOWER"
        assert await asker.said(only, "b") == "NONE"
        assert await asker.texts(only) == ["a", "b"]
        cluster.join(only)
        for node in (only, *asker.others):
            await asker.until_known(node, leader=only, in_sync=[only])
        await asker.until_leads(only, 2)
        assert await asker.said(only, "c") == "NONE"
        assert await asker.texts(only) == ["a", "b", "c"]

    play(cluster, topic(), scenario)


def test_without_eligible_leaders_the_last_in_sync_stays_so_while_it_is_away(
    cluster: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        only = asker.parted
        await asker.change_level(0, SAFE_DOWNGRADE)
        try:
            await asker.create([only], min_insync_replicas="1")
            cluster.part(only)
            for node in asker.others:
                await asker.until_known(node, leader=-1, in_sync=[only])
                assert await asker.eligible(node) == ([], [])
            cluster.join(only)
            for node in (only, *asker.others):
                await asker.until_known(node, leader=only, in_sync=[only])
            await asker.until_leads(only, 2)
            assert await asker.said(only, "a", acks=1) == "NONE"
        finally:
            await asker.change_level(1, UPGRADE)

    play(cluster, topic(), scenario)


def test_a_parted_node_names_the_coordinators_that_it_knows(
    cluster: Cluster, topic: Callable[[], str]
) -> None:
    async def scenario(asker: Asker) -> None:
        parted, other = asker.parted, asker.others[0]
        groups = [f"{asker.topic}-{number}" for number in range(50)]

        async def all_have_one() -> list[int] | None:
            found = [await asker.coordinator(node, groups[0]) for node in (1, 2, 3)]
            return found if -1 not in found and len({*found}) == 1 else None

        async def of_the_parted() -> list[str]:
            return [group for group in groups if await asker.coordinator(other, group) == parted]

        await wait_for_async(all_have_one)
        # Other tests may have taken the leaders of groups' partitions from it.
        await asker.ask(other, ElectLeadersRequest(PREFERRED, None))
        its = await wait_for_async(of_the_parted)
        theirs = [group for group in groups if group not in its]
        cluster.part(parted)

        async def is_missed() -> bool:
            return await asker.coordinator(other, its[0]) not in (-1, parted)

        await wait_for_async(is_missed)
        assert {await asker.coordinator(parted, group) for group in its} == {parted}
        assert parted not in {await asker.coordinator(parted, group) for group in theirs}
        assert await asker.heartbeat(parted, theirs[0]) == "NOT_COORDINATOR"

    play(cluster, topic(), scenario)
