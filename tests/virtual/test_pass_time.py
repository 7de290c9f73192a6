"""A broker's time can pass without waiting for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.broker.in_process import Client
from tests.broker.test_groups import GROUP, Member

from barnabas.broker.clock_loop import new_clock_loop, pass_time
from barnabas.broker.server import Broker
from barnabas.clock import CLOCK
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest

T = TypeVar("T")

pytestmark = pytest.mark.usefixtures("clock_put_back")


def run(scenario: Callable[[], Awaitable[T]]) -> T:
    async def main() -> T:
        return await scenario()

    with asyncio.Runner(loop_factory=new_clock_loop) as runner:
        return runner.run(main())


def test_sleeps_end_in_their_order_and_those_that_begin_meanwhile_as_well() -> None:
    async def scenario() -> None:
        woken: list[str] = []

        async def sleeper(name: str, *naps: float) -> None:
            for seconds in naps:
                await asyncio.sleep(seconds)
            woken.append(name)

        names = {"again and again": (1000.0,) * 3, "long": (3500.0,), "short": (10.0,), "too long": (3700.0,)}
        sleepers = [asyncio.create_task(sleeper(name, *naps)) for name, naps in names.items()]
        await asyncio.sleep(0)
        before, day = CLOCK.monotonic(), CLOCK.now_ms()
        began = time.monotonic()
        await pass_time(3600)
        assert time.monotonic() - began < 60
        assert woken == ["short", "again and again", "long"]
        assert 3600 <= CLOCK.monotonic() - before < 3660
        assert 3_600_000 <= CLOCK.now_ms() - day < 3_660_000
        sleepers[-1].cancel()

    run(scenario)


@pytest.mark.integration
def test_a_member_that_is_silent_while_time_passes_is_a_member_no_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        broker = Broker(tmp_path)
        await broker.start()
        try:
            client = await Client.connect(broker)
            member = Member(client)
            await member.join(session_timeout_ms=45_000)
            await member.sync()
            await broker.upsets().pass_time(30_000)
            assert len(await members(client)) == 1
            await broker.upsets().pass_time(20_000)
            assert await members(client) == []
            client.connection.close()
        finally:
            await broker.upsets().settle()
            await broker.stop()

    async def members(client: Client) -> list[str]:
        described = await client.send(DescribeGroupsRequest([GROUP]))
        return [member.member_id for member in described.groups[0].members]

    run(scenario)
