"""`KafkaNetClient`: what kafka-python 3 has in place of KafkaClient."""

from __future__ import annotations

import random
import time
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka.client_async import KafkaClient


class KafkaNetClient:
    """Requests to the brokers of a cluster, which `poll` hears the answers of. Looks for brokers when it is
    first asked for something that needs them."""

    def __init__(self, net: Any = None, manager: Any = None, **configs: Any) -> None:
        proxy = configs.get("proxy_url")
        self._configs = {**configs, "socks5_proxy": proxy} if proxy is not None else configs
        self._bootstrap_ms = configs.get("bootstrap_timeout_ms", 30000)
        self._made: KafkaClient | None = None
        self._is_closed = False

    def _client(self, timeout_ms: float | None = None) -> KafkaClient:
        if self._is_closed:
            raise RuntimeError("NetworkSelector closed!")
        if self._made is None:
            wait_ms = self._bootstrap_ms if timeout_ms is None else timeout_ms
            try:
                made = KafkaClient(**{**self._configs, "api_version_auto_timeout_ms": wait_ms})
            except Errors.NoBrokersAvailable as error:
                servers = self._configs.get("bootstrap_servers", "localhost:9092")
                raise Errors.KafkaTimeoutError(f"Unable to bootstrap from {servers}") from error
            made.poll(timeout_ms=wait_ms, future=made.cluster.request_update())
            self._made = made
        return self._made

    @property
    def cluster(self) -> Any:
        return self._client().cluster

    def connected(self, node_id: Any) -> bool:
        return self._client().connected(node_id)

    def is_disconnected(self, node_id: Any) -> bool:
        return not self.connected(node_id)

    def is_ready(self, node_id: Any) -> bool:
        """Whether a node may be sent requests."""
        return self._client().is_ready(node_id, metadata_priority=False)

    def ready(self, node_id: Any, **kwargs: Any) -> bool:
        """`is_ready`; begins to connect where the node is not connected."""
        if not self.is_ready(node_id):
            self.maybe_connect(node_id)
        return self.is_ready(node_id)

    def maybe_connect(self, node_id: Any, **kwargs: Any) -> None:
        self._client().maybe_connect(node_id)

    def await_ready(self, node_id: Any, timeout_ms: float = 30000) -> bool:
        """Waits until a node may be sent requests. Raises: KafkaConnectionError."""
        client = self._client()
        end = time.monotonic() + timeout_ms / 1000
        while not self.is_ready(node_id):
            if time.monotonic() >= end:
                raise Errors.KafkaConnectionError(f"Node {node_id} not ready after {timeout_ms} ms")
            client.maybe_connect(node_id, wakeup=False)
            client.poll(timeout_ms=min(100, max(0, end - time.monotonic()) * 1000))
        return True

    def in_flight_request_count(self, node_id: Any = None) -> int:
        return self._client().in_flight_request_count(node_id)

    def throttle_delay(self, node_id: Any) -> float:
        """How many milliseconds a broker wants no requests."""
        return self._client().throttle_delay(node_id)

    def connection_delay(self, node_id: Any) -> float:
        return self._client().connection_delay(node_id)

    def bootstrap_connected(self) -> bool:
        return self._made is not None and self._made.bootstrap_connected()

    def get_broker_version(self, timeout_ms: float | None = None) -> Any:
        """The version of the brokers, as a tuple. Raises: KafkaTimeoutError."""
        return self._client(timeout_ms).config["api_version"]

    def check_version(self, node_id: Any = None, timeout_ms: float = 10000) -> Any:
        """The version of a node, or of the brokers. Raises: KafkaTimeoutError, NodeNotReadyError."""
        client = self._client(timeout_ms)
        if node_id is None:
            return client.config["api_version"]
        self.await_ready(node_id, timeout_ms)
        return client.check_version(node_id, timeout=timeout_ms / 1000)

    def send(self, node_id: Any, request: Any, **kwargs: Any) -> Any:
        """A future of a node's answer."""
        return self._client().send(node_id, request, **kwargs)

    def send_and_receive(self, node_id: Any, request: Any, timeout_ms: float = 30000) -> Any:
        """A node's answer. Raises: KafkaTimeoutError, and what its future fails with."""
        self.await_ready(node_id, timeout_ms=timeout_ms)
        future = self.send(node_id, request)
        self.poll(timeout_ms=timeout_ms, future=future)
        if future.failed():
            raise future.exception
        if not future.is_done:
            raise Errors.KafkaTimeoutError("Request timed out")
        return future.value

    def poll(self, timeout_ms: float | None = None, future: Any = None) -> Any:
        return self._client().poll(timeout_ms=timeout_ms, future=future)

    def wakeup(self) -> None:
        """Ends a `poll` that waits in another thread."""
        if self._made is not None:
            self._made.wakeup()

    def close(self, node_id: Any = None) -> None:
        if node_id is None:
            self._is_closed = True
        if self._made is not None:
            self._made.close(node_id)

    def least_loaded_node(self, bootstrap_fallback: bool = False) -> Any:
        """The number of the node with the fewest requests under way, or None."""
        client = self._client()
        node_id = client.least_loaded_node()
        if node_id is None and bootstrap_fallback:
            return random.choice(client.cluster.node_ids())
        return node_id

    def least_loaded_node_refresh_ms(self, bootstrap_fallback: bool = False) -> float:
        return self._client().least_loaded_node_refresh_ms()

    def api_version(self, operation: Any, max_version: int | None = None) -> int:
        """The newest version of a request that a broker speaks. Raises: IllegalStateError before a broker was
        reached, IncompatibleBrokerVersion."""
        if self._made is None:
            raise Errors.IllegalStateError("broker_version_data is not available: have we bootstrapped yet?")
        return self._made.api_version(operation, max_version)


__all__ = ["KafkaNetClient"]
