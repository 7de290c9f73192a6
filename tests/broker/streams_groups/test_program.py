"""Streams groups of a broker that stops, or of several nodes, one of which stops."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.server import Broker
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.testing import EmbeddedBroker

from .streams_session import Request, StreamsSession


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_members_go_on_after_a_restart_as_they_were(tmp_path: Path, how: str) -> None:
    async def join(broker: EmbeddedBroker) -> StreamsSession:
        on = await StreamsSession.open(broker.bootstrap, "run")
        topology = on.topology(on.part("0", ["a"], changelogs=(on.info("c", retention_ms="9000"),)))
        tags = [Request.KeyValue("zone", "z")]
        for member in ("one", "two"):
            endpoint = Request.Endpoint(member, 1)
            await on.beat(member, 0, topology, user_endpoint=endpoint, client_tags=tags)
        await on.settle("one", "two")
        await on.describe()
        on.connection.close()
        return on

    async def go_on(broker: EmbeddedBroker, before: StreamsSession) -> None:
        on = await StreamsSession.open(broker.bootstrap, "again")
        on.run, on.group = before.run, before.group
        on.epochs, on.tasks = dict(before.epochs), before.tasks
        await on.owns("one")
        await on.owns("two")
        await on.describe()
        on.connection.close()
        assert on.epochs == before.epochs
        assert on.told[-1] == before.told[-1]

    with EmbeddedBroker(data_dir=tmp_path / "data") as broker:
        joined = asyncio.run(join(broker))
        getattr(broker, how)()
        broker.start()
        asyncio.run(go_on(broker, joined))


def test_another_node_takes_over_a_group_whose_coordinator_stops(tmp_path: Path) -> None:
    async def play() -> None:
        broker = Broker(tmp_path / "data", nodes=3)
        await broker.start()
        try:
            first = await _coordinator(broker, 1)
            await broker.nodes[first].stop()
            last = await _coordinator(broker, first % 3 + 1)
            assert last != first
        finally:
            await broker.stop()

    asyncio.run(play())


async def _coordinator(broker: Broker, asked: int) -> int:
    """Who coordinates the group; the others send away a member, which gets on there."""
    on = await StreamsSession.open_raw(broker.nodes[asked].bootstrap, "run")
    found = await on.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[on.group]))
    on.connection.close()
    coordinator = found.coordinators[0].node_id
    for node in broker.nodes.values():
        if not node.is_running:
            continue
        on = await StreamsSession.open_raw(node.bootstrap, "run")
        answer = await on.beat("one", 0, on.topology(on.part("0", ["a"])))
        await on.describe()
        on.connection.close()
        not_coordinator = 16
        expected = 0 if node.node_id == coordinator else not_coordinator
        assert (answer.error_code, on.told[-1][1]) == (expected, expected)
    return coordinator
