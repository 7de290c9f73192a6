"""proxy_url, and socks5_proxy in kafka-python 2, are what clients of the facade reach brokers by."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proxy_server import ProxyServer

from barnabas.compat.kafka import KafkaAdminClient
from barnabas.compat.kafka.client_async import KafkaClient
from barnabas.testing import EmbeddedBroker

CLIENTS = [(KafkaAdminClient, "proxy_url"), (KafkaClient, "socks5_proxy")]


@pytest.mark.parametrize(("client", "setting"), CLIENTS)
def test_clients_reach_brokers_by_the_proxy_that_they_are_given(client: Any, setting: str) -> None:
    with EmbeddedBroker() as broker, ProxyServer("socks5") as proxy:
        made = client(bootstrap_servers=broker.bootstrap, **{setting: proxy.url()})
        made.close()
        assert proxy.asked
