"""max.connections and max.connections.per.ip: beside Apache Kafka where both do the same."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from barnabas import Admin, ConfigResource, ResourceType
from barnabas.broker.quotas.connection_limits import overrides_of
from barnabas.broker_errors import InvalidConfigError
from barnabas.testing import ApacheKafka, EmbeddedBroker

from .test_any_bytes import ASK, PATIENCE_SECONDS, is_served, read_frame

MOST = 5


@pytest.fixture(scope="module", params=[ApacheKafka, EmbeddedBroker])
def limited(request: pytest.FixtureRequest) -> Iterator[ApacheKafka | EmbeddedBroker]:
    config = {"max.connections.per.ip": "1000", "max.connections.per.ip.overrides": f"127.0.0.1:{MOST}"}
    with request.param(config=config) as broker:
        yield broker


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)


def is_hung_up_on(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_one_connection_too_many_of_an_address_is_ended_until_another_goes(
    limited: ApacheKafka | EmbeddedBroker, eventually: Callable[..., bool]
) -> None:
    def is_let_in() -> bool:
        with connected(limited.port) as connection:
            try:
                return is_served(connection)
            except (ConnectionResetError, BrokenPipeError):
                return False

    with ExitStack() as stack:

        def fill() -> bool:
            # Those that the start asked by may not be gone yet.
            stack.close()
            held = [stack.enter_context(connected(limited.port)) for _ in range(MOST)]
            try:
                return all(is_served(each) for each in held)
            except (ConnectionResetError, BrokenPipeError):
                return False

        eventually(fill)
        assert is_hung_up_on(stack.enter_context(connected(limited.port)))
    eventually(is_let_in)


@pytest.mark.parametrize("name", ["max.connections", "listener.name.plaintext.max.connections"])
def test_one_connection_too_many_of_all_or_of_a_listener_waits_for_a_place(name: str) -> None:
    with EmbeddedBroker() as broker:
        with Admin(broker.bootstrap) as admin:
            own = ConfigResource(ResourceType.BROKER, "1")
            admin.alter_configs({own: {name: "2"}})
        with (
            connected(broker.port) as first,
            connected(broker.port) as second,
            connected(broker.port) as third,
        ):
            assert is_served(first)
            assert is_served(second)
            third.sendall(ASK)
            third.settimeout(0.3)
            with pytest.raises(TimeoutError):
                read_frame(third)
            assert is_served(second)
            first.close()
            third.settimeout(PATIENCE_SECONDS)
            assert read_frame(third)[:4] == b"\0\0\0\1"


def test_who_waits_for_a_place_has_one_once_more_connections_are_allowed() -> None:
    with EmbeddedBroker() as broker, Admin(broker.bootstrap) as admin:
        of_all = ConfigResource(ResourceType.BROKER, "")
        assert admin.describe_cluster().nodes
        # As many as there are.
        admin.alter_configs({of_all: {"max.connections": "1"}})
        with connected(broker.port) as waiting:
            waiting.sendall(ASK)
            admin.alter_configs({of_all: {"max.connections": "2"}})
            waiting.settimeout(PATIENCE_SECONDS)
            assert read_frame(waiting)[:4] == b"\0\0\0\1"


def test_overrides_name_addresses_of_both_kinds() -> None:
    assert overrides_of("127.0.0.1:200, [::1]:0") == {"127.0.0.1": 200, "::1": 0}
    assert overrides_of("10.0.0.1:-1") == {"10.0.0.1": -1}
    for wrong in ("127.0.0.1", "127.0.0.1:many"):
        with pytest.raises(InvalidConfigError, match="ADDRESS:NUMBER"):
            overrides_of(wrong)
