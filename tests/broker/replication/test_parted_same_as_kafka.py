"""A node that is parted from the others, and whom its clients still reach: three brokers of Apache Kafka and
three nodes of the embedded broker are asked the same, and answer alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from tests.waiting import wait_for_async

from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.update_features import UpdateFeaturesRequest
from barnabas.testing import EmbeddedBroker

from .node_asker import PREFERRED, NodeAsker, name_of
from .parted_kafka import GatedKafka

SESSION = {"broker.session.timeout.ms": "3000"}
"""What `ApacheKafkaCluster` has."""
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


class Asker(NodeAsker):
    """`parted` is neither the controller nor, where another is to lead, the first replica; `others` are the
    two that are not parted."""

    def __init__(self, cluster: Cluster, topic: str, parted: int, others: list[int]) -> None:
        super().__init__(cluster, topic)
        self.parted = parted
        self.others = others

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

    async def heartbeat(self, node: int, group: str) -> str:
        """What a member hears that is not there."""
        return name_of((await self.ask(node, HeartbeatRequest(group, 1, "nobody"))).error_code)

    async def change_level(self, level: int, kind: int) -> None:
        """Of what allows for eligible leaders."""
        update = UpdateFeaturesRequest.FeatureUpdateKey(ELIGIBLE_LEADERS, level, upgrade_type=kind)
        answer = await self.ask(self.others[0], UpdateFeaturesRequest(feature_updates=[update]))
        assert answer.error_code == 0, answer.error_message


@pytest.fixture(scope="module", params=[GatedKafka, PartedNodes])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with request.param() as cluster:
        yield cluster


def play(cluster: Cluster, topic: str, scenario: Callable[[Asker], Awaitable[None]]) -> None:
    async def main() -> None:
        asker = Asker(cluster, topic, 0, [])
        controller = await asker.controller()
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
        assert name_of((await asker.fetch(old, 1)).error_code) == "UNKNOWN_LEADER_EPOCH"
        assert name_of((await asker.fetch(new, 0)).error_code) == "FENCED_LEADER_EPOCH"
        assert await asker.said(new, "elected") == "NONE"
        assert await asker.texts(old) == ["kept"]

        cluster.join(old)
        for node in (old, *asker.others):
            await asker.until_known(node, leader=new, in_sync=[1, 2, 3])
        refused = await asker.produce(old, "late")
        assert name_of(refused.error_code) == "NOT_LEADER_OR_FOLLOWER"
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
        assert name_of((await asker.produce(follower, "astray")).error_code) == "NOT_LEADER_OR_FOLLOWER"
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
