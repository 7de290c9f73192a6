"""What one client knows of each broker it talks to: whether it is up, and its figures.

Owns the state of brokers as their connections show it, the events about them, and the one line that the log
gets while a broker is away. Knows nothing of requests or of when to connect.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.clock import CLOCK
from barnabas.errors import AuthenticationError, BarnabasError
from barnabas.events import (
    AuthenticationFailed,
    BrokerConnected,
    BrokerDisconnected,
    ConnectFailed,
    Event,
    Throttled,
)
from barnabas.net.monitor import ConnectionMonitor
from barnabas.stats import BrokerState, BrokerStats
from barnabas.steps import (
    AnswerReceived,
    RequestSent,
    RequestTimedOut,
    Stage,
    StageReached,
    Step,
    VersionsLearned,
)
from barnabas.types import Node
from barnabas.windows import WINDOW_SECONDS

logger = logging.getLogger("barnabas.client")

LOG_INTERVAL_SECONDS = 30.0
BOOTSTRAP_NODE_ID = -1


class LogLimit:
    """Whether a line about something is due: the first one is, then one every 30 seconds."""

    def __init__(self) -> None:
        self._logged_at = -LOG_INTERVAL_SECONDS

    def is_due(self) -> bool:
        now = CLOCK.monotonic()
        if now - self._logged_at < LOG_INTERVAL_SECONDS:
            return False
        self._logged_at = now
        return True


class BrokerMonitor(ConnectionMonitor):
    """One broker. All connections to it count here, those for fetches and for groups as well."""

    def __init__(
        self, client_id: str, node: Node, listeners: EventListeners[Event], steps: EventListeners[Step]
    ) -> None:
        super().__init__()
        self.node = node
        self.connects = 0
        self.disconnects = 0
        self.connect_failures = 0
        self.open_connections = 0
        self.state: BrokerState = "init"
        self.state_since = CLOCK.monotonic()
        self._client_id = client_id
        self._listeners = listeners
        self._steps = steps
        self._log_limit = LogLimit()

    def stats(self, window_seconds: float = WINDOW_SECONDS) -> BrokerStats:
        """May be called on any thread."""
        return BrokerStats(
            node_id=self.node.node_id,
            host=self.node.host,
            port=self.node.port,
            state=self.state,
            state_age_seconds=CLOCK.monotonic() - self.state_since,
            open_connections=self.open_connections,
            connects=self.connects,
            disconnects=self.disconnects,
            connect_failures=self.connect_failures,
            requests=self.requests,
            responses=self.responses,
            requests_in_flight=self.in_flight,
            requests_waiting=self.waiting,
            request_timeouts=self.request_timeouts,
            request_errors=self.request_errors,
            bytes_sent=self.bytes_sent,
            bytes_received=self.bytes_received,
            throttled=self.throttled,
            latency_ms=self.latency_ms.stats(window_seconds),
            throttle_time_ms=self.throttle_time_ms.stats(window_seconds),
            requests_by_api=dict(self.requests_by_api),
        )

    def connecting(self) -> None:
        """A connection is about to be opened."""
        if not self.open_connections:
            self._enter("connecting")

    def opened(self) -> None:
        self.connects += 1
        self.open_connections += 1
        self._enter("up")
        node = self.node
        self._listeners.emit(BrokerConnected(self._client_id, node.node_id, node.host, node.port))

    def hand_over(self, to: BrokerMonitor) -> None:
        """An open connection is to a broker of the cluster, as bootstrap servers mostly are."""
        self.open_connections -= 1
        if not self.open_connections:
            self._enter("init")
        to.open_connections += 1
        to._enter("up")

    def closed(self, error: BarnabasError | None) -> None:
        self.disconnects += 1
        self.open_connections -= 1
        if not self.open_connections:
            self._enter("init" if error is None else "down")
        node = self.node
        self._listeners.emit(BrokerDisconnected(self._client_id, node.node_id, node.host, node.port, error))

    def gave_up_connecting(self) -> None:
        """Nobody wants the connection any more that was about to be opened."""
        if self.state == "connecting":
            self._enter("init")

    def connect_failed(self, error: BarnabasError, failures: int) -> None:
        """`failures`: how many there were in a row, this one included."""
        self.connect_failures += 1
        if not self.open_connections:
            self._enter("down")
        node = self.node
        kind = AuthenticationFailed if isinstance(error, AuthenticationError) else ConnectFailed
        self._listeners.emit(kind(self._client_id, node.node_id, node.host, node.port, error))
        # Whoever asks bootstrap servers says which of them failed, all in one line.
        is_told = node.node_id == BOOTSTRAP_NODE_ID or self._listeners.are_logged
        if not is_told and self._log_limit.is_due():
            logger.warning(
                "client %s: cannot connect to %s, attempt %d: %s; will go on trying",
                self._client_id,
                node,
                failures,
                error,
            )

    @property
    def is_followed(self) -> bool:
        return bool(self._steps)

    def reached(
        self, connection: int, stage: Stage, *, address: str = "", error: BarnabasError | None = None
    ) -> None:
        if self._steps:
            self._steps.emit(StageReached(self.node, connection, stage, address, error))

    def learned_versions(self, connection: int, versions: Mapping[int, tuple[int, int]]) -> None:
        if self._steps:
            self._steps.emit(VersionsLearned(self.node, connection, dict(versions)))

    def sent(self, connection: int, api: str, version: int, correlation_id: int, size: int) -> None:
        self._steps.emit(RequestSent(self.node, connection, api, version, correlation_id, size))

    def received(
        self, connection: int, api: str, version: int, correlation_id: int, size: int, latency_ms: float
    ) -> None:
        self._steps.emit(
            AnswerReceived(self.node, connection, api, version, correlation_id, size, latency_ms)
        )

    def timed_out(self, connection: int, api: str, correlation_id: int, timeout_ms: float) -> None:
        super().timed_out(connection, api, correlation_id, timeout_ms)
        if self._steps:
            self._steps.emit(RequestTimedOut(self.node, connection, api, correlation_id, timeout_ms))

    def throttle(self, api: str, throttle_time_ms: int) -> None:
        super().throttle(api, throttle_time_ms)
        self._tell_throttled(api, throttle_time_ms)

    def not_throttled(self, api: str) -> None:
        if api in self.throttled_apis:
            self._tell_throttled(api, 0)
        super().not_throttled(api)

    def _tell_throttled(self, api: str, throttle_time_ms: int) -> None:
        node = self.node
        self._listeners.emit(
            Throttled(self._client_id, node.node_id, node.host, node.port, api, throttle_time_ms)
        )

    def _enter(self, state: BrokerState) -> None:
        if self.state != state:
            self.state = state
            self.state_since = CLOCK.monotonic()


class BrokerMonitors:
    """The brokers of one client, and the servers of bootstrap_servers, by node id and by address."""

    def __init__(self, client_id: str, listeners: EventListeners[Event], steps: EventListeners[Step]) -> None:
        self._client_id = client_id
        self._listeners = listeners
        self._steps = steps
        self._by_node_id: dict[int, BrokerMonitor] = {}
        self._by_address: dict[tuple[str, int], BrokerMonitor] = {}

    def of(self, node: Node) -> BrokerMonitor:
        """The broker's, under its latest address; that of a bootstrap server where the node id is -1."""
        if node.node_id == BOOTSTRAP_NODE_ID:
            monitor = self._by_address.get((node.host, node.port))
            if monitor is None:
                monitor = self._by_address[node.host, node.port] = self._make(node)
            return monitor
        monitor = self._by_node_id.get(node.node_id)
        if monitor is None:
            monitor = self._by_node_id[node.node_id] = self._make(node)
        monitor.node = node
        return monitor

    def all(self) -> list[BrokerMonitor]:
        """Brokers by node id, then servers of bootstrap_servers. May be called on any thread."""
        brokers = sorted(self._by_node_id.items())
        return [monitor for _, monitor in brokers] + list(self._by_address.values())

    def _make(self, node: Node) -> BrokerMonitor:
        return BrokerMonitor(self._client_id, node, self._listeners, self._steps)
