"""Elections, replicas in sync, reassignments, reads from followers and coordinators while a node is away:
three brokers of Apache Kafka and three nodes of the embedded broker are asked the same, and answer alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.broker.transactions.session import Session
from tests.waiting import wait_for_async

from barnabas.protocol.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.testing import ApacheKafkaCluster, EmbeddedBroker

from .node_asker import LATEST, PREFERRED, UNCLEAN, name_of
from .three_nodes import ThreeNodes

Cluster = ApacheKafkaCluster | EmbeddedBroker
RACKS = ["rack-1", "rack-2", "rack-3"]
CONFIG = {
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    # What `ApacheKafkaCluster` has.
    "broker.session.timeout.ms": "3000",
    # Leaders move when the tests say so.
    "auto.leader.rebalance.enable": "false",
    # Where unclean elections were switched on.
    "unclean.leader.election.interval.ms": "500",
}
EARLIEST = -2
GROUP, TRANSACTION = 0, 1


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Cluster, Cluster]]:
    with (
        ApacheKafkaCluster(racks=RACKS, config=CONFIG) as kafka,
        EmbeddedBroker(nodes=3, racks=RACKS, config=CONFIG) as embedded,
    ):
        yield kafka, embedded


def said_by(cluster: Cluster, topic: str, scenario: Callable[[ThreeNodes], Awaitable[None]]) -> list[Any]:
    async def main() -> list[Any]:
        three = ThreeNodes(cluster, topic)
        try:
            await three.begin()
            await scenario(three)
        finally:
            three.close()
            cluster.start()
        return three.answers

    said = asyncio.run(main())
    cluster.wait_until_whole()
    return said


def compare(
    both: tuple[Cluster, Cluster], topic: str, scenario: Callable[[ThreeNodes], Awaitable[None]]
) -> None:
    kafka, embedded = (said_by(cluster, topic, scenario) for cluster in both)
    assert embedded == kafka


def test_leaders_are_elected_and_epochs_told_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create(three.all, min_insync_replicas="2")
        await three.tell_produced(first, "a")
        await three.tell_election(third, PREFERRED, 0, 7)
        three.stop(first)
        await three.until_run(second, third)
        await three.until_all_know(second, third, leader=second, in_sync=[second, third], epoch=1)
        await three.tell_partition(third)
        await three.tell_cluster(third)
        for kind in (PREFERRED, UNCLEAN):
            await three.tell_election(second, kind, 0)
        await three.tell_produced(second, "b")
        await three.tell_produced(third, "astray")
        for epoch in (0, 1, 2):
            await three.tell_fetched(second, epoch=epoch)
            await three.tell_offset(second, LATEST, epoch)
        await three.tell_ends(second, 0, 1, 2)

        three.start(first)
        await three.until_all_know(*three.all, leader=second, in_sync=three.all, epoch=1)
        await three.tell_cluster(first)
        await three.tell_produced(first, "to who led before")
        for kind in (PREFERRED, UNCLEAN):
            await three.tell_election(first, kind, 0)
        await three.until_all_know(*three.all, leader=first, in_sync=three.all, epoch=2)
        await three.tell_partition(second)
        await three.tell_produced(first, "c")
        await three.tell_ends(first, 0, 1, 2, 3)
        await three.tell_ends(third, 0)
        await three.tell_fetched(first)

    compare(both, topic(), scenario)


def test_a_partition_that_only_a_node_that_is_away_has_gets_a_leader_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create([first], min_insync_replicas="1")
        await three.tell_produced(first, "a")
        three.kill(first)
        await three.until_run(second, third)
        await three.until_known(third, leader=-1, in_sync=[])
        await three.tell_partition(third)
        for kind in (PREFERRED, UNCLEAN):
            await three.tell_election(third, kind, 0)
        await three.tell_produced(second, "astray")
        await three.tell_fetched(second)
        await three.tell_offset(second, LATEST)
        await three.tell_ends(second, 0)
        await three.tell_reassigned(third, [second])
        await three.tell_moves(third)
        await three.tell_reassigned(third, None)
        three.start(first)
        await three.until_replicas(third, [second])
        await three.until_all_know(third, second, leader=second, in_sync=[second], epoch=3)
        await three.tell_partition(third)
        await three.tell_produced(second, "b")
        three.tell(await three.texts(second))

    compare(both, topic(), scenario)


def test_replicas_leave_those_in_sync_and_come_back_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create(three.all, min_insync_replicas="3")
        await three.tell_produced(first, "a")
        three.stop(second)
        await three.until_run(first, third)
        await three.until_all_know(first, third, leader=first, in_sync=[first, third], epoch=0)
        await three.tell_partition(third)
        await three.until_too_few(first)
        await three.tell_produced(first, "by too few")
        await three.tell_produced(first, "by the leader alone", acks=1)
        await three.tell_fetched(first)
        await three.tell_offset(first, LATEST)
        await three.set_of_topic(third, "min.insync.replicas", "2")
        await three.until_taken(first, "by two")
        await three.tell_partition(third)
        await three.tell_fetched(first)
        three.start(second)
        await three.until_all_know(*three.all, leader=first, in_sync=three.all, epoch=0)
        await three.tell_partition(second)
        three.kill(second)
        await three.tell_produced(first, "waits for who is missed")
        await three.until_known(first, leader=first, in_sync=[first, third])
        await three.tell_partition(first)
        three.start(second)
        await three.until_all_know(*three.all, leader=first, in_sync=three.all, epoch=0)
        await three.tell_partition(first)
        three.tell(await three.texts(first))

    compare(both, topic(), scenario)


def test_reassignments_wait_are_cancelled_and_end_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create([first, third], min_insync_replicas="1")
        await three.tell_produced(first, "a")
        await three.tell_reassigned(third, None)
        three.stop(second)
        await three.until_run(first, third)
        for replicas in ([7], [first, first], [], [-1], [first, third]):
            await three.tell_reassigned(first, replicas)
            await three.tell_moves(first)
        await three.tell_reassigned(first, [second, third])
        await three.tell_moves(first)
        await three.until_replicas(first, [second, third, first])
        await three.tell_partition(first)
        await three.tell_produced(first, "b")
        await three.tell_reassigned(third, [first, second])
        await three.tell_moves(third)
        await three.until_replicas(first, [first, second, third])
        await three.tell_partition(first)
        await three.tell_reassigned(third, None)
        await three.tell_moves(third)
        await three.until_replicas(first, [first, third])
        await three.tell_partition(first)
        await three.tell_reassigned(third, None)
        await three.tell_reassigned(third, [second, third])
        three.start(second)
        await three.until_replicas(third, [second, third])
        await three.tell_moves(third)
        await three.until_all_know(third, second, leader=second, in_sync=[second, third], epoch=2)
        await three.tell_partition(third)
        await three.tell_produced(second, "c")
        three.tell(await three.texts(second))

    compare(both, topic(), scenario)


async def leave_behind(three: ThreeNodes) -> None:
    """The second node lacks records that were acknowledged, and the only node that has them has ended."""
    first, second, third = three.all
    await three.tell_produced(first, "a")
    three.stop(second)
    await three.until_run(first, third)
    await three.until_all_know(first, third, leader=first, in_sync=[first], epoch=0)
    for text in ("lost", "lost too"):
        await three.tell_produced(first, text)
    # Without the two others the third knows nothing more.
    three.kill(first)
    three.start(second)
    await three.until_run(second, third)


async def tell_of_the_lost(three: ThreeNodes, epoch: int) -> None:
    """What is left of them once the second node leads without them, in an epoch."""
    first, second, third = three.all
    await three.until_all_know(second, third, leader=second, in_sync=[second], epoch=epoch)
    await three.tell_partition(third)
    await three.tell_fetched(second)
    await three.tell_offset(second, LATEST)
    await three.tell_produced(second, "b")
    await three.tell_ends(second, 0, epoch)
    three.start(first)
    await three.until_all_know(*three.all, leader=second, in_sync=[first, second], epoch=epoch)
    await three.tell_partition(first)
    await three.tell_ends(second, 0, epoch)
    for kind in (UNCLEAN, PREFERRED):
        await three.tell_election(third, kind, 0)
    await three.until_all_know(*three.all, leader=first, in_sync=[first, second], epoch=epoch + 1)
    await three.tell_produced(first, "c")
    await three.tell_ends(first, 0, epoch, epoch + 1)
    three.tell(await three.texts(first))


def test_a_replica_that_is_behind_leads_once_that_is_switched_on_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create([first, second], min_insync_replicas="1")
        await leave_behind(three)
        await three.until_known(third, leader=-1, in_sync=[])
        await three.until_known(second, leader=-1, in_sync=[])
        await three.tell_partition(third)
        await three.tell_election(third, PREFERRED, 0)
        await three.set_of_topic(third, "unclean.leader.election.enable", "true")
        await tell_of_the_lost(three, 2)

    compare(both, topic(), scenario)


def test_a_replica_that_is_behind_leads_at_once_where_it_may_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, _ = three.all
        await three.create([first, second], min_insync_replicas="1", unclean_leader_election_enable="true")
        await leave_behind(three)
        await tell_of_the_lost(three, 1)

    compare(both, topic(), scenario)


def test_records_that_were_written_before_too_few_were_in_sync_wait_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create([first, second], min_insync_replicas="2")
        other = ThreeNodes(three.cluster, three.topic)
        await other.begin()
        try:
            for is_enough_again in (False, True):
                three.kill(second)
                # Answers come in the order of requests, on each connection.
                waiting = asyncio.ensure_future(other.tell_produced(first, f"waits {is_enough_again}"))
                await three.until_known(first, leader=first, in_sync=[first])
                await three.tell_partition(third)
                await three.tell_fetched(first)
                await three.until_too_few(first)
                await three.tell_produced(first, "by too few")
                assert not waiting.done()
                if is_enough_again:
                    await three.set_of_topic(third, "min.insync.replicas", "1")
                    # Kafka looks whether there are enough when the next records are written.
                    await three.until_taken(first, "by one")
                    await waiting
                    await three.tell_partition(third)
                three.start(second)
                await waiting
                await three.until_all_know(*three.all, leader=first, in_sync=[first, second], epoch=0)
            three.tell(other.answers, await three.texts(first))
        finally:
            other.close()

    compare(both, topic(), scenario)


def test_consumers_are_sent_to_followers_of_their_rack_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create([first, second], min_insync_replicas="1")
        await three.tell_produced(first, "a")
        await three.until_high_watermark(second, 1)
        await three.until_sent(first, second, to=second)
        for rack in (second, first, third, "rack-of-none", ""):
            for offset in (0, 1, 5, -1):
                await three.tell_fetched(first, offset, rack_of=rack)
        await three.tell_fetched(first, version=10)
        for node in (second, third):
            for offset in (0, 1, 5):
                await three.tell_fetched(node, offset, rack_of=node)
            for epoch in (0, 1):
                await three.tell_fetched(node, rack_of=node, epoch=epoch)
            await three.tell_fetched(node, version=10)
            await three.tell_offset(node, EARLIEST)
            await three.tell_ends(node, 0)
        three.stop(second)
        await three.until_run(first, third)
        await three.until_known(first, leader=first, in_sync=[first])
        await three.until_sent(first, second, to=-1)
        await three.tell_fetched(first, rack_of=second)
        await three.tell_produced(first, "b")
        three.start(second)
        await three.until_all_know(*three.all, leader=first, in_sync=[first, second], epoch=0)
        await three.until_high_watermark(second, 2)
        await three.until_sent(first, second, to=second)
        await three.tell_fetched(first, rack_of=second)
        await three.tell_fetched(second, 1, rack_of=second)

    compare(both, topic(), scenario)


async def coordinator(three: ThreeNodes, node: int, kind: int, key: str) -> int:
    answer = await three.ask(node, FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
    return answer.coordinators[0].node_id


async def key_of_first(three: ThreeNodes, kind: int) -> str:
    """A group or transactional id that the first node coordinates."""
    keys = [f"{three.topic}-{number}" for number in range(50)]

    async def all_are_known() -> bool:
        found = [await coordinator(three, node, kind, keys[0]) for node in three.all]
        return -1 not in found and len({*found}) == 1

    async def is_led() -> str | None:
        for key in keys:
            if await coordinator(three, three.third, kind, key) == three.first:
                return key
        return None

    await wait_for_async(all_are_known)
    # Other tests may have taken the leaders of the coordinators' partitions from it.
    await three.ask(three.third, ElectLeadersRequest(PREFERRED, None))
    key = await wait_for_async(is_led) or ""
    await until_back(three, kind, key)
    return key


async def until_back(three: ThreeNodes, kind: int, key: str) -> None:
    """Until all say that the first node coordinates it, which it does once it is in sync and elected."""

    async def is_so() -> bool:
        await three.ask(three.third, ElectLeadersRequest(PREFERRED, None))
        return {await coordinator(three, node, kind, key) for node in three.all} == {three.first}

    await wait_for_async(is_so)


async def until_moved(three: ThreeNodes, kind: int, key: str) -> int:
    """The node that coordinates what the first one did."""

    async def has_moved() -> int | None:
        found = [await coordinator(three, node, kind, key) for node in (three.second, three.third)]
        return found[0] if found[0] == found[1] and found[0] not in (-1, three.first) else None

    return await wait_for_async(has_moved) or -1


async def commit(three: ThreeNodes, node: int, group: str, offset: int) -> str:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        0, offset, committed_leader_epoch=0, committed_metadata="noted"
    )
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(three.topic, partitions=[partition])]
    answer = await three.ask(node, OffsetCommitRequest(group, topics=topics), 9)
    return name_of(answer.topics[0].partitions[0].error_code)


async def committed(three: ThreeNodes, node: int, group: str) -> Any:
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(three.topic, partition_indexes=[0])]
    asked = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=topics)])
    answer = (await three.ask(node, asked, 9)).groups[0]
    found = [
        (partition.committed_offset, partition.committed_leader_epoch, partition.metadata)
        for of_topic in answer.topics
        for partition in of_topic.partitions
    ]
    return name_of(answer.error_code), found


async def until_serves(three: ThreeNodes, node: int, group: str) -> None:
    async def is_so() -> bool:
        return (await committed(three, node, group))[0] == "NONE"

    await wait_for_async(is_so)


async def until_shows(three: ThreeNodes, node: int, group: str, offset: int) -> None:
    async def is_so() -> bool:
        return await committed(three, node, group) == ("NONE", [(offset, 0, "noted")])

    await wait_for_async(is_so)


def test_a_groups_coordinator_moves_when_its_node_ends_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create([third, second], min_insync_replicas="1")
        group = await key_of_first(three, GROUP)
        await until_serves(three, first, group)
        three.tell(await commit(three, first, group, 3), await committed(three, first, group))
        for node in (second, third):
            three.tell(await commit(three, node, group, 4), await committed(three, node, group))
        three.stop(first)
        await three.until_run(second, third)
        new = await until_moved(three, GROUP, group)
        other = third if new == second else second
        # A new coordinator of Kafka's shows what was committed once its followers have that from it.
        await until_shows(three, new, group, 3)
        three.tell(await committed(three, new, group), await commit(three, new, group, 5))
        three.tell(await committed(three, other, group), await commit(three, other, group, 6))
        for node in (new, other):
            answer = await three.ask(node, HeartbeatRequest(group, 1, "nobody"))
            three.tell(name_of(answer.error_code))
        three.start(first)
        await three.until_all_run()
        three.tell(await commit(three, first, group, 7))
        await until_back(three, GROUP, group)
        await until_shows(three, first, group, 5)

    compare(both, topic(), scenario)


async def until_known_there(three: ThreeNodes, node: int, key: str) -> None:
    """Until a node coordinates what has a transactional id."""

    async def is_so() -> bool:
        answer = await three.ask(node, DescribeTransactionsRequest([key]))
        return answer.transaction_states[0].error_code == 0

    await wait_for_async(is_so)


def test_a_transactions_coordinator_moves_when_its_node_ends_as_on_kafka(
    both: tuple[Cluster, Cluster], topic: Callable[[], str]
) -> None:
    async def scenario(three: ThreeNodes) -> None:
        first, second, third = three.all
        await three.create([third, second], min_insync_replicas="1")
        key = await key_of_first(three, TRANSACTION)
        sessions = {node: await Session.open(three.cluster.node(node).bootstrap) for node in three.all}
        try:
            for session in sessions.values():
                session.said = three.answers
            producer = await sessions[first].init(key)
            for node in (second, third):
                await sessions[node].add_partitions(key, producer, (three.topic, 0))
            await sessions[first].add_partitions(key, producer, (three.topic, 0))
            await sessions[third].produce(three.topic, ["a"], producer, 0, transactional_id=key)
            sessions[first].close()
            three.stop(first)
            await three.until_run(second, third)
            new = await until_moved(three, TRANSACTION, key)
            other = third if new == second else second
            await until_known_there(three, new, key)
            await sessions[new].describe(key)
            await sessions[other].describe(key)
            await sessions[other].end_once(key, producer, commit=True, version=3)
            await three.tell_offset(third, LATEST)
            await sessions[new].end(key, producer, commit=True, version=3)
            await sessions[new].describe(key)
            await sessions[third].fetch(three.topic)
            await sessions[new].init(key)
        finally:
            for session in sessions.values():
                session.close()

    compare(both, topic(), scenario)
