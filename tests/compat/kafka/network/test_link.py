"""A link is closed whenever its end is asked for, and every request on it comes to something."""

from __future__ import annotations

from typing import Any

import pytest
from tests.waiting import Patience, wait_for

from barnabas.compat.kafka.conn import BrokerConnection
from barnabas.compat.kafka_engine.generations.settings import default_config
from barnabas.compat.kafka_engine.network.inbox import Inbox
from barnabas.compat.kafka_engine.network.link import Link
from barnabas.errors import KafkaConnectionError
from barnabas.loop_thread import loop_thread
from barnabas.testing import EmbeddedBroker

WAIT_SECONDS = 30.0


def link_to(port: int, inbox: Inbox, told: list[Any]) -> Link:
    return Link("127.0.0.1", port, default_config("BrokerConnection"), inbox, told.append)


def test_a_link_that_is_ended_while_it_opens_is_closed_once_it_is_open() -> None:
    with EmbeddedBroker() as broker:
        inbox, told = Inbox(), list[Any]()
        link = link_to(int(broker.bootstrap.rpartition(":")[2]), inbox, told)
        link.end()
        patience = Patience()
        while not told:
            patience.check()
            inbox.tell(0.1)
        # What was asked of the loop before this is done.
        loop_thread().run(_nothing())
        assert link.is_lost


async def _nothing() -> None:
    pass


def test_a_link_to_nobody_tells_why_it_is_not_open() -> None:
    inbox, told = Inbox(), list[Any]()
    link_to(1, inbox, told)
    patience = Patience()
    while not told:
        patience.check()
        inbox.tell(0.1)
    assert isinstance(told[0], KafkaConnectionError)


def test_a_connection_to_a_broker_that_goes_away_is_disconnected() -> None:
    with EmbeddedBroker() as broker:
        host, port = broker.bootstrap.split(":")
        connection = BrokerConnection(host, int(port), 2)
        assert connection.connect_blocking(WAIT_SECONDS)
    wait_for(lambda: not connection.connected())
    assert connection.disconnected()
    connection.close()


def test_an_error_of_the_settings_is_raised_as_it_is_and_not_from_itself() -> None:
    connection = BrokerConnection("127.0.0.1", 1, 0, security_protocol="SSL", ssl_cafile="/no/such/file")
    with pytest.raises(FileNotFoundError) as raised:
        connection.connect()
    assert raised.value.__cause__ is None
    assert connection.disconnected()
