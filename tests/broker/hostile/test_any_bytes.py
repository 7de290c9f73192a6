"""Clients that send what no client would: the broker answers or hangs up, fails nowhere, and serves on."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas import Consumer, Producer, TopicPartition
from barnabas.broker.handlers import HANDLERS
from barnabas.protocol.frame import encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.testing import EmbeddedBroker

from .any_content import frames_of_any_content, make_what_is_there
from .watching import send_and_hang_up

PATIENCE_SECONDS = 30
IDLE_MS = 3_600_000
LARGEST_REQUEST = 1 << 20
ASK = encode_request(ApiVersionsRequest(), 0, 1, "neighbour")
LENGTHS = (-(2**31), -1, 0, 1, 3, LARGEST_REQUEST + 1, 2**31 - 1)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    config = {"socket.request.max.bytes": str(LARGEST_REQUEST), "connections.max.idle.ms": str(IDLE_MS)}
    with EmbeddedBroker(config=config) as broker:
        make_what_is_there(broker.bootstrap)
        yield broker


def connected(broker: EmbeddedBroker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", broker.port), PATIENCE_SECONDS)


def read_exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError("hung up")
        received += chunk
    return received


def read_frame(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", read_exactly(connection, 4))
    return read_exactly(connection, size)


def is_served(connection: socket.socket) -> bool:
    connection.sendall(ASK)
    return read_frame(connection)[:4] == struct.pack(">i", 1)


def failure(broker: EmbeddedBroker) -> str:
    """The first error that the broker did not expect, and logged with a traceback."""
    return broker.log.partition("Traceback")[2][:5_000]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=300),
        st.builds(lambda size, rest: struct.pack(">i", size) + rest, st.sampled_from(LENGTHS), st.binary()),
        st.builds(lambda rest: struct.pack(">i", len(rest)) + rest, st.binary(max_size=300)),
        st.builds(
            lambda key, version, rest: struct.pack(">ihhi", len(rest) + 8, key, version, 7) + rest,
            st.integers(-1, 100),
            st.integers(-1, 20),
            st.binary(max_size=200),
        ),
    )
)
def test_garbage_is_answered_or_ends_its_own_connection_alone(broker: EmbeddedBroker, sent: bytes) -> None:
    with connected(broker) as neighbour, connected(broker) as hostile:
        send_and_hang_up(hostile, sent)
        assert is_served(neighbour)
    assert failure(broker) == ""


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=lambda handler: handler.request_type.NAME)
def test_no_request_of_any_content_makes_the_broker_fail(broker: EmbeddedBroker, handler: Any) -> None:
    with ExitStack() as stack:
        neighbour = stack.enter_context(connected(broker))
        for frame in frames_of_any_content(handler):
            stack.enter_context(connected(broker)).sendall(frame)
        assert is_served(neighbour)
    assert failure(broker) == ""


def test_slow_and_half_open_connections_end_and_hold_nobody_up(broker: EmbeddedBroker) -> None:
    half = struct.pack(">i", 1000) + bytes(10)
    slow = [connected(broker) for _ in range(50)]
    try:
        for each in slow:
            each.sendall(half)
        with Producer(broker.bootstrap) as producer:
            for number in range(100):
                producer.send("among-the-slow", b"%d" % number, partition=0)
            producer.flush(PATIENCE_SECONDS)
        with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([TopicPartition("among-the-slow", 0)])
            values: list[bytes | None] = []
            while len(values) < 100:
                values += [record.value for record in consumer.poll(1)]
        assert values == [b"%d" % number for number in range(100)]
        # Now the idle ones are ended: they were not what had to be waited for.
        broker.faults.pass_time(IDLE_MS)
        for each in slow:
            each.settimeout(PATIENCE_SECONDS)
            assert each.recv(1) == b""
    finally:
        for each in slow:
            each.close()


def test_a_frame_that_claims_to_be_large_takes_memory_only_as_it_comes(broker: EmbeddedBroker) -> None:
    def resident_kib() -> int:
        status = Path(f"/proc/{broker.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0])

    before = resident_kib()
    claims = [connected(broker) for _ in range(100)]
    try:
        for each in claims:
            each.sendall(struct.pack(">i", LARGEST_REQUEST) + bytes(100))
        with connected(broker) as neighbour:
            assert is_served(neighbour)
        assert resident_kib() - before < 32 << 10
    finally:
        for each in claims:
            each.close()
