"""Whatever becomes of a client, no socket of its outlives it: asyncio says so of those that do, once they are
collected. The brokers here never say goodbye, so that nothing depends on who is quicker."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
import ssl
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from barnabas import aio
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BarnabasError, KafkaConnectionError, SaslMechanismError
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.protocol.server_frame import decode_request, encode_response
from barnabas.settings.table import AdminConfig, load
from barnabas.testing import Certificates
from barnabas.types import Node

UNSUPPORTED_SASL_MECHANISM = 33
SPOKEN = (ApiVersionsRequest, MetadataRequest, SaslHandshakeRequest, DescribeClusterRequest)
WAIT_SECONDS = 60

Serve = Callable[[socket.socket, int], None]


class Peer:
    """A server whose connections are threads; they stay open until the test is over."""

    def __init__(self, serve: Serve) -> None:
        """`serve(connection, number)` for each connection, counted from 0."""
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.is_over = threading.Event()
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                thread = threading.Thread(target=self._run, args=(connection, len(self._connections)))
                self._connections.append(connection)
                self._threads.append(thread)
                thread.start()

    def _run(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError), connection:
            self._serve(connection, number)

    def stop(self) -> None:
        self.is_over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(WAIT_SECONDS)
        self._listener.close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(WAIT_SECONDS)


@pytest.fixture
def listening() -> Iterator[Callable[[Serve], Peer]]:
    """`listening(serve)`: see Peer."""
    peers: list[Peer] = []

    def listen(serve: Serve) -> Peer:
        peers.append(Peer(serve))
        return peers[-1]

    yield listen
    for peer in peers:
        peer.stop()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.in_folder(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def silent_broker(listening: Callable[[Serve], Peer], certificates: Certificates) -> Peer:
    """Speaks TLS, knows no SASL mechanism and no topic, lives at "localhost", and never says goodbye."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.broker)

    def serve(connection: socket.socket, number: int) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            while frame := _next_frame(secured):
                header, request = decode_request(frame)
                version, key = header.request_api_version, header.request_api_key
                secured.sendall(encode_response(_answer(request, peer), key, version, header.correlation_id))
            peer.is_over.wait(WAIT_SECONDS)

    peer = listening(serve)
    return peer


def _next_frame(connection: socket.socket) -> bytes:
    """Nothing when the other side has said goodbye."""
    received = b""
    while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4]):
        wanted = 4 - len(received) if len(received) < 4 else 4 + int.from_bytes(received[:4]) - len(received)
        piece = connection.recv(wanted)
        if not piece:
            return b""
        received += piece
    return received[4:]


def _answer(request: Any, peer: Peer) -> Any:
    if isinstance(request, SaslHandshakeRequest):
        return SaslHandshakeResponse(error_code=UNSUPPORTED_SASL_MECHANISM, mechanisms=["OTHER"])
    if isinstance(request, MetadataRequest):
        broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="localhost", port=peer.port)
        return MetadataResponse(brokers=[broker], cluster_id="c", controller_id=1)
    return ApiVersionsResponse(
        api_keys=[ApiVersionsResponse.ApiVersion(each.API_KEY, *each.VERSIONS) for each in SPOKEN]
    )


def left_open_by(main: Callable[[], Coroutine[Any, Any, None]]) -> list[str]:
    """What is said of sockets and transports that an event loop of its own leaves behind."""
    # pytest keeps what is logged: an error, with its frames and all that they hold.
    logging.disable()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asyncio.run(main())
            gc.collect()
    finally:
        logging.disable(logging.NOTSET)
    return [str(each.message) for each in caught]


def settings_for(peer: Peer, certificates: Certificates, **others: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": f"127.0.0.1:{peer.port}",
        "security_protocol": "SSL",
        "ssl_truststore_location": str(certificates.ca),
        **others,
    }


def test_a_connection_that_is_refused_after_the_tls_handshake_is_closed(
    silent_broker: Peer, certificates: Certificates
) -> None:
    credentials = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"} | {
        "sasl_username": "alice",
        "sasl_password": "secret",
    }

    async def main() -> None:
        async with aio.Admin(**settings_for(silent_broker, certificates, **credentials)) as admin:
            with pytest.raises(SaslMechanismError):
                await admin.list_topics()

    assert left_open_by(main) == []


def test_a_broker_that_never_says_goodbye_is_not_waited_for(
    silent_broker: Peer, certificates: Certificates
) -> None:
    async def main() -> None:
        client = KafkaClient(load(AdminConfig, settings_for(silent_broker, certificates)))
        await client.refresh_metadata()
        await client.connect(1)
        await client.close()

    assert left_open_by(main) == []


def test_a_connection_that_waits_for_its_last_answer_ends_with_the_client(
    silent_broker: Peer, certificates: Certificates
) -> None:
    async def main() -> None:
        client = KafkaClient(load(AdminConfig, settings_for(silent_broker, certificates)))
        pool = client.new_pool()
        connection = await pool.open(Node(1, "localhost", silent_broker.port))
        answer = connection.submit(MetadataRequest(), timeout_ms=60_000)
        connection.retire()
        assert not connection.is_closed
        await pool.close()
        assert connection.is_over
        with pytest.raises(KafkaConnectionError):
            await answer
        await client.close()

    assert left_open_by(main) == []


@pytest.mark.parametrize("when", ["TLS handshake", "finding out why TLS failed"])
def test_a_client_closed_while_it_connects_leaves_nothing(
    listening: Callable[[Serve], Peer], certificates: Certificates, when: str
) -> None:
    has_begun = threading.Event()
    last = 0 if when == "TLS handshake" else 1

    def serve(connection: socket.socket, number: int) -> None:
        connection.recv(5)
        if number >= last:
            has_begun.set()
            peer.is_over.wait(WAIT_SECONDS)

    peer = listening(serve)

    async def main() -> None:
        admin = aio.Admin(**settings_for(peer, certificates))
        asking = asyncio.create_task(admin.list_topics())
        await asyncio.to_thread(has_begun.wait, WAIT_SECONDS)
        await admin.close()
        with pytest.raises(BarnabasError):
            await asking

    assert left_open_by(main) == []
