from __future__ import annotations

import socket
from collections.abc import Iterator
from unittest import mock

import pytest

from barnabas.compat.pykafka import KafkaClient
from barnabas.compat.pykafka._network import zookeeper
from barnabas.compat.pykafka.exceptions import NoBrokersAvailableError, SocketDisconnectedError
from barnabas.testing import ApacheKafka

pytest.importorskip("kazoo")

SHORT_MS = 300


@pytest.fixture(scope="module")
def old() -> Iterator[ApacheKafka]:
    with ApacheKafka("2.8.2") as kafka:
        yield kafka


@pytest.mark.parametrize("version", ["0.9.0", "2.0.0"])
def test_brokers_are_found_where_they_register(old: ApacheKafka, version: str) -> None:
    client = KafkaClient("ignored:1", zookeeper_hosts=old.zookeeper, broker_version=version)
    assert [broker.port for broker in client.brokers.values()] == [int(old.bootstrap.partition(":")[2])]
    assert client.cluster._core.settings()["bootstrap_servers"] == [old.bootstrap]
    client.update_cluster()
    assert old.zookeeper in repr(client)


def test_where_no_broker_registers_there_is_none(old: ApacheKafka) -> None:
    with pytest.raises(NoBrokersAvailableError):
        KafkaClient(zookeeper_hosts=f"{old.zookeeper}/elsewhere")


@pytest.mark.parametrize(
    ("version", "error"), [("0.9.0", NoBrokersAvailableError), ("2.0.0", SocketDisconnectedError)]
)
def test_a_zookeeper_that_is_away_is_given_up(version: str, error: type[Exception]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(error):
            KafkaClient(
                zookeeper_hosts=f"127.0.0.1:{taken.getsockname()[1]}",
                socket_timeout_ms=SHORT_MS,
                broker_version=version,
            )


def test_without_kazoo_the_extra_is_named() -> None:
    with (
        mock.patch.object(zookeeper, "import_module", side_effect=ImportError),
        pytest.raises(ImportError, match=r"barnabas\[pykafka\]"),
    ):
        KafkaClient(zookeeper_hosts="127.0.0.1:1")
