"""What listens at an address is no broker, or none that speaks as this client does: one sentence says so."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from barnabas import Admin, Consumer, Producer, aio
from barnabas.errors import BootstrapError, BrokenProtocolError, KafkaConnectionError
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.settings.table import CommonConfig, load

LIMITS = {"request_timeout_ms": 200, "default_api_timeout_ms": 700}


@pytest.fixture
def silent_server() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def web_server() -> Iterator[str]:
    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        # A blocked accept does not hear of close.
        listener.shutdown(socket.SHUT_RDWR)
    server.join()


def list_topics(server: str) -> None:
    with Admin(server, **LIMITS) as admin:
        admin.list_topics()


def send(server: str) -> None:
    with Producer(server, max_block_ms=700, request_timeout_ms=200) as producer:
        producer.send("orders", b"v")


def poll(server: str) -> None:
    with Consumer(server, **LIMITS) as consumer:
        consumer.subscribe(["orders"])
        consumer.poll(20)


def list_topics_in_loop(server: str) -> None:
    async def main() -> None:
        async with aio.Admin(server, **LIMITS) as admin:
            await admin.list_topics()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("call", "limit"),
    [
        (list_topics, "default_api_timeout_ms=700"),
        (list_topics_in_loop, "default_api_timeout_ms=700"),
        (poll, "default_api_timeout_ms=700"),
        (send, "max_block_ms=700"),
    ],
)
def test_a_silent_server_is_told_with_the_settings_that_governed_the_wait(
    silent_server: str, call: Callable[[str], None], limit: str
) -> None:
    with pytest.raises(BootstrapError) as raised:
        call(silent_server)
    assert str(raised.value) == (
        f"none of bootstrap_servers answered within {limit}: {silent_server} did not answer ApiVersions "
        "within request_timeout_ms=200; if it expects TLS, set security_protocol to SSL or SASL_SSL; "
        "check these addresses, and whether brokers run there"
    )


@pytest.mark.parametrize("call", [list_topics, list_topics_in_loop, poll, send])
def test_a_web_server_is_told_as_one(web_server: str, call: Callable[[str], None]) -> None:
    with pytest.raises(BrokenProtocolError) as raised:
        call(web_server)
    assert str(raised.value) == (
        f"{web_server}: it answers in HTTP and does not speak Kafka's protocol: give a broker's port"
    )


def test_the_command_line_tells_of_a_web_server_once(web_server: str) -> None:
    command = [sys.executable, "-m", "barnabas.cli", "topics", "list", "--bootstrap", web_server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: {web_server}: it answers in HTTP and does not speak Kafka's protocol: give a broker's port"
    ]


def test_a_server_that_is_silent_in_the_tls_handshake_is_told_with_its_setting(silent_server: str) -> None:
    security = Security(load(CommonConfig, {"bootstrap_servers": silent_server, "security_protocol": "SSL"}))
    host, _, port = silent_server.partition(":")

    async def main() -> None:
        await Connection.open(host, int(port), client_id="t", security=security, connect_timeout_ms=200)

    with pytest.raises(KafkaConnectionError) as raised:
        asyncio.run(main())
    assert str(raised.value) == (
        f"{silent_server} did not end the TLS handshake within 200 ms (socket_connection_setup_timeout_ms); "
        "does this port speak TLS?"
    )
