"""Who connects while a server of asyncio stops."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

from barnabas.http.json_server import JsonServer
from barnabas.net.server import KafkaServer

HOST = "127.0.0.1"


async def no_answer(*_: object) -> None:
    raise AssertionError("nothing was asked")


async def listen(kind: type[KafkaServer | JsonServer]) -> tuple[KafkaServer | JsonServer, int]:
    if kind is KafkaServer:
        kafka = KafkaServer(no_answer, {})
        return kafka, await kafka.start(HOST, 0)
    json = JsonServer(no_answer)
    await json.start(HOST, 0)
    return json, int(json.url.rpartition(":")[2])


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("kind", [KafkaServer, JsonServer])
def test_stopping_ends_a_connection_that_is_just_being_made(
    kind: type[KafkaServer | JsonServer], turns: int
) -> None:
    async def main() -> None:
        server, port = await listen(kind)
        with socket.create_connection((HOST, port), 30) as client:
            for _ in range(turns):
                await asyncio.sleep(0)
            await server.stop()
            with contextlib.suppress(ConnectionResetError):
                assert client.recv(1) == b""

    asyncio.run(main())
