from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.integration.clusters import HarmedCluster

from barnabas import ConfigResource, NewTopic, ResourceType, aio


@contextlib.asynccontextmanager
async def polled(consumer: aio.Consumer) -> AsyncIterator[None]:
    """A member whose records are taken all the while."""
    stop = asyncio.Event()

    async def poll() -> None:
        while not stop.is_set():
            await consumer.poll(0.1)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(poll())
        try:
            yield
        finally:
            stop.set()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_keeps_its_members_and_partitions_when_its_coordinator_is_killed(
    harmed_cluster: HarmedCluster,
    topic: Callable[[], str],
    eventually_async: Callable[..., Awaitable[Any]],
    protocol: Any,
) -> None:
    name = topic()
    told: list[str] = []
    settings: dict[str, Any] = {
        "group_id": name,
        "group_protocol": protocol,
        "enable_auto_commit": False,
        "request_timeout_ms": 5_000,
    }

    async def main() -> None:
        async with (
            aio.Admin(harmed_cluster.bootstrap) as admin,
            aio.Consumer(harmed_cluster.bootstrap, **settings) as first,
            aio.Consumer(harmed_cluster.bootstrap, **settings) as second,
        ):
            await admin.create_topics([NewTopic(name, 4)])
            if protocol == "consumer":
                # The next coordinator counts from when it has read the group, before clients find it.
                group_config = ConfigResource(ResourceType.GROUP, name)
                await admin.alter_configs({group_config: {"consumer.session.timeout.ms": "30000"}})
            for consumer in (first, second):
                consumer.subscribe(
                    [name],
                    on_revoked=lambda partitions: told.append(f"revoked {partitions}"),
                    on_lost=lambda partitions: told.append(f"lost {partitions}"),
                )

            async def settled() -> bool:
                # Two partitions are not all: by the consumer protocol (KIP-848) a member has them before it
                # hears of the epoch at which the others gave theirs up.
                group = (await admin.describe_groups([name]))[name]
                generations = {consumer.group_metadata().generation for consumer in (first, second)}
                return (
                    [len(consumer.assignment()) for consumer in (first, second)] == [2, 2]
                    and group.state == "Stable"
                    and generations == {group.group_epoch or max(generations)}
                )

            async with polled(first), polled(second):
                await eventually_async(settled)
                before = [(c.group_metadata(), sorted(c.assignment())) for c in (first, second)]
                told.clear()
                coordinator = (await admin.describe_groups([name]))[name].coordinator
                assert coordinator is not None
                node = harmed_cluster.node(coordinator.node_id)
                await asyncio.to_thread(node.kill)
                try:
                    await first.commit({(name, 0): 3}, timeout=30)
                    await second.commit({(name, 1): 4}, timeout=30)
                    moved = (await admin.describe_groups([name]))[name].coordinator
                    assert moved is not None
                    assert moved.node_id != coordinator.node_id
                    assert told == []
                    assert [(c.group_metadata(), sorted(c.assignment())) for c in (first, second)] == before
                finally:
                    await asyncio.to_thread(node.start)
                    await asyncio.to_thread(harmed_cluster.wait_until_whole)
            committed = await first.committed([(name, 0), (name, 1)])
            assert [place.offset for place in committed.values() if place is not None] == [3, 4]

    asyncio.run(main())
