"""One connection to one broker: opening it, sending requests, handing out answers, ending it.

Owns what has to happen before a request may be sent, and what ends the connection. Must not know metadata,
topics or retries: a failed request is the caller's to make again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import socket
import ssl
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas.clock import CLOCK
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.net.addresses import AddressFamily
from barnabas.net.answers import AnswerTo, RequestUnderWay
from barnabas.net.dialing import dial, peer_of
from barnabas.net.frames import LENGTH_BYTES, MAX_FRAME_BYTES, FrameProtocol
from barnabas.net.lending import SocketLending
from barnabas.net.monitor import ConnectionMonitor
from barnabas.net.negotiation import negotiate_versions
from barnabas.net.proxies import Proxy
from barnabas.net.requests import RequestsUnderWay
from barnabas.net.security import Security
from barnabas.net.stalls import StallWatch
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.frame import decode_response, encode_request_parts, response_correlation_id
from barnabas.wording import time_limit

if TYPE_CHECKING:
    from barnabas.net.sasl.mechanism import Mechanism
    from barnabas.net.sasl.session import SaslSession

# Who answers the first request with more than this does not speak Kafka.
MAX_HANDSHAKE_FRAME_BYTES = 1 << 20
# How long closing waits for a broker to receive the last bytes.
CLOSE_SECONDS = 1.0

# What a broker may mean that hangs up without a word.
HINT_TLS = "; if it expects TLS, set security_protocol to SSL or SASL_SSL"
HINT_SASL = "; if it expects SASL, set security_protocol to SASL_SSL or SASL_PLAINTEXT"
HINT_CREDENTIALS = " during authentication; brokers before 1.0 refuse wrong credentials so"

logger = logging.getLogger("barnabas.connection")

_numbers = itertools.count(1)

ResponseT = TypeVar("ResponseT", bound=Response)


class Connection:
    """A connection that is ready for requests. Made by `Connection.open`; belongs to one event loop."""

    def __init__(
        self,
        name: str,
        client_id: str,
        host: str,
        security: Security | None,
        monitor: ConnectionMonitor,
        request_timeout_ms: float,
    ) -> None:
        self.name = name
        self.number = next(_numbers)
        """Which of this process's connections it is."""
        self.versions: dict[int, tuple[int, int]] = {}
        """The lowest and highest version of each API key that the broker speaks."""
        self.finalized_features: dict[str, int] = {}
        """The level of each feature that the cluster had agreed on when the connection was made (KIP-584)."""
        self._client_id = client_id
        self._loop = asyncio.get_running_loop()
        self._protocol = FrameProtocol(self._on_frame, self._on_lost)
        self._requests = RequestsUnderWay(name, monitor, self._on_timeout, self._loop)
        self._error: BarnabasError | None = None
        self._is_ready = False
        seconds = request_timeout_ms / 1000
        self._stall_watch = StallWatch(self._protocol, seconds, self._on_stalled, self._loop)
        self._host = host
        self._tls = None if security is None else security.tls
        self._mechanism = None if security is None else security.mechanism
        self._request_timeout_ms = request_timeout_ms
        self._session: SaslSession | None = None
        self._bare_frame: asyncio.Future[bytes] | None = None
        self._is_retired = False
        self._hint = ""
        is_encoded = self._tls is not None or self._mechanism is not None
        self.lending = SocketLending(
            name, self._protocol, self._requests, self._end, self._close_if_retired, is_encoded=is_encoded
        )
        """Lends the socket to someone who goes on with it without the event loop."""

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str,
        security: Security | None = None,
        connect_timeout_ms: float = 10_000,
        request_timeout_ms: float = 30_000,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        address_family: AddressFamily = "any",
        source_address: str | None = None,
        proxy: Proxy | None = None,
        name: str | None = None,
        monitor: ConnectionMonitor | None = None,
    ) -> Self:
        """Connects to the first address of `host` that answers, asks for the versions it speaks, and
        authenticates as `security` (None: plain text) demands. `proxy`: that the connection is made by;
        `source_address`: the local host, or host:port, that it is made from.

        `connect_timeout_ms` holds for each address, and for the TLS handshake. `name`, by default
        `host:port`, is what errors call the broker. `monitor` counts what happens from here on.

        Raises: KafkaConnectionError (a reason for each address), KafkaTimeoutError, BrokenProtocolError,
        AuthenticationError.
        """
        connection = cls(
            name or f"{host}:{port}",
            client_id,
            host,
            security,
            monitor or ConnectionMonitor(),
            request_timeout_ms,
        )
        number, buffers = connection.number, (send_buffer_bytes, receive_buffer_bytes)
        timeout = connect_timeout_ms / 1000
        connection.monitor.reached(number, "connecting")
        sock: socket.socket | None = None
        try:
            sock = await dial(host, port, timeout, address_family, *buffers, proxy, source_address)
            connection.monitor.reached(number, "connected", address=_address(sock, connection.name))
            await connection._attach(sock, timeout)
            await connection._negotiate_versions()
            if connection._mechanism is not None:
                await connection._begin_session(connection._mechanism)
            else:
                connection._hint = HINT_SASL
            connection._protocol.max_frame_bytes = MAX_FRAME_BYTES
        except BaseException as error:
            told = error if isinstance(error, BarnabasError) else None
            connection.monitor.reached(number, "closed", error=told)
            if sock is None:
                raise
            transport = connection._protocol.transport
            if transport is None:
                sock.close()
            else:
                # No goodbye by TLS, which takes the broker's answer: the loop may end before that comes.
                transport.abort()
            connection.close()
            await connection.wait_closed()
            raise
        connection._is_ready = True
        connection.monitor.reached(number, "up")
        connection.monitor.opened()
        return connection

    @property
    def monitor(self) -> ConnectionMonitor:
        """What counts; may be replaced by that of the broker, once it is known which one this is."""
        return self._requests.monitor

    @monitor.setter
    def monitor(self, monitor: ConnectionMonitor) -> None:
        self._requests.monitor = monitor

    @property
    def last_used(self) -> float:
        return self._requests.last_used

    @property
    def is_closed(self) -> bool:
        return self._error is not None

    @property
    def is_over(self) -> bool:
        """Whether the socket is closed: after `close`, what was written leaves first."""
        return self._protocol.is_over

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer."""
        return self._requests.count

    @property
    def is_outdated(self) -> bool:
        """Whether the session nears its end and the credentials stand for somebody else by now: brokers do
        not let a connection change hands."""
        return self._session is not None and self._session.is_outdated

    @property
    def can_write(self) -> bool:
        """False while the broker takes less than is written to it."""
        return self._protocol.can_write

    async def wait_until_writable(self) -> None:
        await self._protocol.wait_until_writable()

    def version_of(self, request_type: type[Request[Any]], max_version: int | None = None) -> int:
        """The highest version of a request that both sides speak. Raises: NoCommonVersionError."""
        low, high = request_type.VERSIONS
        if max_version is not None:
            high = min(high, max_version)
        spoken = self.versions.get(request_type.API_KEY)
        if spoken is None:
            raise NoCommonVersionError(f"{self.name} does not know {request_type.NAME} requests")
        version = min(high, spoken[1])
        if version < max(low, spoken[0]):
            raise NoCommonVersionError(
                f"{self.name} speaks {request_type.NAME} {spoken[0]} to {spoken[1]}, "
                f"this client {low} to {high}"
            )
        return version

    async def send(
        self, request: Request[ResponseT], *, timeout_ms: float, max_version: int | None = None
    ) -> ResponseT:
        """Sends a request and waits for its answer. Error codes in the answer are the caller's business.

        Raises: KafkaConnectionError, KafkaTimeoutError (which closes the connection, since its answers
        have lost their meaning), NoCommonVersionError, BrokenProtocolError.
        """
        return await self.submit(request, timeout_ms=timeout_ms, max_version=max_version)

    def submit(
        self, request: Request[ResponseT], *, timeout_ms: float, max_version: int | None = None
    ) -> asyncio.Future[ResponseT]:
        """Like `send`, but written when this returns: requests leave in the order of calls."""
        version = self.version_of(type(request), max_version)
        future: asyncio.Future[ResponseT] = self._loop.create_future()
        self._start(request, version, timeout_ms, future)
        return future

    def submit_to(
        self,
        answer: AnswerTo[ResponseT],
        request: Request[ResponseT],
        *,
        timeout_ms: float,
        max_version: int | None = None,
    ) -> None:
        """Like `submit`, but for one that is called with the answer."""
        self._start(request, self.version_of(type(request), max_version), timeout_ms, answer)

    def send_no_response(self, request: Request[Any], *, max_version: int | None = None) -> None:
        """Sends a request that the broker never answers (Produce with acks=0)."""
        self._start(request, self.version_of(type(request), max_version), 0, None)
        self._stall_watch.begin()

    def _on_stalled(self) -> None:
        self.monitor.request_timeouts += 1
        limit = self._limit(self._request_timeout_ms)
        self._end(KafkaConnectionError(f"{self.name} has taken no byte for {limit}"))

    def _limit(self, timeout_ms: float) -> str:
        return time_limit(timeout_ms, "request_timeout_ms", self._request_timeout_ms)

    def exchanged(self, request_type: type[Request[Any]], count: int, **figures: Any) -> None:
        """So many requests were sent and answered by someone that the connection is lent to, and no answer
        asked for silence. `figures` as for `ConnectionMonitor.exchanged`."""
        self._requests.last_used = CLOCK.monotonic()
        if self.monitor.throttled_apis:
            self.monitor.not_throttled(request_type.NAME)
        self.monitor.exchanged(request_type.NAME, requests=count, answers=count, **figures)

    def retire(self) -> None:
        """Closes as soon as nothing is under way."""
        self._is_retired = True
        self.lending.reclaim()
        self._close_if_retired()

    def _close_if_retired(self) -> None:
        if self._is_retired and not self.in_flight:
            self.close()

    def close(self) -> None:
        """Closes; what was written still leaves. Requests under way fail with KafkaConnectionError."""
        self.lending.reclaim()
        transport = self._protocol.transport
        # The second time would have asyncio's TLS transport forget what it could still abort.
        if transport is not None and not transport.is_closing():
            transport.close()
        self._end(KafkaConnectionError(f"the connection to {self.name} was closed"), is_ours=True)

    async def wait_closed(self) -> None:
        """After `close`: returns when what was written has left, or after CLOSE_SECONDS, in which case it
        goes on leaving for as long as the event loop runs. A goodbye by TLS is not waited for any longer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._protocol.wait_until_over()
        transport = self._protocol.transport
        if transport is not None and not self.is_over and not transport.get_write_buffer_size():
            transport.abort()
            await self._protocol.wait_until_over()

    def _start(
        self,
        request: Request[Any],
        version: int,
        timeout_ms: float,
        future: asyncio.Future[Any] | AnswerTo[Any] | None,
    ) -> None:
        self.lending.reclaim()
        if self._error is not None:
            raise self._error
        under_way = self._encoded(request, version, timeout_ms, future)
        if self._session is not None:
            self._session.renew_if_due()
        if self._requests.has_delayed or self._is_authenticating or self._requests.throttled_seconds > 0:
            self._delay(under_way)
        else:
            self._send_now(under_way)

    def _encoded(
        self,
        request: Request[Any],
        version: int,
        timeout_ms: float,
        future: asyncio.Future[Any] | AnswerTo[Any] | None,
    ) -> RequestUnderWay:
        correlation_id = self._requests.take_correlation_id()
        try:
            parts = encode_request_parts(request, version, correlation_id, self._client_id)
        except NoCommonVersionError as error:
            raise NoCommonVersionError(f"{self.name} is too old for this: {error}") from None
        return RequestUnderWay(correlation_id, type(request), version, timeout_ms, parts, future)

    def _send_now(self, under_way: RequestUnderWay) -> None:
        self._requests.add_sent(under_way)
        monitor = self.monitor
        assert self._protocol.transport is not None
        before = monitor.bytes_sent
        for part in under_way.parts:
            monitor.bytes_sent += len(part)
            # A view, so that what the socket does not take at once is cut off without a copy.
            self._protocol.transport.write(memoryview(part))
        under_way.parts = []
        under_way.size = monitor.bytes_sent - before
        if monitor.is_followed:
            name, size = under_way.request_type.NAME, under_way.size
            monitor.sent(self.number, name, under_way.version, under_way.correlation_id, size)

    def _delay(self, under_way: RequestUnderWay) -> None:
        # KIP-219: a broker that throttles us answers at once and leaves the waiting to us.
        if not self._requests.has_delayed and not self._is_authenticating:
            self._loop.call_later(self._requests.throttled_seconds, self._send_delayed)
        self._requests.add_delayed(under_way)

    def _send_delayed(self) -> None:
        if self._is_authenticating:
            # Called again when that is done.
            return
        remaining = self._requests.throttled_seconds
        if self._requests.has_delayed and remaining > 0:
            self._loop.call_later(remaining, self._send_delayed)
            return
        while self._error is None and (under_way := self._requests.take_delayed()) is not None:
            self._send_now(under_way)

    def _on_frame(self, frame: bytes | memoryview) -> None:
        self.lending.reclaim()
        if self._bare_frame is not None:
            bare_frame, self._bare_frame = self._bare_frame, None
            if not bare_frame.done():
                bare_frame.set_result(bytes(frame))
            return
        first = self._requests.first
        try:
            self._take_frame(frame)
        except BaseException as error:
            # Whoever waits for the answer waits no longer, whatever went wrong with it.
            lost = KafkaConnectionError(f"{self.name}: an answer could not be taken: {error!r}")
            lost.__cause__ = error
            if first is not None and first.future is not None and not first.future.done():
                first.future.set_exception(lost)
            self._end(lost)
            if not isinstance(error, Exception):
                raise
        self._close_if_retired()

    def _take_frame(self, frame: bytes | memoryview) -> None:
        size = LENGTH_BYTES + len(frame)
        try:
            under_way = self._requests.take_answered(response_correlation_id(frame), size)
        except BrokenProtocolError as error:
            self._end(_named(error, self.name))
            return
        except KafkaConnectionError as error:
            self._end(error)
            return
        monitor = self.monitor
        if monitor.is_followed:
            name, version = under_way.request_type.NAME, under_way.version
            latency_ms = (self.last_used - under_way.sent_at) * 1000
            monitor.received(self.number, name, version, under_way.correlation_id, size, latency_ms)
        self._take_answer(under_way, frame)

    def _take_answer(self, under_way: RequestUnderWay, frame: bytes | memoryview) -> None:
        future = under_way.future
        assert future is not None
        if future.done():
            return
        try:
            response = decode_response(under_way.request_type, under_way.version, frame)
        except BrokenProtocolError as error:
            named = _named(error, self.name)
            future.set_exception(named)
            self._end(named)
            return
        throttle_time_ms: int = getattr(response, "throttle_time_ms", 0)
        if throttle_time_ms > 0:
            self._requests.throttle(under_way, throttle_time_ms)
        elif self.monitor.throttled_apis:
            self.monitor.not_throttled(under_way.request_type.NAME)
        if not self._is_authenticating:
            self._hint = ""
        future.set_result(response)

    def _on_timeout(self, under_way: RequestUnderWay) -> None:
        name, timeout_ms = under_way.request_type.NAME, under_way.timeout_ms
        limit = self._limit(timeout_ms)
        # Nothing was ever heard from there.
        hint = self._hint if self._hint == HINT_TLS else ""
        error = KafkaTimeoutError(
            f"{self.name} did not answer {name} within {limit}{hint}"
            if under_way.sent_at
            else f"{self.name} had {name} wait for longer than {limit} before it was sent: it throttles this "
            "client, or is slow to re-authenticate it"
        )
        self.monitor.timed_out(self.number, name, under_way.correlation_id, timeout_ms)
        if under_way.future is not None and not under_way.future.done():
            under_way.future.set_exception(error)
        self._end(KafkaConnectionError(f"the connection to {self.name} was closed, since {error}"))

    def _on_lost(self, error: Exception | None) -> None:
        if isinstance(error, BarnabasError):
            self._end(_named(error, self.name))
        elif isinstance(error, ssl.SSLError) and self._tls is not None:
            # In TLS 1.3 the broker looks at the client's certificate when the handshake is over for us.
            self._end(self._tls.error(error, self.name))
        else:
            # What is sent by others, too, is under way.
            self.lending.reclaim()
            lost = KafkaConnectionError(f"{self.name} closed the connection{_reason(error)}{self._hint}")
            first = self._requests.first
            lost.request_bytes = None if first is None else first.size - LENGTH_BYTES
            self._end(lost)

    def _end(self, error: BarnabasError, *, is_ours: bool = False) -> None:
        if self._error is not None:
            return
        self.lending.reclaim()
        self._error = error
        transport = self._protocol.transport
        if transport is not None and not is_ours:
            # Also where it is closing already: asyncio's TLS transport counts as open until it is told.
            transport.abort()
        self._stall_watch.end()
        if self._session is not None:
            self._session.end()
        if self._bare_frame is not None and not self._bare_frame.done():
            self._bare_frame.set_exception(error)
        self._requests.fail(error)
        if self._is_ready:
            told = None if is_ours else error
            self.monitor.reached(self.number, "closed", error=told)
            self.monitor.closed(told)

    async def _attach(self, sock: socket.socket, timeout: float) -> None:
        if self._tls is None:
            self._hint = HINT_TLS
            await self._loop.create_connection(lambda: self._protocol, sock=sock)
            self._protocol.receive_large_frames_apart()
            return
        self.monitor.reached(self.number, "handshaking")
        # With TLS alone, as what belongs to it is large.
        from barnabas.net.tls_connect import connect_tls

        await connect_tls(
            lambda: self._protocol, sock, self._host, self._tls, timeout=timeout, name=self.name
        )

    async def _negotiate_versions(self) -> None:
        self.monitor.reached(self.number, "negotiating")
        self._protocol.max_frame_bytes = MAX_HANDSHAKE_FRAME_BYTES
        response = await negotiate_versions(self)
        self.versions = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
        self.monitor.learned_versions(self.number, self.versions)
        self.finalized_features = {
            feature.name: feature.max_version_level for feature in response.finalized_features
        }

    async def ask(self, request: Request[ResponseT], version: int) -> ResponseT:
        """Sends a request that makes the connection ready, and that waits for no other."""
        if self._error is not None:
            raise self._error
        future: asyncio.Future[ResponseT] = self._loop.create_future()
        self._send_now(self._encoded(request, version, self._request_timeout_ms, future))
        return await future

    async def exchange_frame(self, frame: bytes) -> bytes:
        """Sends a frame without a header, and gives the one that answers it: how brokers before 1.0
        authenticate."""
        answer = self._loop.create_future()
        self.send_frame(frame)
        self._bare_frame = answer
        try:
            async with asyncio.timeout(self._request_timeout_ms / 1000):
                return await answer
        except TimeoutError:
            limit = self._limit(self._request_timeout_ms)
            raise KafkaTimeoutError(f"{self.name} did not answer the authentication within {limit}") from None

    def send_frame(self, frame: bytes) -> None:
        """Sends a frame without a header, which nothing answers."""
        if self._error is not None:
            raise self._error
        assert self._protocol.transport is not None
        self._protocol.transport.write(len(frame).to_bytes(LENGTH_BYTES) + frame)

    async def _begin_session(self, mechanism: Mechanism) -> None:
        # Not for the clients of a cluster that asks nobody who he is.
        from barnabas.net.sasl.session import SaslSession

        self._session = SaslSession(
            mechanism,
            self._host,
            self,
            self._request_timeout_ms,
            on_renewing=self._on_renewing,
            on_renewed=self._on_renewed,
            on_failed=self._end,
            loop=self._loop,
        )
        await self._session.begin()
        self._hint = ""

    @property
    def _is_authenticating(self) -> bool:
        return self._session is not None and self._session.is_authenticating

    def _on_renewing(self) -> None:
        self._hint = HINT_CREDENTIALS
        self.monitor.reached(self.number, "authenticating")

    def _on_renewed(self) -> None:
        self._hint = ""
        self.monitor.reached(self.number, "up")
        self._send_delayed()


def _named(error: BarnabasError, name: str) -> BarnabasError:
    named = type(error)(f"{name}: {error}")
    named.__cause__ = error
    return named


def _address(sock: socket.socket, name: str) -> str:
    """The other side's, as `[host]:port` by IPv6. Raises: KafkaConnectionError if that has gone already."""
    host, port = peer_of(sock, name)[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: Exception | None) -> str:
    return "" if error is None else f": {error}"
