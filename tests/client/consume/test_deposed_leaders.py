"""A leader that is parted from the others, and does not know of its successor: clients that ask it first."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.broker.replication.cluster_of_three import ClusterOfThree, running
from tests.broker.replication.test_parted_nodes import SOON_MISSED, until_led_by
from tests.virtual.loop import VirtualWorld
from tests.waiting import wait_for_async

from barnabas.aio import Consumer, Producer
from barnabas.client.consume.truncation import OLD_LEADER_TRIES
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.types import OffsetAndMetadata, TopicPartition

PARTED, LEADER = 1, 2
PARTITION = TopicPartition("t", 0)
# Longer than a client asks again for metadata before it believes it.
LONG_SECONDS = 4.0 * OLD_LEADER_TRIES
Scenario = Callable[[ClusterOfThree], Awaitable[None]]


def run(directory: Path, scenario: Scenario) -> None:
    """On virtual time: however long clients wait, the test does not."""

    async def main() -> None:
        async with running(directory, SOON_MISSED) as cluster:
            await scenario(cluster)

    VirtualWorld(seed=0).run(main)


def bootstrap(cluster: ClusterOfThree, *nodes: int) -> str:
    return ",".join(f"127.0.0.1:{cluster.broker.nodes[node].port}" for node in nodes)


async def part_the_leader(cluster: ClusterOfThree) -> None:
    """The topic has "kept", which all nodes know, and "elected", of a leader that the parted one does not
    know."""
    await cluster.create("t", [1, 2, 3])
    assert (await cluster.produce(PARTED, "t", "kept")).error_code == 0
    await cluster.until_in_sync("t", 1, 2, 3)
    cluster.broker.nodes[PARTED].part()
    await until_led_by(cluster, "t", LEADER)
    assert (await cluster.produce(LEADER, "t", "elected")).error_code == 0


async def group_of_another_node(cluster: ClusterOfThree) -> str:
    """One that the parted node knows the coordinator of, which is another node."""
    for number in itertools.count():
        name = f"group-{number}"

        async def coordinator(name: str = name) -> int:
            request = FindCoordinatorRequest(coordinator_keys=[name])
            answer = (await cluster.ask(PARTED, request)).coordinators[0]
            return -1 if answer.error_code else answer.node_id

        async def is_found() -> bool:
            return await coordinator() >= 0

        await wait_for_async(is_found, timeout=LONG_SECONDS)
        if await coordinator() != PARTED:
            return name
    raise AssertionError("unreachable")


@asynccontextmanager
async def reader(cluster: ClusterOfThree, *nodes: int, **settings: Any) -> AsyncGenerator[Consumer]:
    """Reads the partition from the earliest offset on unless it is told otherwise."""
    consumer = Consumer(bootstrap(cluster, *nodes), auto_offset_reset="earliest", **settings)
    async with consumer:
        consumer.assign([PARTITION])
        yield consumer


async def texts(consumer: Consumer, seconds: float = LONG_SECONDS) -> list[str]:
    records = await consumer.poll(seconds)
    return [record.value.decode() for record in records if record.value is not None]


def test_a_position_with_a_later_leader_epoch_is_not_fetched_from_a_parted_leader(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await part_the_leader(cluster)
        async with reader(cluster, PARTED) as consumer:
            consumer.seek(PARTITION, OffsetAndMetadata(2, leader_epoch=1))
            # The one broker that it has a connection to is not asked again and again.
            assert (await cluster.produce(LEADER, "t", "next")).error_code == 0
            assert await texts(consumer) == ["next"]

    run(tmp_path, scenario)


def test_a_parted_leader_is_not_believed_while_the_others_do_not_answer(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await part_the_leader(cluster)
        await cluster.kill(2)
        await cluster.kill(3)
        async with reader(cluster, PARTED) as consumer:
            consumer.seek(PARTITION, OffsetAndMetadata(2, leader_epoch=1))
            assert await texts(consumer) == []
            await cluster.start(2, 3)
            await until_led_by(cluster, "t", LEADER)
            assert (await cluster.produce(LEADER, "t", "next")).error_code == 0
            assert await texts(consumer) == ["next"]

    run(tmp_path, scenario)


def test_a_position_under_a_leader_that_no_broker_knows_is_reset(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        assert (await cluster.produce(1, "t", "kept")).error_code == 0
        async with reader(cluster, 1) as consumer:
            consumer.seek(PARTITION, OffsetAndMetadata(7, leader_epoch=99))
            assert await texts(consumer) == ["kept"]

    run(tmp_path, scenario)


@pytest.mark.parametrize("by", ["the beginning", "a seek to the offset alone"])
def test_a_committed_leader_epoch_keeps_a_consumer_from_a_parted_leader(tmp_path: Path, by: str) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        group = await group_of_another_node(cluster)
        await part_the_leader(cluster)
        committed = {PARTITION: OffsetAndMetadata(2, leader_epoch=1)}
        async with reader(cluster, 2, 3, group_id=group) as consumer:
            await consumer.commit(committed)
        async with reader(cluster, PARTED, group_id=group) as consumer:
            if by == "a seek to the offset alone":
                assert await consumer.committed([PARTITION]) == committed
                consumer.seek(PARTITION, 2)
            assert (await cluster.produce(LEADER, "t", "next")).error_code == 0
            assert await texts(consumer) == ["next"]

    run(tmp_path, scenario)


def test_a_leader_epoch_sent_to_a_transaction_is_committed_along(tmp_path: Path) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        group = await group_of_another_node(cluster)
        await part_the_leader(cluster)
        committed = {PARTITION: OffsetAndMetadata(2, leader_epoch=1)}
        async with (
            reader(cluster, 2, 3, group_id=group) as consumer,
            Producer(bootstrap(cluster, 2, 3), transactional_id="copier") as producer,
        ):
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction(committed, consumer.group_metadata())
            await producer.commit_transaction()
        async with reader(cluster, PARTED, group_id=group) as consumer:
            assert (await cluster.produce(LEADER, "t", "next")).error_code == 0
            assert await texts(consumer) == ["next"]

    run(tmp_path, scenario)


def test_an_offset_committed_under_a_leader_that_no_broker_knows_holds_up_nothing_else(
    tmp_path: Path,
) -> None:
    async def scenario(cluster: ClusterOfThree) -> None:
        await cluster.create("t", [1, 2, 3])
        assert (await cluster.produce(1, "t", "kept")).error_code == 0
        async with reader(cluster, 1, 2, 3, group_id="g") as consumer:
            committed = {PARTITION: OffsetAndMetadata(1, leader_epoch=99)}
            await consumer.commit(committed)
            assert await consumer.committed([PARTITION]) == committed
            consumer.seek(PARTITION, 0)
            assert await texts(consumer) == ["kept"]

    run(tmp_path, scenario)
