"""One of the core's connections, opened and used from a thread that does not wait for it.

What comes of it goes into an `Inbox`. Knows nothing of kafka-python's classes of connections.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from barnabas.compat.kafka_engine.config.client_settings import client_settings
from barnabas.compat.kafka_engine.config.servers import family_of
from barnabas.compat.kafka_engine.network.inbox import Inbox
from barnabas.compat.kafka_engine.wire.translation import TranslatedRequest
from barnabas.errors import BarnabasError, ClosedError, KafkaConnectionError
from barnabas.loop_thread import loop_thread
from barnabas.net.addresses import resolve
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.settings.table import CommonConfig, load

__all__ = ["Link"]

_NO_SERVERS = {"bootstrap_servers": "localhost:9092"}


class Link:
    """To one address. Its methods are for the thread that polls; `config`: a program's, complete.

    `on_open(error)` is told when it is open, or failed to be.
    """

    def __init__(
        self,
        host: str,
        port: int,
        config: Mapping[str, Any],
        inbox: Inbox,
        on_open: Callable[[Exception | None], object],
    ) -> None:
        self._inbox = inbox
        self._on_open = on_open
        self._address = (host, port)
        self._settings = load(CommonConfig, client_settings({**config, **_NO_SERVERS}))
        self._security = Security(self._settings)
        self._connection: Connection | None = None
        self._is_ended = False
        self.versions: Mapping[int, tuple[int, int]] = {}
        self.address: tuple[int, Any] = (family_of(host), None)
        """The family of the address, and the address itself once it is known."""
        loop_thread().submit(self._open())

    @property
    def is_lost(self) -> bool:
        """Whether it was open and is not any more."""
        return self._connection is not None and self._connection.is_closed

    def ask(self, exchange: TranslatedRequest, timeout_ms: float, on_answer: Callable[[Any], Any]) -> None:
        """Sends a request; `on_answer` is told the core's answer, or the error that took its place; None for
        what brokers do not answer."""

        def send() -> None:
            connection = self._connection
            try:
                if connection is None:
                    raise ClosedError("the connection is closed")
                request, version = exchange.request_for(connection.versions)
                if not exchange.expects_answer:
                    connection.send_no_response(request, max_version=version)
                    self._inbox.put(lambda: on_answer(None))
                    return
                sent = connection.submit(request, timeout_ms=timeout_ms, max_version=version)
            except (BarnabasError, ValueError) as error:
                failure: Exception = error
                self._inbox.put(lambda: on_answer(failure))
                return
            sent.add_done_callback(lambda done: self._inbox.put(lambda: on_answer(_outcome(done))))

        loop_thread().call(send)

    def end(self) -> None:
        """Closes it; answers that have not come yet never will."""
        self._is_ended = True
        loop_thread().call(self._close)

    # On the event loop

    async def _open(self) -> None:
        settings, (host, port) = self._settings, self._address
        error: Exception | None = None
        try:
            found = await resolve(host, port, settings.socket_connection_setup_timeout_ms / 1000)
            self.address = (found[0].family, found[0].sockaddr)
            connection = await Connection.open(
                host,
                port,
                client_id=settings.client_id,
                security=self._security,
                connect_timeout_ms=settings.socket_connection_setup_timeout_ms,
                request_timeout_ms=settings.request_timeout_ms,
                send_buffer_bytes=settings.send_buffer_bytes,
                receive_buffer_bytes=settings.receive_buffer_bytes,
                proxy=self._security.proxy,
            )
        except OSError as raised:
            error = KafkaConnectionError(f"DNS failure: {host}:{port}: {raised}")
        except BarnabasError as raised:
            error = raised
        else:
            self.versions = dict(connection.versions)
            self._connection = connection
            if self._is_ended:
                self._close()
        self._inbox.put(lambda: self._on_open(error))

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _outcome(done: Any) -> Any:
    if done.cancelled():
        return ClosedError("the connection is closed")
    return done.exception() or done.result()
