"""The open connections of one client, by the id of their node.

Owns connecting, its back-off, and closing what is idle. Knows nothing of metadata or requests.
"""

from __future__ import annotations

import asyncio
import contextlib

from barnabas.background import detached
from barnabas.backoff import Backoff
from barnabas.client.cluster.brokers import BrokerMonitor, BrokerMonitors
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, KafkaConnectionError
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.settings.table import CommonConfig
from barnabas.types import Node

IDLE_CHECK_SECONDS = 15.0

_Target = tuple[int, str, int]
"""The id of a connection, and the host and port that it goes to."""


class ConnectionPool:
    """At most one connection for each id. An id is a node's, or stands for a second connection to a node."""

    def __init__(self, config: CommonConfig, security: Security, monitors: BrokerMonitors) -> None:
        self._config = config
        self._security = security
        self._monitors = monitors
        self._backoff = Backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms)
        self._setup_timeout = Backoff(
            config.socket_connection_setup_timeout_ms, config.socket_connection_setup_timeout_max_ms
        )
        self._connections: dict[int, tuple[Node, Connection]] = {}
        # A broker that comes back under another address owes nothing for its failures under the old one.
        self._opening: dict[_Target, asyncio.Task[Connection]] = {}
        self._failures: dict[_Target, tuple[int, float, BarnabasError | None]] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._not_over: set[Connection] = set()
        """Whatever was opened here and is not over yet, wherever it went: no socket outlives the client."""

    def ready(self, connection_id: int, node: Node) -> Connection | None:
        """The open connection to this node, if there is one."""
        entry = self._connections.get(connection_id)
        if entry is None:
            return None
        known_node, connection = entry
        if connection.is_closed or (known_node.host, known_node.port) != (node.host, node.port):
            del self._connections[connection_id]
            connection.close()
            return None
        if connection.is_outdated:
            del self._connections[connection_id]
            connection.retire()
            return None
        return connection

    def is_failing(self, connection_id: int, node: Node) -> bool:
        """Whether the last attempt to connect failed, or the next one still has to wait."""
        return (connection_id, node.host, node.port) in self._failures

    def last_error(self, connection_id: int, node: Node) -> BarnabasError | None:
        """Why the last attempt to connect failed; None where it did not."""
        failure = self._failures.get((connection_id, node.host, node.port))
        return None if failure is None else failure[2]

    async def get(self, connection_id: int, node: Node) -> Connection:
        """The connection to a node, opened if need be, after the back-off that earlier failures demand.

        Raises: KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError, AuthenticationError.
        """
        connection = self.ready(connection_id, node)
        if connection is not None:
            return connection
        target = (connection_id, node.host, node.port)
        opening = self._opening.get(target)
        if opening is None:
            opening = detached(self._open(target, node))
            self._opening[target] = opening
            opening.add_done_callback(lambda done: self._opened(target, done))
        # Others may wait for the same connection: a caller that gives up does not take it from them.
        await asyncio.wait([opening])
        if opening.cancelled():
            raise KafkaConnectionError(f"{node}: the client was closed while it connected")
        return opening.result()

    async def open(self, node: Node, failures: int = 0) -> Connection:
        """A new connection outside of the pool; `adopt` brings it in. `failures`: how often in a row that
        went wrong; the time-out of connecting grows with it.

        Raises: KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError.
        """
        config = self._config
        monitor = self._monitors.of(node)
        monitor.connecting()
        try:
            connection = await Connection.open(
                node.host,
                node.port,
                client_id=config.client_id,
                security=self._security,
                connect_timeout_ms=self._setup_timeout.delay_ms(failures + 1),
                request_timeout_ms=config.request_timeout_ms,
                send_buffer_bytes=config.send_buffer_bytes,
                receive_buffer_bytes=config.receive_buffer_bytes,
                address_family=config.broker_address_family,
                source_address=config.source_address,
                proxy=self._security.proxy,
                name=str(node) if node.node_id >= 0 else None,
                monitor=monitor,
            )
        except BarnabasError as error:
            monitor.connect_failed(error, failures + 1)
            raise
        except BaseException:
            monitor.gave_up_connecting()
            raise
        self._not_over = {each for each in self._not_over if not each.is_over} | {connection}
        return connection

    def adopt(self, connection_id: int, node: Node, connection: Connection) -> None:
        """Takes over an open connection; one that the pool has to that node already is kept instead."""
        if self._is_closed or self.ready(connection_id, node) is not None:
            connection.close()
            return
        connection.name = str(node)
        monitor = self._monitors.of(node)
        if connection.monitor is not monitor:
            assert isinstance(connection.monitor, BrokerMonitor)
            connection.monitor.hand_over(monitor)
            connection.monitor = monitor
        self._connections[connection_id] = (node, connection)
        self._failures.pop((connection_id, node.host, node.port), None)
        self._watch_idle()

    def close_others(self, keep: set[int]) -> None:
        """Closes connections whose id is not in `keep`, unless a request is under way."""
        for connection_id, (_, connection) in list(self._connections.items()):
            if connection_id not in keep and not connection.in_flight:
                del self._connections[connection_id]
                connection.close()

    async def close(self) -> None:
        self._is_closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        opening = list(self._opening.values())
        for task in opening:
            task.cancel()
        if opening:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait(opening)
        self._connections.clear()
        # Those too that wait for their last answers, or for a broker's goodbye.
        connections, self._not_over = self._not_over, set()
        for connection in connections:
            connection.close()
        await asyncio.gather(*(connection.wait_closed() for connection in connections))

    def _opened(self, target: _Target, opening: asyncio.Task[Connection]) -> None:
        del self._opening[target]
        if not opening.cancelled():
            # Nobody may wait for it any more, and asyncio would log an error that it takes for forgotten.
            opening.exception()

    async def _open(self, target: _Target, node: Node) -> Connection:
        failures, not_before, _ = self._failures.get(target, (0, 0.0, None))
        await asyncio.sleep(max(0.0, not_before - CLOCK.monotonic()))
        try:
            connection = await self.open(node, failures)
        except Exception as error:
            delay = self._backoff.delay_ms(failures + 1) / 1000
            told = error if isinstance(error, BarnabasError) else None
            self._failures[target] = (failures + 1, CLOCK.monotonic() + delay, told)
            raise
        connection_id = target[0]
        # Another one may have been adopted meanwhile; then that one is kept.
        self.adopt(connection_id, node, connection)
        return self.ready(connection_id, node) or connection

    def _watch_idle(self) -> None:
        if self._idle_timer is None and self._config.connections_max_idle_ms >= 0:
            longest = self._config.connections_max_idle_ms / 1000
            pause = min(IDLE_CHECK_SECONDS, max(longest / 2, 0.01))
            self._idle_timer = asyncio.get_running_loop().call_later(pause, self._close_idle)

    def _close_idle(self) -> None:
        self._idle_timer = None
        oldest = CLOCK.monotonic() - self._config.connections_max_idle_ms / 1000
        for connection_id, (_, connection) in list(self._connections.items()):
            if connection.is_closed or (not connection.in_flight and connection.last_used < oldest):
                del self._connections[connection_id]
                connection.close()
        if self._connections:
            self._watch_idle()
