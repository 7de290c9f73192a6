"""A client: the way into a cluster."""

from __future__ import annotations

import logging
from typing import Any

from barnabas.compat.pykafka import handlers
from barnabas.compat.pykafka.cluster import Cluster
from barnabas.compat.pykafka.handlers import ThreadingHandler

__all__ = ["KafkaClient"]

log = logging.getLogger("pykafka.client")


class KafkaClient:
    """A client of one cluster, found by brokers, or by the ZooKeeper that these register at.

    `topics` keeps a Topic only as long as the program does. `hosts`: host:port of brokers, separated by
    commas; `zookeeper_hosts`, as kazoo takes them, are asked in their place. `source_address`: host:port that
    connections are made from. `ssl_config`: an SslConfig; `sasl_authenticator`, of releases after 2.8.0: one
    of those in `sasl_authenticators`. `broker_version`: from "0.10.0" on brokers are asked what they speak,
    messages have timestamps, and the controller is known. `use_greenlets`: wait as gevent does.

    Raises: NoBrokersAvailableError, SocketDisconnectedError; ImportError where gevent or kazoo is missing.
    """

    def __init__(
        self,
        hosts: str = "127.0.0.1:9092",
        zookeeper_hosts: str | None = None,
        socket_timeout_ms: int = 30 * 1000,
        offsets_channel_socket_timeout_ms: int = 10 * 1000,
        use_greenlets: bool = False,
        exclude_internal_topics: bool = True,
        source_address: str = "",
        ssl_config: Any = None,
        broker_version: str = "0.9.0",
        sasl_authenticator: Any = None,
    ) -> None:
        self._seed_hosts = zookeeper_hosts if zookeeper_hosts is not None else hosts
        self._source_address = source_address
        self._socket_timeout_ms = socket_timeout_ms
        self._offsets_channel_socket_timeout_ms = offsets_channel_socket_timeout_ms
        if use_greenlets and not hasattr(handlers, "GEventHandler"):
            raise ImportError("use_greenlets can only be used when gevent is installed.")
        self._handler: Any = handlers.GEventHandler() if use_greenlets else ThreadingHandler()
        self.cluster = Cluster(
            hosts,
            self._handler,
            socket_timeout_ms=socket_timeout_ms,
            offsets_channel_socket_timeout_ms=offsets_channel_socket_timeout_ms,
            exclude_internal_topics=exclude_internal_topics,
            source_address=source_address,
            zookeeper_hosts=zookeeper_hosts,
            ssl_config=ssl_config,
            broker_version=broker_version,
            sasl_authenticator=sasl_authenticator,
        )
        self.brokers = self.cluster.brokers
        self.topics = self.cluster.topics

    def __repr__(self) -> str:
        cls = type(self)
        return f"<{cls.__module__}.{cls.__name__} at {hex(id(self))} (hosts={self._seed_hosts})>"

    def update_cluster(self) -> None:
        """Asks for brokers and topics anew."""
        self.cluster.update()
