"""A connection to a broker, and how it is secured."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import ssl
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from barnabas.compat.pykafka._network.channel import Channel
from barnabas.compat.pykafka._network.security import security_settings
from barnabas.compat.pykafka.exceptions import SocketDisconnectedError
from barnabas.compat.pykafka.handlers import event_of
from barnabas.compat.pykafka.utils.compat import buffer, get_string

__all__ = ["BrokerConnection", "SslConfig"]

log = logging.getLogger("pykafka.connection")

_CLIENT_ID = "pykafka"
_RETRY_SECONDS = 0.3
_RECONNECT_MS = 10 * 1000


class SslConfig:
    """TLS: whom to trust, and what to show. Names of hosts are not checked.

    A program may set `_wrap_socket` to a function of its own, or give a client something else that has a
    `wrap_socket`, such as an ssl.SSLContext: connections take the context of the sockets that it makes.
    """

    def __init__(
        self, cafile: str, certfile: str | None = None, keyfile: str | None = None, password: Any = None
    ) -> None:
        self.cafile = cafile
        self.certfile = certfile
        self.keyfile = keyfile
        self.password = password
        self._wrap_socket: Callable[[Any], Any] | None = None

    def wrap_socket(self, sock: Any) -> Any:
        """The socket as one of TLS. Raises: OSError, ssl.SSLError for the files."""
        if self._wrap_socket is None:
            context = ssl.create_default_context(cafile=self.cafile)
            context.check_hostname = False
            if self.certfile is not None:
                context.load_cert_chain(self.certfile, self.keyfile, self.password)
            self._wrap_socket = context.wrap_socket
        return self._wrap_socket(sock)

    def _legacy_wrap_socket(self) -> Callable[[Any], Any]:
        """What the original's documentation says to set `_wrap_socket` to, with names of hosts unchecked."""
        return SslConfig(self.cafile, self.certfile, self.keyfile, self.password).wrap_socket


class BrokerConnection:
    """Asks one broker. Requests may be in any version that there ever was, answers are in the same.

    `handler`: a Handler, whose events threads or greenlets wait by. `buffer_size` means nothing here.
    """

    def __init__(
        self,
        host: Any,
        port: int,
        handler: Any,
        buffer_size: int = 1024 * 1024,
        source_host: str = "",
        source_port: int = 0,
        ssl_config: Any = None,
        sasl_authenticator: Any = None,
    ) -> None:
        self._channel: Channel | None = None
        self._answers: deque[concurrent.futures.Future[bytes | None]] = deque()
        self.host = host
        self.port = port
        self._handler = handler
        self.source_host = source_host
        self.source_port = source_port
        self._ssl_config = ssl_config
        self._sasl_authenticator = sasl_authenticator

    def __del__(self) -> None:
        self.disconnect()

    @property
    def connected(self) -> bool:
        return self._channel is not None and not self._channel.is_closed

    def connect(self, timeout: float, attempts: int = 1) -> None:
        """`timeout` in milliseconds: for connecting, and then for each answer.

        Raises: SocketDisconnectedError after so many attempts.
        """
        log.debug("Connecting to %s:%s", self.host, self.port)
        for attempt in range(attempts):
            try:
                self._channel = self._open(timeout)
            except (OSError, SocketDisconnectedError) as error:
                log.info("Attempt %s: failed to connect to %s:%s", attempt, self.host, self.port)
                log.info(error)
                if attempts > 1:
                    log.info("Retrying in 300ms.")
                    time.sleep(_RETRY_SECONDS)
            else:
                log.debug("Successfully connected to %s:%s", self.host, self.port)
                return
        raise self._disconnected()

    def _open(self, timeout_ms: float) -> Channel:
        return self._wait_for(self._opening(timeout_ms))

    def _opening(self, timeout_ms: float) -> concurrent.futures.Future[Channel]:
        settings = {"client_id": _CLIENT_ID, **security_settings(self._ssl_config, self._sasl_authenticator)}
        if self.source_host or self.source_port:
            settings["source_address"] = f"{self.source_host}:{self.source_port}"
        return Channel.open(get_string(self.host), int(self.port), settings, max(timeout_ms, 1))

    def begin_alone(self, request: Any, timeout: float) -> Coroutine[Any, Any, bytes | None]:
        """Opens a channel for one request. The core's loop is to run what is returned: it sends the request,
        waits for the answer, `timeout` milliseconds each, and closes. Raises: OSError; the coroutine
        SocketDisconnectedError."""
        opening = self._opening(timeout)
        frame = bytes(request.get_bytes())

        async def ask() -> bytes | None:
            channel = await asyncio.wrap_future(opening)
            try:
                return await asyncio.wrap_future(channel.ask(frame))
            finally:
                channel.close()

        return ask()

    def _wait_for(self, future: concurrent.futures.Future[Any]) -> Any:
        is_done = event_of(self._handler)
        future.add_done_callback(lambda _: is_done.set())
        is_done.wait()
        return future.result()

    def disconnect(self) -> None:
        channel = self.__dict__.get("_channel")
        if channel is not None:
            self._channel = None
            channel.close()

    def reconnect(self) -> None:
        """Raises: SocketDisconnectedError."""
        self.disconnect()
        self.connect(_RECONNECT_MS)

    def submit(self, request: Any) -> concurrent.futures.Future[bytes | None]:
        """Sends a request without waiting. The future has the answer's bytes behind its correlation id; None
        for what brokers do not answer. Raises: as `request`; the future too."""
        channel = self._channel
        frame = bytes(request.get_bytes())
        if channel is None:
            raise self._disconnected()
        return channel.ask(frame)

    def request(self, request: Any) -> None:
        """Sends a request, whose answer `response` will give. Raises: SocketDisconnectedError."""
        sent = self.submit(request)
        if not self.connected:
            self.disconnect()
            raise self._disconnected()
        self._answers.append(sent)

    def response(self) -> Any:
        """The next answer, as a buffer. Raises: SocketDisconnectedError."""
        while self._answers:
            try:
                answer = self._wait_for(self._answers.popleft())
            except SocketDisconnectedError:
                break
            if answer is not None:
                return buffer(answer)
        self._answers.clear()
        self.disconnect()
        raise self._disconnected()

    def _disconnected(self) -> SocketDisconnectedError:
        return SocketDisconnectedError(f"<broker {self.host}:{self.port}>")
