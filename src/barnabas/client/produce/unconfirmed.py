"""Connections that carried records with acks=0, which the broker may not have read yet.

Closing one before that can lose the rest: TCP resets a connection that is closed while an answer is still to
come. Knows nothing of batches.
"""

from __future__ import annotations

import asyncio
import logging

from barnabas.errors import BarnabasError
from barnabas.net.connection import Connection
from barnabas.protocol.messages.api_versions import ApiVersionsRequest

logger = logging.getLogger("barnabas.producer")


class UnconfirmedConnections:
    """The latest of each broker. `request_timeout_ms`: how long a broker may take to confirm."""

    def __init__(self, client_id: str, request_timeout_ms: int) -> None:
        self._client_id = client_id
        self._request_timeout_ms = request_timeout_ms
        self._by_node: dict[int, Connection] = {}

    def add(self, node_id: int, connection: Connection) -> None:
        """Records without an answer were written to it."""
        self._by_node[node_id] = connection

    async def confirm(self) -> None:
        """Asks each broker for something that it answers, since it answers in order: when this returns, it
        has read what came before, or the connection is lost, which is logged."""
        connections = list(self._by_node.values())
        self._by_node.clear()
        await asyncio.gather(*map(self._confirm, connections))

    async def _confirm(self, connection: Connection) -> None:
        if connection.is_closed:
            return
        try:
            await connection.send(ApiVersionsRequest(), timeout_ms=self._request_timeout_ms, max_version=0)
        except BarnabasError as error:
            logger.warning("client %s: records sent with acks=0 may be lost: %s", self._client_id, error)
