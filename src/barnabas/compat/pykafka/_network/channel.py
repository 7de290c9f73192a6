"""One of the core's connections, for threads that wait for answers or are told of them.

Owns in which version a request leaves, and that no error of the core gets out.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Mapping
from typing import Any

from barnabas import fork
from barnabas.compat.kafka_engine.wire.translation import TranslatedRequest
from barnabas.compat.pykafka._network.exchange import exchange_of
from barnabas.compat.pykafka._network.old_offsets import is_of_old, offsets_of_old
from barnabas.compat.pykafka.exceptions import SocketDisconnectedError
from barnabas.errors import BarnabasError
from barnabas.loop_thread import loop_thread
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.protocol.codec import decode
from barnabas.protocol.registry import REQUESTS
from barnabas.settings.table import CommonConfig, load

__all__ = ["Channel"]

_NO_SERVERS = {"bootstrap_servers": "localhost:9092"}


class Channel:
    """Made by `open`. In the child of a fork it is closed."""

    def __init__(self, connection: Connection, timeout_ms: float) -> None:
        self._connection = connection
        self._timeout_ms = timeout_ms
        self._generation = fork.generation()

    @classmethod
    def open(
        cls, host: str, port: int, settings: Mapping[str, Any], timeout_ms: float
    ) -> concurrent.futures.Future[Channel]:
        """`settings`: of the core. `timeout_ms`: for connecting, and then for each request.

        The future raises: SocketDisconnectedError.
        """
        return loop_thread().submit(cls._open(host, port, settings, timeout_ms))

    @classmethod
    async def _open(cls, host: str, port: int, settings: Mapping[str, Any], timeout_ms: float) -> Channel:
        try:
            config = load(CommonConfig, {**_NO_SERVERS, **settings})
            security = Security(config)
            connection = await Connection.open(
                host,
                port,
                client_id=config.client_id,
                security=security,
                connect_timeout_ms=timeout_ms,
                request_timeout_ms=timeout_ms,
                source_address=config.source_address,
                proxy=security.proxy,
            )
        except BarnabasError as error:
            raise SocketDisconnectedError(str(error)) from None
        return cls(connection, timeout_ms)

    @property
    def is_closed(self) -> bool:
        return self._connection.is_closed or self._generation != fork.generation()

    def ask(self, frame: bytes) -> concurrent.futures.Future[bytes | None]:
        """Sends a request, behind those before; the answer without its correlation id, or None for a request
        that brokers do not answer.

        The future raises: SocketDisconnectedError. Raises: ValueError for what is no request.
        """
        exchange = exchange_of(frame)
        if self.is_closed:
            closed: concurrent.futures.Future[bytes | None] = concurrent.futures.Future()
            closed.set_exception(SocketDisconnectedError("the connection is closed"))
            return closed
        return loop_thread().submit(self._ask(exchange))

    async def _ask(self, exchange: TranslatedRequest) -> bytes | None:
        # Nothing is awaited before the request is written: so requests leave in the order of calls.
        connection = self._connection
        try:
            request, version = exchange.request_for(connection.versions)
            if not exchange.expects_answer:
                connection.send_no_response(request, max_version=version)
                return None

            def submit(one: Any) -> asyncio.Future[Any]:
                return connection.submit(one, timeout_ms=self._timeout_ms, max_version=version)

            if is_of_old(request.API_KEY, exchange.version, version):
                asked = decode(REQUESTS[request.API_KEY], exchange.version, exchange.asked.encode())
                return exchange.answer_of(await offsets_of_old(asked, request, submit))
            return exchange.answer_of(await submit(request))
        except BarnabasError as error:
            raise SocketDisconnectedError(str(error)) from None

    def close(self) -> None:
        """Answers that have not come yet never will."""
        if self._generation == fork.generation():
            with contextlib.suppress(RuntimeError):
                loop_thread().call(self._connection.close)
