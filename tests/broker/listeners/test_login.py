"""What comes in which order on a listener with SASL, and on one without: Kafka's answers and ours."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest

from barnabas.broker_errors import ErrorCode
from barnabas.protocol.frame import decode_response, encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

ALICE = b"\0alice\0alice-secret"
WRONG = b"\0alice\0wrong"
PATIENCE_SECONDS = 30


class Talk:
    """One connection, and what was said on it: the names of errors, texts and mechanisms."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.heard: list[Any] = []

    async def frame(self, frame: bytes) -> bytes | None:
        """Sends one; the answer without its length, None if the broker hangs up."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                self._writer.write(frame)
                (size,) = struct.unpack(">i", await self._reader.readexactly(4))
                return await self._reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError):
                self.heard.append("hung up")
                return None

    async def ask(self, request: Any, version: int) -> None:
        answer = await self.frame(encode_request(request, version, 7, "test"))
        if answer is None:
            return
        response: Any = decode_response(type(request), version, answer)
        told = [type(request).NAME, ErrorCode(getattr(response, "error_code", 0)).name]
        if isinstance(request, SaslHandshakeRequest):
            told.append(sorted(response.mechanisms))
        if isinstance(request, SaslAuthenticateRequest):
            told += [response.error_message, response.session_lifetime_ms, bool(response.auth_bytes)]
        self.heard.append(told)

    async def token(self, message: bytes) -> None:
        answer = await self.frame(struct.pack(">i", len(message)) + message)
        if answer is not None:
            self.heard.append(["token", answer])


@contextlib.asynccontextmanager
async def talking(bootstrap: str) -> AsyncIterator[Talk]:
    host, port = bootstrap.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Talk(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def handshake(mechanism: str = "PLAIN") -> SaslHandshakeRequest:
    return SaslHandshakeRequest(mechanism)


ORDERS: dict[str, list[tuple[Any, int]]] = {
    "a login": [
        (ApiVersionsRequest(), 0),
        (handshake(), 1),
        (SaslAuthenticateRequest(ALICE), 2),
        (MetadataRequest(topics=[]), 9),
    ],
    "a wrong password": [(handshake(), 1), (SaslAuthenticateRequest(WRONG), 2), (ApiVersionsRequest(), 0)],
    "no login": [(MetadataRequest(topics=[]), 9)],
    "a mechanism that is not there": [(handshake("DIGEST-MD5"), 1), (handshake(), 1)],
    "a second handshake once it is known who asks": [
        (handshake(), 1),
        (SaslAuthenticateRequest(ALICE), 1),
        (handshake(), 1),
    ],
    "a second login": [
        (handshake(), 1),
        (SaslAuthenticateRequest(ALICE), 2),
        (SaslAuthenticateRequest(ALICE), 2),
    ],
    "no user": [(handshake(), 1), (SaslAuthenticateRequest(b"\0\0secret"), 2)],
    "no password": [(handshake(), 1), (SaslAuthenticateRequest(b"\0alice\0"), 2)],
    "another identity": [(handshake(), 1), (SaslAuthenticateRequest(b"bob\0alice\0alice-secret"), 2)],
    "no message of SCRAM": [(handshake("SCRAM-SHA-256"), 1), (SaslAuthenticateRequest(b"alice"), 2)],
    "a user whom SCRAM does not know": [
        (handshake("SCRAM-SHA-256"), 1),
        (SaslAuthenticateRequest(b"n,,n=nobody,r=abcdef"), 2),
    ],
    "no token of OAUTHBEARER": [(handshake("OAUTHBEARER"), 1), (SaslAuthenticateRequest(b"n,,\x01\x01"), 2)],
}


def bearer(claims: str, header: str = '{"alg":"none"}') -> bytes:
    """A token that nobody has signed, of any content."""
    parts = (base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in (header, claims))
    return f"n,,\x01auth=Bearer {'.'.join(parts)}.\x01\x01".encode()


DEEP = "[" * 100_000 + "]" * 100_000
STRANGE_TOKENS = {
    "a time that is no number": '{"sub":"alice","exp":NaN}',
    "a time that is true": '{"sub":"alice","exp":true}',
    "deep claims": '{"sub":"alice","exp":9999999999,"more":' + DEEP + "}",
    "nothing but depth": DEEP,
    "a scope that is a number": '{"sub":"alice","exp":9999999999,"scope":7}',
}
# Kafka hangs up on some of them.
TOKENS_BEYOND_NUMBERS = {
    "a time beyond all": '{"sub":"alice","exp":1e308}',
    "a time beyond what a double has": '{"sub":"alice","exp":1e999}',
    "a time of many digits": '{"sub":"alice","exp":' + "9" * 400 + "}",
}


@pytest.mark.parametrize("claims", TOKENS_BEYOND_NUMBERS.values(), ids=TOKENS_BEYOND_NUMBERS)
def test_a_time_beyond_all_numbers_is_answered(
    claims: str, brokers: tuple[ApacheKafka, EmbeddedBroker]
) -> None:
    requests = [(handshake("OAUTHBEARER"), 1), (SaslAuthenticateRequest(bearer(claims)), 2)]
    heard = asyncio.run(in_order(brokers[1].bootstrap_for("SASL_PLAINTEXT"), requests))
    assert heard[-1][:2] == ["SaslAuthenticate", "NONE"]
    assert "Traceback" not in brokers[1].log


@pytest.mark.parametrize("claims", STRANGE_TOKENS.values(), ids=STRANGE_TOKENS)
def test_tokens_of_any_content_are_taken_or_refused_as_by_kafka(
    claims: str, brokers: tuple[ApacheKafka, EmbeddedBroker]
) -> None:
    requests = [(handshake("OAUTHBEARER"), 1), (SaslAuthenticateRequest(bearer(claims)), 2)]
    theirs, ours = (
        asyncio.run(in_order(broker.bootstrap_for("SASL_PLAINTEXT"), requests)) for broker in brokers
    )
    assert ours == theirs
    assert "Traceback" not in brokers[1].log


async def in_order(bootstrap: str, requests: list[tuple[Any, int]]) -> list[Any]:
    async with talking(bootstrap) as talk:
        for request, version in requests:
            await talk.ask(request, version)
            if talk.heard[-1] == "hung up":
                break
        return talk.heard


@pytest.mark.parametrize("order", ORDERS)
def test_what_a_client_hears_before_and_after_its_login_is_as_with_kafka(
    brokers: tuple[ApacheKafka, EmbeddedBroker], order: str
) -> None:
    expected, given = (
        asyncio.run(in_order(broker.bootstrap_for("SASL_PLAINTEXT"), ORDERS[order])) for broker in brokers
    )
    assert given == expected


def test_where_kafka_stumbles_a_client_is_refused(brokers: tuple[ApacheKafka, EmbeddedBroker]) -> None:
    """Kafka answers another request before it hangs up, and calls a message that is none its own error."""
    _, embedded = brokers
    server = embedded.bootstrap_for("SASL_PLAINTEXT")
    midst: list[tuple[Any, int]] = [(handshake(), 1), (MetadataRequest(topics=[]), 9)]
    assert asyncio.run(in_order(server, midst))[-1] == "hung up"
    no_message: list[tuple[Any, int]] = [(handshake(), 1), (SaslAuthenticateRequest(b"alice"), 2)]
    assert asyncio.run(in_order(server, no_message))[-1][1] == "SASL_AUTHENTICATION_FAILED"


def test_where_nobody_logs_in_a_handshake_is_refused_as_by_kafka(
    brokers: tuple[ApacheKafka, EmbeddedBroker],
) -> None:
    requests: list[tuple[Any, int]] = [(handshake(), 1), (SaslAuthenticateRequest(ALICE), 2)]
    expected, given = (asyncio.run(in_order(broker.bootstrap, requests)) for broker in brokers)
    assert given == expected


async def by_bare_tokens(bootstrap: str, message: bytes) -> list[Any]:
    async with talking(bootstrap) as talk:
        await talk.ask(handshake(), 0)
        await talk.token(message)
        if talk.heard[-1] != "hung up":
            await talk.ask(MetadataRequest(topics=[]), 9)
        return talk.heard


@pytest.mark.parametrize("message", [ALICE, WRONG], ids=["right", "wrong"])
def test_tokens_without_requests_let_in_whoever_they_prove_as_with_kafka(
    brokers: tuple[ApacheKafka, EmbeddedBroker], message: bytes
) -> None:
    expected, given = (
        asyncio.run(by_bare_tokens(broker.bootstrap_for("SASL_PLAINTEXT"), message)) for broker in brokers
    )
    assert given == expected


async def after_a_large_frame(bootstrap: str) -> list[Any]:
    async with talking(bootstrap) as talk:
        await talk.ask(handshake(), 1)
        await talk.frame(struct.pack(">i", 600_000) + b"\0" * 1000)
        return talk.heard


def test_before_a_login_no_frame_is_larger_than_half_a_mebibyte(
    brokers: tuple[ApacheKafka, EmbeddedBroker],
) -> None:
    expected, given = (
        asyncio.run(after_a_large_frame(broker.bootstrap_for("SASL_PLAINTEXT"))) for broker in brokers
    )
    assert given == expected
    assert given[-1] == "hung up"
