"""The open connections of one client, by the id of their node.

Owns connecting, its back-off, and closing what is idle. Knows nothing of metadata or requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from barnabas.client.backoff import Backoff
from barnabas.config import CommonConfig
from barnabas.errors import KafkaConnectionError
from barnabas.net.connection import Connection
from barnabas.types import Node

IDLE_CHECK_SECONDS = 15.0


class ConnectionPool:
    """At most one connection for each id. An id is a node's, or stands for a second connection to a node."""

    def __init__(self, config: CommonConfig) -> None:
        self._config = config
        self._backoff = Backoff(config.reconnect_backoff_ms, config.reconnect_backoff_max_ms)
        self._connections: dict[int, tuple[Node, Connection]] = {}
        self._opening: dict[int, asyncio.Task[Connection]] = {}
        self._failures: dict[int, tuple[int, float]] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

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
        return connection

    def is_failing(self, connection_id: int) -> bool:
        """Whether the last attempt to connect failed, or the next one still has to wait."""
        return connection_id in self._failures

    async def get(self, connection_id: int, node: Node) -> Connection:
        """The connection to a node, opened if need be, after the back-off that earlier failures demand.

        Raises: KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError.
        """
        connection = self.ready(connection_id, node)
        if connection is not None:
            return connection
        opening = self._opening.get(connection_id)
        if opening is None:
            opening = asyncio.create_task(self._open(connection_id, node))
            self._opening[connection_id] = opening
            opening.add_done_callback(lambda _: self._opening.pop(connection_id, None))
        # Others may wait for the same connection: a caller that gives up does not take it from them.
        await asyncio.wait([opening])
        if opening.cancelled():
            raise KafkaConnectionError(f"{node}: the client was closed while it connected")
        return opening.result()

    async def open(self, node: Node) -> Connection:
        """A new connection outside of the pool; `adopt` brings it in."""
        config = self._config
        return await Connection.open(
            node.host,
            node.port,
            client_id=config.client_id,
            connect_timeout_ms=config.socket_connection_setup_timeout_ms,
            request_timeout_ms=config.request_timeout_ms,
            send_buffer_bytes=config.send_buffer_bytes,
            receive_buffer_bytes=config.receive_buffer_bytes,
            name=str(node) if node.node_id >= 0 else None,
        )

    def adopt(self, connection_id: int, node: Node, connection: Connection) -> None:
        """Takes over an open connection; one that the pool has to that node already is kept instead."""
        if self._is_closed or self.ready(connection_id, node) is not None:
            connection.close()
            return
        connection.name = str(node)
        self._connections[connection_id] = (node, connection)
        self._failures.pop(connection_id, None)
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
        for task in opening:
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        for _, connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def _open(self, connection_id: int, node: Node) -> Connection:
        failures, not_before = self._failures.get(connection_id, (0, 0.0))
        await asyncio.sleep(max(0.0, not_before - time.monotonic()))
        try:
            connection = await self.open(node)
        except Exception:
            delay = self._backoff.delay_ms(failures + 1) / 1000
            self._failures[connection_id] = (failures + 1, time.monotonic() + delay)
            raise
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
        oldest = time.monotonic() - self._config.connections_max_idle_ms / 1000
        for connection_id, (_, connection) in list(self._connections.items()):
            if connection.is_closed or (not connection.in_flight and connection.last_used < oldest):
                del self._connections[connection_id]
                connection.close()
        if self._connections:
            self._watch_idle()
