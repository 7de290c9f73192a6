"""Time that passes only when nothing is left to do."""

from __future__ import annotations

import asyncio
import time

import pytest

from barnabas import background
from barnabas.clock import CLOCK
from barnabas.errors import KafkaConnectionError
from barnabas.net.addresses import in_thread
from barnabas.net.connection import Connection
from barnabas.net.server import KafkaServer
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

from .loop import NothingToWaitForError, VirtualWorld, first_difference


def test_a_day_passes_at_once_and_by_all_clocks() -> None:
    async def scenario() -> tuple[float, int]:
        monotonic, now_ms = CLOCK.monotonic(), CLOCK.now_ms()
        await asyncio.sleep(86_400)
        return CLOCK.monotonic() - monotonic, CLOCK.now_ms() - now_ms

    began = time.monotonic()
    assert VirtualWorld(seed=1).run(scenario) == (pytest.approx(86_400), 86_400_000)
    assert time.monotonic() - began < 60
    assert abs(CLOCK.now_ms() - time.time() * 1000) < 60_000


def test_timers_are_due_in_their_order() -> None:
    async def scenario() -> list[str]:
        woken: list[str] = []

        async def sleeper(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            woken.append(name)

        await asyncio.gather(sleeper("third", 30), sleeper("first", 0.001), sleeper("second", 20))
        return woken

    assert VirtualWorld(seed=1).run(scenario) == ["first", "second", "third"]


def test_who_waits_for_ever_is_told_at_once() -> None:
    async def scenario() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingToWaitForError):
        VirtualWorld(seed=1).run(scenario)


def test_what_another_thread_is_to_do_is_done_and_raised() -> None:
    async def scenario() -> int:
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 // 0)
        return await in_thread(lambda: 7)

    assert VirtualWorld(seed=1).run(scenario) == 7


async def ask_a_server() -> None:
    """Two clients, of which the server hangs up on the second; nobody listens after that."""

    async def answer(*_: object) -> ApiVersionsResponse:
        await asyncio.sleep(5)
        return ApiVersionsResponse(
            api_keys=[ApiVersionsResponse.ApiVersion(ApiVersionsRequest.API_KEY, 0, 4)]
        )

    server = KafkaServer(answer, {ApiVersionsRequest.API_KEY: (0, 4)})
    port = await server.start("127.0.0.1", 0)
    first = await Connection.open("127.0.0.1", port, client_id="first")
    await first.send(ApiVersionsRequest(), timeout_ms=10_000)
    second = await Connection.open("127.0.0.1", port, client_id="second")
    waiting = second.submit(ApiVersionsRequest(), timeout_ms=10_000)
    background.start(server.stop(), what="stopping")
    with pytest.raises(KafkaConnectionError, match="closed the connection"):
        await waiting
    with pytest.raises(KafkaConnectionError, match="Connection refused"):
        await Connection.open("127.0.0.1", port, client_id="third")


def test_connections_are_made_and_lost_in_memory_and_alike_by_one_seed() -> None:
    worlds = [VirtualWorld(seed, keeps_trace=True) for seed in (1, 1, 2)]
    for world in worlds:
        world.run(ask_a_server)
    same, again, other = worlds
    assert first_difference(same.trace, again.trace) == ""
    assert same.digest == again.digest
    assert first_difference(same.trace, other.trace).startswith("message 0:")
    assert same.digest != other.digest
