"""A connection that is reset, ended or left alone after any byte of what the broker says: opening it, TLS,
SASL and a request. Only errors of Barnabas come out, in time, and nothing is left open."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal

import pytest

from barnabas.errors import BarnabasError
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.settings.table import CommonConfig, load
from barnabas.testing import EmbeddedBroker, SecureListeners

Ending = Literal["reset", "end", "silence"]
ENDINGS: tuple[Ending, ...] = ("reset", "end", "silence")
AT_ONCE = 64
TIMEOUT_MS = 200.0
"""Of whoever waits for a byte that does not come."""
SLACK_SECONDS = 60.0
PLAIN = {"sasl_mechanism": "PLAIN", "sasl_username": "admin", "sasl_password": "admin-secret"}
LISTENERS: dict[str, dict[str, Any]] = {
    "PLAINTEXT": {},
    "SASL_PLAINTEXT": {**PLAIN, "sasl_mechanism": "SCRAM-SHA-256"},
    "SSL": {},
    "SASL_SSL": PLAIN,
}
# A handshake by TLS, or a hash of SCRAM, costs milliseconds; chaos takes all of the bytes.
STRIDES = {"PLAINTEXT": 1, "SASL_PLAINTEXT": 7, "SSL": 41, "SASL_SSL": 43}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(security=SecureListeners()) as broker:
        yield broker


class Front:
    """Passes what the broker says until `limit` bytes, and ends all as `ending` says."""

    def __init__(self, address: str, limit: int | None = None, ending: Ending = "end") -> None:
        host, _, port = address.rpartition(":")
        self._broker = (host, int(port))
        self._limit = limit
        self._ending = ending
        self._connections: list[asyncio.Task[None]] = []
        self._clients: list[socket.socket] = []
        self.passed = 0

    async def __aenter__(self) -> Front:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)
        self.port: int = self._listening.getsockname()[1]
        self._accepting = asyncio.create_task(self._accept())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (self._accepting, *self._connections):
            task.cancel()
        await asyncio.gather(self._accepting, *self._connections, return_exceptions=True)
        # A task that was cancelled before its first step has closed nothing.
        for sock in (self._listening, *self._clients):
            sock.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(self._listening)
            self._clients.append(client)
            self._connections.append(asyncio.create_task(self._serve(client)))

    async def _serve(self, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with client, socket.socket() as server:
            client.setblocking(False)
            server.setblocking(False)
            with contextlib.suppress(OSError):
                if self._limit == 0 and self._ending == "reset":
                    # Before the client has looked whom it is connected to.
                    self._reset(client)
                    return
                await loop.sock_connect(server, self._broker)
                requests = asyncio.create_task(self._pass_requests(client, server))
                try:
                    await self._pass_answers(server, client)
                finally:
                    requests.cancel()
                    await asyncio.gather(requests, return_exceptions=True)
                if self._ending == "reset" and self._limit is not None and self.passed >= self._limit:
                    self._reset(client)

    async def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(client, 65536):
            await loop.sock_sendall(server, data)
        server.shutdown(socket.SHUT_WR)

    async def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while self._limit is None or self.passed < self._limit:
            data = await loop.sock_recv(server, 65536)
            if not data:
                return
            data = data if self._limit is None else data[: self._limit - self.passed]
            self.passed += len(data)
            await loop.sock_sendall(client, data)
        if self._ending == "silence":
            await asyncio.Event().wait()

    @staticmethod
    def _reset(client: socket.socket) -> None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()


async def converse(port: int, security: Security | None, timeout_ms: float = 30_000.0) -> None:
    connection = await Connection.open(
        "127.0.0.1",
        port,
        client_id="cut",
        security=security,
        connect_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
    )
    try:
        await connection.send(MetadataRequest(topics=[]), timeout_ms=timeout_ms)
    finally:
        connection.close()
        await connection.wait_closed()


async def cut_everywhere(broker: EmbeddedBroker, listener: str, stride: int) -> None:
    """Raises: whatever leaves a connection and is no error of Barnabas; AssertionError if there was no error
    where not all had come, or if it came too late."""
    settings = dict(LISTENERS[listener])
    if listener.endswith("SSL"):
        assert broker.certificates is not None
        settings["ssl_truststore_location"] = str(broker.certificates.ca)
    address = broker.bootstrap_for(listener)
    config = load(CommonConfig, {"bootstrap_servers": address, "security_protocol": listener, **settings})
    security = None if listener == "PLAINTEXT" else Security(config)
    async with Front(address) as front:
        await converse(front.port, security)
        whole = front.passed
    room = asyncio.Semaphore(AT_ONCE)
    # By TLS the last bytes may be of a session that nobody resumes.
    needed = whole if not listener.endswith("SSL") else 0

    async def cut(limit: int, ending: Ending) -> None:
        async with room, Front(address, limit, ending) as front, asyncio.timeout(SLACK_SECONDS):
            try:
                await converse(front.port, security, TIMEOUT_MS)
            except BarnabasError:
                return
            assert limit >= needed, f"{limit} bytes of {whole} were taken for all, then {ending}"

    async with asyncio.TaskGroup() as cuts:
        for ending in ENDINGS:
            for limit in range(0, whole, stride):
                cuts.create_task(cut(limit, ending))


def run(work: Callable[[], Awaitable[None]]) -> None:
    unhandled: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        await work()

    asyncio.run(main())
    assert unhandled == []


@pytest.mark.integration
@pytest.mark.parametrize("listener", LISTENERS)
def test_a_connection_that_is_cut_after_any_byte_ends_in_an_error_of_barnabas(
    broker: EmbeddedBroker, listener: str
) -> None:
    run(lambda: cut_everywhere(broker, listener, STRIDES[listener]))


@pytest.mark.chaos
@pytest.mark.parametrize("listener", LISTENERS)
def test_a_connection_that_is_cut_after_each_byte_ends_in_an_error_of_barnabas(
    broker: EmbeddedBroker, listener: str
) -> None:
    run(lambda: cut_everywhere(broker, listener, 1))
