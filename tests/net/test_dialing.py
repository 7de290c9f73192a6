from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from barnabas.errors import KafkaConnectionError
from barnabas.net import connection
from barnabas.net.connection import Connection
from barnabas.net.dialing import dial
from barnabas.net.tls import Tls
from barnabas.net.tls_connect import connect_tls
from barnabas.settings.table import CommonConfig

WAIT = 10.0


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def local_address(port: int, source: str | None) -> tuple[str, int]:
    async def main() -> tuple[str, int]:
        with await dial("127.0.0.1", port, WAIT, "any", -1, -1, source_address=source) as sock:
            return sock.getsockname()

    return asyncio.run(main())


@pytest.mark.parametrize("source", ["127.0.0.2", "127.0.0.2:", "127.0.0.2:0"])
@pytest.mark.integration
def test_a_connection_is_made_from_the_host_that_one_wants(port: int, source: str) -> None:
    assert local_address(port, source)[0] == "127.0.0.2"


@pytest.mark.integration
def test_a_connection_is_made_from_the_port_that_one_wants(port: int) -> None:
    with socket.create_server(("127.0.0.2", 0)) as server:
        free = server.getsockname()[1]
    assert local_address(port, f"127.0.0.2:{free}") == ("127.0.0.2", free)


# An address for documentation (RFC 5737), which no host has, and what is no port.
@pytest.mark.parametrize("source", ["203.0.113.1", "127.0.0.1:port"])
@pytest.mark.integration
def test_an_address_that_cannot_be_bound_to_is_an_error(port: int, source: str) -> None:
    with pytest.raises(KafkaConnectionError):
        local_address(port, source)


def test_a_connection_that_is_reset_as_soon_as_it_is_made_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What the kernel makes of one that was reset has no peer, as one that never was made has none.
    reset = [socket.socket(), socket.socket()]

    async def dialed(*_: object) -> socket.socket:
        return reset[0]

    tls = Tls(CommonConfig(bootstrap_servers="127.0.0.1"))

    async def main() -> None:
        with pytest.raises(KafkaConnectionError, match="broker-1 closed the connection as soon"):
            await Connection.open("127.0.0.1", 1, client_id="test", name="broker-1")
        with pytest.raises(KafkaConnectionError, match="broker-2 closed the connection as soon"):
            await connect_tls(asyncio.Protocol, reset[1], "127.0.0.1", tls, timeout=WAIT, name="broker-2")

    monkeypatch.setattr(connection, "dial", dialed)
    asyncio.run(main())
    assert [sock.fileno() for sock in reset] == [-1, -1]
