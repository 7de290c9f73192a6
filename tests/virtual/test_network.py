"""Connections of a host that is parted from the others, or loses them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import pytest

from barnabas.errors import KafkaConnectionError
from barnabas.net.connection import Connection
from barnabas.net.server import KafkaServer
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

from .loop import HERE, VirtualWorld

VERSIONS = {ApiVersionsRequest.API_KEY: (0, 4)}
Scenario = Callable[[VirtualWorld, int], Awaitable[None]]


def play(scenario: Scenario) -> None:
    """On a host called here, with the port of a server."""
    world = VirtualWorld(seed=1)

    async def answer(*_: object) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            api_keys=[ApiVersionsResponse.ApiVersion(ApiVersionsRequest.API_KEY, 0, 4)]
        )

    async def main() -> None:
        HERE.set("here")
        server = KafkaServer(answer, VERSIONS)
        port = await server.start("127.0.0.1", 0)
        await scenario(world, port)
        await server.stop()

    world.run(main)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    with closing(await Connection.open("127.0.0.1", port, client_id="client")) as connection:
        yield connection


def ask(connection: Connection) -> asyncio.Future[ApiVersionsResponse]:
    return connection.submit(ApiVersionsRequest(), timeout_ms=100_000)


def test_what_was_sent_while_a_host_was_parted_arrives_when_it_joins() -> None:
    async def scenario(world: VirtualWorld, port: int) -> None:
        async def connect() -> None:
            async with connected(port):
                pass

        async with connected(port) as connection:
            world.network.part("here")
            answer, another = ask(connection), asyncio.create_task(connect())
            await asyncio.sleep(5)
            assert not answer.done()
            assert not another.done()
            world.network.join("here")
            await asyncio.gather(answer, another)

    play(scenario)


def test_the_end_of_a_connection_arrives_behind_what_was_held_back() -> None:
    arrived: list[bytes] = []

    class Listening(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            arrived.append(data)

        def connection_lost(self, exc: Exception | None) -> None:
            arrived.append(b"end")

    async def scenario(world: VirtualWorld, _: int) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Listening, "127.0.0.1", 0)
        await server.start_serving()
        port = server.sockets[0].getsockname()[1]
        transport, _protocol = await loop.create_connection(asyncio.Protocol, "127.0.0.1", port)
        world.network.part("here")
        transport.write(b"something")
        transport.close()
        await asyncio.sleep(5)
        assert not arrived
        world.network.join("here")
        await asyncio.sleep(5)
        assert arrived == [b"something", b"end"]

    play(scenario)


def test_connections_that_are_cut_end_what_waits_and_those_of_other_hosts_go_on() -> None:
    async def scenario(world: VirtualWorld, port: int) -> None:
        async with connected(port) as here:
            HERE.set("elsewhere")
            async with connected(port) as elsewhere:
                waiting, others = ask(here), ask(elsewhere)
                world.network.cut("here")
                with pytest.raises(KafkaConnectionError):
                    await waiting
                await others

    play(scenario)
