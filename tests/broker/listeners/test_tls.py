"""TLS as its bytes are: who does not speak it is told so, and who sends with its handshake is answered."""

from __future__ import annotations

import socket
import ssl
import struct

import pytest
from tests.waiting import Patience

from barnabas.protocol.frame import decode_response, encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

PATIENCE_SECONDS = 30
NO_TLS = {
    "a request without TLS": encode_request(ApiVersionsRequest(), 0, 1, "test"),
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "a handshake of garbage": b"\x16\x03\x01\x00\x05garba",
    "ones": b"\xff" * 100,
}


def connected(bootstrap: str) -> socket.socket:
    host, port = bootstrap.split(":")
    connection = socket.create_connection((host, int(port)), PATIENCE_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_to_end(connection: socket.socket) -> bytes:
    received = b""
    while chunk := connection.recv(4096):
        received += chunk
    return received


@pytest.mark.parametrize("sent", NO_TLS)
def test_who_does_not_speak_tls_gets_the_alert_that_kafka_sends(
    brokers: tuple[ApacheKafka, EmbeddedBroker], sent: str
) -> None:
    answers: list[bytes] = []
    for broker in brokers:
        with connected(broker.bootstrap_for("SSL")) as connection:
            connection.sendall(NO_TLS[sent])
            answers.append(read_to_end(connection))
    assert answers[1] == answers[0]
    assert answers[0].startswith(b"\x15\x03\x03")


class Handshake:
    """A client's TLS over a socket, step by step."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self._connection = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")

    def shake_hands(self) -> None:
        """The client's last message is not sent yet."""
        while True:
            try:
                self.tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                self.send()
                self._receive()

    def send(self) -> None:
        self._connection.sendall(self._outgoing.read())

    def read(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            try:
                received += self.tls.read(size - len(received))
            except ssl.SSLWantReadError:
                self._receive()
        return received

    def _receive(self) -> None:
        chunk = self._connection.recv(65536)
        if not chunk:
            raise ConnectionResetError
        self._incoming.write(chunk)


def trusting(broker: EmbeddedBroker) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(broker.certificates.ca))
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def test_requests_in_the_same_packet_as_the_end_of_the_handshake_are_answered(
    brokers: tuple[ApacheKafka, EmbeddedBroker],
) -> None:
    """The server's handshake ends, and the requests are there, before it has a connection to serve."""
    _, broker = brokers
    with connected(broker.bootstrap_for("SSL")) as connection:
        client = Handshake(connection, trusting(broker))
        client.shake_hands()
        for number in range(20):
            client.tls.write(encode_request(ApiVersionsRequest(), 0, number, "test"))
        client.send()
        for number in range(20):
            (size,) = struct.unpack(">i", client.read(4))
            answer = client.read(size)
            assert int.from_bytes(answer[:4]) == number
            assert decode_response(ApiVersionsRequest, 0, answer).error_code == 0


def test_a_large_frame_in_the_same_packet_as_the_end_of_the_handshake_is_refused_before_a_login(
    brokers: tuple[ApacheKafka, EmbeddedBroker],
) -> None:
    _, broker = brokers
    with connected(broker.bootstrap_for("SASL_SSL")) as connection:
        client = Handshake(connection, trusting(broker))
        client.shake_hands()
        client.tls.write(struct.pack(">i", 600_000) + bytes(10_000))
        client.send()
        with pytest.raises((ConnectionResetError, ssl.SSLZeroReturnError)):
            client.read(1)


def test_a_client_that_is_refused_and_stays_is_let_go(brokers: tuple[ApacheKafka, EmbeddedBroker]) -> None:
    _, broker = brokers
    with connected(broker.bootstrap_for("SSL")) as connection:
        connection.sendall(NO_TLS["ones"])
        assert read_to_end(connection).startswith(b"\x15\x03\x03")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            send_until_it_is_over(connection)


def send_until_it_is_over(connection: socket.socket) -> None:
    patience = Patience()
    while True:
        connection.sendall(bytes(1000))
        patience.pause()
