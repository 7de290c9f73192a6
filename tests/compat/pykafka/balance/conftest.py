"""A ZooKeeper, and clients of it that leave nothing behind."""

from pathlib import Path

import pytest
from kazoo.client import KazooClient

from barnabas.testing.distribution import KafkaDistribution
from barnabas.testing.zookeeper import ZooKeeper


@pytest.fixture(scope="session")
def zookeeper_server(tmp_path_factory):
    server = ZooKeeper(
        KafkaDistribution("2.8.2"), Path(tmp_path_factory.mktemp("zookeeper")), remove_at_exit=None
    )
    server.start()
    yield server
    server.close()


@pytest.fixture
def zookeeper(zookeeper_server):
    return f"127.0.0.1:{zookeeper_server.port}"


@pytest.fixture
def connect(zookeeper):
    clients = []

    def connected():
        client = KazooClient(zookeeper, timeout=30)
        client.start()
        clients.append(client)
        return client

    yield connected
    connected().delete("/consumers", recursive=True)
    for client in clients:
        client.stop()
        client.close()
