"""What is done to a cluster of three nodes, told over HTTP, as our own clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_for_async

from barnabas import NewTopic
from barnabas.aio import Admin, Consumer, Producer
from barnabas.broker.faults.listening import FaultListener
from barnabas.broker.server import Broker
from barnabas.testing import FaultControl, FaultControlError

Eventually = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def three_nodes(directory: Path) -> AsyncIterator[tuple[Broker, FaultControl]]:
    broker = Broker(directory, nodes=3)
    listener = FaultListener(lambda: broker.faults, broker.upsets)
    await broker.start()
    await listener.start("127.0.0.1", 0)
    try:
        async with Admin(broker.bootstrap) as admin:
            await admin.create_topics([NewTopic("flights", 1, 3)])
        yield broker, FaultControl(listener.url)
    finally:
        await listener.stop()
        await broker.stop()


async def leader_of(broker: Broker) -> int:
    async with Admin(broker.bootstrap) as admin:
        described = await admin.describe_topics(["flights"])
        return described["flights"].partitions[0].leader


def test_a_record_that_a_parted_leader_could_not_acknowledge_is_there_once_when_it_has_joined(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with three_nodes(tmp_path) as (broker, faults):
            leader = await leader_of(broker)

            async def has_come() -> bool:
                return len(broker.faults.requests("Produce", node=leader)) == 1

            async with Producer(broker.bootstrap, retry_backoff_ms=10) as producer:
                await (await producer.send("flights", b"0"))
                await asyncio.to_thread(faults.part_node, leader)
                told = await asyncio.to_thread(faults.call, "GET", f"/nodes/{leader}")
                assert told["is_parted"]
                broker.faults.clear()
                unheard = await producer.send("flights", b"1")
                await wait_for_async(has_come, timeout=30)
                assert not unheard.done()
                await asyncio.to_thread(faults.join_node, leader)
                assert (await unheard).offset == 1
                assert (await (await producer.send("flights", b"2"))).offset == 2
            await asyncio.to_thread(faults.part_node, leader)
            await asyncio.to_thread(faults.clear)
            assert not broker.nodes[leader].is_parted

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_follower_that_lags_has_what_is_acknowledged_wait_for_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_nodes(tmp_path) as (broker, faults):
            leader = await leader_of(broker)
            lagging = leader % 3 + 1
            async with Producer(broker.bootstrap) as producer:
                await asyncio.to_thread(faults.lag_node, lagging)
                assert (await asyncio.to_thread(faults.call, "GET", f"/nodes/{lagging}"))["is_lagging"]
                waiting = await producer.send("flights", b"0")
                written = broker.faults.requests
                await wait_for_async(lambda: bool(written("Produce", node=leader)), timeout=30)
                assert not waiting.done()
                await asyncio.to_thread(faults.catch_up_node, lagging)
                assert (await waiting).offset == 0
            await asyncio.to_thread(faults.lag_node, lagging)
            await asyncio.to_thread(faults.clear)
            assert not broker.nodes[lagging].is_lagging
            with pytest.raises(FaultControlError, match=r"a node is one of stopped, killed, .*, not 'lost'"):
                await asyncio.to_thread(faults.call, "PUT", f"/nodes/{lagging}", {"state": "lost"})

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_leader_is_moved_and_a_node_stopped_and_nothing_is_lost(tmp_path: Path) -> None:
    async def main() -> None:
        async with three_nodes(tmp_path) as (broker, faults):
            first = await leader_of(broker)
            other = first % 3 + 1
            async with Producer(broker.bootstrap, retry_backoff_ms=10) as producer:
                sent = [await (await producer.send("flights", b"0"))]
                await asyncio.to_thread(faults.move_leader, "flights", 0, other)
                assert await leader_of(broker) == other
                sent.append(await (await producer.send("flights", b"1")))
                await asyncio.to_thread(faults.stop_node, other)
                sent.append(await (await producer.send("flights", b"2")))
                await asyncio.to_thread(faults.start_node, other)
                sent.append(await (await producer.send("flights", b"3")))
            assert [each.offset for each in sent] == [0, 1, 2, 3]
            asked = await asyncio.to_thread(faults.requests, "Produce")
            assert {other} < {each.node for each in asked}
            with pytest.raises(FaultControlError, match="not in sync"):
                await asyncio.to_thread(faults.move_leader, "flights", 0, 9)
            with pytest.raises(FaultControlError, match="no node 7"):
                await asyncio.to_thread(faults.stop_node, 7)

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_coordinator_is_moved_and_the_group_goes_on(tmp_path: Path, eventually_async: Eventually) -> None:
    async def main() -> None:
        async with three_nodes(tmp_path) as (broker, faults):
            settings = {"group_id": "g", "auto_offset_reset": "earliest", "heartbeat_interval_ms": 100}
            async with (
                Producer(broker.bootstrap) as producer,
                Consumer(broker.bootstrap, **settings) as consumer,
            ):
                consumer.subscribe(["flights"])
                await (await producer.send("flights", b"0"))
                assert await eventually_async(lambda: consumer.poll(1))
                await consumer.commit()
                for node in (1, 2, 3):
                    await asyncio.to_thread(faults.move_coordinator, "g", node)
                    await (await producer.send("flights", b"1"))
                    assert await eventually_async(lambda: consumer.poll(1))
                    await consumer.commit()
            commits = await asyncio.to_thread(faults.requests, "OffsetCommit", group="g")
            assert {each.node for each in commits} == {1, 2, 3}

    asyncio.run(asyncio.wait_for(main(), 120))
