"""One connection to one broker: opening it, agreeing on versions, requests under way and their time-outs.

Owns the order of requests and answers, and when the connection authenticates itself anew. Must not know
metadata, topics or retries: a failed request is the caller's to make again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import socket
import ssl
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas import background
from barnabas._kernel import VERSION
from barnabas.chance import chance
from barnabas.clock import CLOCK
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.net.addresses import AddressFamily
from barnabas.net.answers import AnswerTo, Loan, RequestUnderWay, SentElsewhere
from barnabas.net.dialing import dial, peer_of
from barnabas.net.frames import LENGTH_BYTES, MAX_FRAME_BYTES, FrameProtocol
from barnabas.net.monitor import ConnectionMonitor
from barnabas.net.proxies import Proxy
from barnabas.net.security import Security
from barnabas.net.throttling import FIRST_THROTTLED_VERSION
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.frame import decode_response, encode_request_parts, response_correlation_id
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wording import time_limit

if TYPE_CHECKING:
    from barnabas._kernel import TakenBack
    from barnabas.net.sasl.authenticator import Authentication
    from barnabas.net.sasl.mechanism import Mechanism

SOFTWARE_NAME = "barnabas"
UNSUPPORTED_VERSION = 35
# Who answers the first request with more than this does not speak Kafka.
MAX_HANDSHAKE_FRAME_BYTES = 1 << 20
# How long closing waits for a broker to receive the last bytes.
CLOSE_SECONDS = 1.0
# When, within its session's lifetime, a connection authenticates itself anew (KIP-368, as in Java).
RENEWAL_BEGINS = 0.85
RENEWAL_SPREAD = 0.1
RENEWAL_RETRY_SECONDS = 1.0

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
        self, name: str, client_id: str, host: str, security: Security | None, monitor: ConnectionMonitor
    ) -> None:
        self.name = name
        self.number = next(_numbers)
        """Which of this process's connections it is."""
        self.monitor = monitor
        """What counts; may be replaced by that of the broker, once it is known which one this is."""
        self.versions: dict[int, tuple[int, int]] = {}
        """The lowest and highest version of each API key that the broker speaks."""
        self.finalized_features: dict[str, int] = {}
        """The level of each feature that the cluster had agreed on when the connection was made (KIP-584)."""
        self.last_used = CLOCK.monotonic()
        self._client_id = client_id
        self._loop = asyncio.get_running_loop()
        self._protocol = FrameProtocol(self._on_frame, self._on_lost)
        self._under_way: deque[RequestUnderWay] = deque()
        self._delayed: deque[RequestUnderWay] = deque()
        self._throttled_until = 0.0
        self._next_correlation_id = 0
        self._error: BarnabasError | None = None
        self._is_ready = False
        self._stall_timer: asyncio.TimerHandle | None = None
        self._host = host
        self._tls = None if security is None else security.tls
        self._mechanism = None if security is None else security.mechanism
        self._request_timeout_ms = 0.0
        self._identity: str | None = None
        self._renew_at = math.inf
        self._session_ends_at = math.inf
        self._is_authenticating = False
        self._renewal: asyncio.Task[None] | None = None
        self._bare_frame: asyncio.Future[bytes] | None = None
        self._is_retired = False
        self._hint = ""
        self._want_back: Callable[[], None] | None = None
        self._lends_reading = False

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
        connection = cls(name or f"{host}:{port}", client_id, host, security, monitor or ConnectionMonitor())
        connection._request_timeout_ms = request_timeout_ms
        number, buffers = connection.number, (send_buffer_bytes, receive_buffer_bytes)
        timeout = connect_timeout_ms / 1000
        connection.monitor.reached(number, "connecting")
        sock: socket.socket | None = None
        try:
            sock = await dial(host, port, timeout, address_family, *buffers, proxy, source_address)
            connection.monitor.reached(number, "connected", address=_address(sock, connection.name))
            await connection._attach(sock, timeout)
            await connection._negotiate_versions(request_timeout_ms)
            if connection._mechanism is not None:
                await connection._authenticate(await connection._prepare(connection._mechanism))
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
    def is_closed(self) -> bool:
        return self._error is not None

    @property
    def is_over(self) -> bool:
        """Whether the socket is closed: after `close`, what was written leaves first."""
        return self._protocol.is_over

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer."""
        return len(self._under_way) + len(self._delayed)

    @property
    def is_outdated(self) -> bool:
        """Whether the session nears its end and the credentials stand for somebody else by now: brokers do
        not let a connection change hands."""
        return (
            CLOCK.monotonic() >= self._renew_at
            and self._mechanism is not None
            and self._mechanism.identity != self._identity
        )

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
        if not self._protocol.can_write and self._stall_timer is None:
            self._watch_writing()

    def _watch_writing(self) -> None:
        """Without an answer to wait for, a broker that hangs shows by taking no byte any more."""
        assert self._protocol.transport is not None
        unwritten = self._protocol.transport.get_write_buffer_size()
        seconds = self._request_timeout_ms / 1000
        self._stall_timer = self._loop.call_later(seconds, self._check_writing, unwritten)

    def _check_writing(self, unwritten_before: int) -> None:
        self._stall_timer = None
        if self._error is not None or self._protocol.can_write:
            return
        assert self._protocol.transport is not None
        if self._protocol.transport.get_write_buffer_size() < unwritten_before:
            self._watch_writing()
            return
        self.monitor.request_timeouts += 1
        limit = self._limit(self._request_timeout_ms)
        self._end(KafkaConnectionError(f"{self.name} has taken no byte for {limit}"))

    def _limit(self, timeout_ms: float) -> str:
        return time_limit(timeout_ms, "request_timeout_ms", self._request_timeout_ms)

    def lend(self, want_back: Callable[[], None]) -> Loan | None:
        """Lends the socket to someone who reads the answer to the one request under way and goes
        on from there without the event loop, until `take_back`. `want_back` is called on the loop when the
        connection is needed, or has ended: it has to call `take_back` at once.

        None where the bytes on the socket are not those of the frames, or more than one answer is due.
        """
        if not self._can_be_lent or len(self._under_way) != 1:
            return None
        descriptor = self._protocol.lend()
        if descriptor is None:
            return None
        self._want_back = want_back
        under_way = self._under_way[0]
        if under_way.timer is not None:
            under_way.timer.cancel()
        return Loan(descriptor, under_way.correlation_id)

    def take_back(self, taken: TakenBack, answer: Response) -> None:
        """Ends what `lend` began. `answer` is what stands for the one to the last request, where that came
        and was dealt with: then nothing is under way."""
        self._want_back = None
        if not self._under_way:
            return
        under_way = self._under_way[0]
        under_way.correlation_id = self._next_correlation_id = taken.correlation_id
        self.last_used = CLOCK.monotonic()
        seconds = taken.seconds_under_way
        if taken.is_broken:
            self._end(KafkaConnectionError(f"{self.name} takes no byte any more"))
        elif seconds is None:
            self._under_way.clear()
            self.monitor.in_flight -= 1
            if under_way.future is not None and not under_way.future.done():
                under_way.future.set_result(answer)
            self._protocol.take_back(b"")
            if self._is_retired:
                self.close()
        else:
            under_way.sent_at = self.last_used - seconds
            remaining = max(0.0, under_way.timeout_ms / 1000 - seconds)
            under_way.timer = self._loop.call_later(remaining, self._on_timeout, under_way)
            self._protocol.take_back(taken.received, taken.frame)

    @property
    def is_plain(self) -> bool:
        """Whether it can be lent at all: not while someone follows what goes through it."""
        return self._tls is None and self._mechanism is None and not self.monitor.is_followed

    @property
    def _can_be_lent(self) -> bool:
        is_free = self._error is None and not self._delayed and self._want_back is None
        return self.is_plain and is_free

    def lend_writing(self, want_back: Callable[[], None], *, reads_answers: bool = False) -> Loan | None:
        """Lends the socket to someone who writes requests, and nobody else does: the first with the
        correlation id that the loan names, the others with those that follow. With `reads_answers` he reads
        their answers, too. `want_back` is called on the loop when the connection is needed, when an answer
        comes that he does not read, or when the connection has ended: it has to call `take_back_writing` at
        once.

        None while anything is under way or has to wait, and where bytes are not sent as they are.
        """
        if not self._can_be_lent or self._under_way or self._throttled_until > CLOCK.monotonic():
            return None
        descriptor = self._protocol.lend() if reads_answers else self._protocol.lend_writing()
        if descriptor is None:
            return None
        self._want_back, self._lends_reading = want_back, reads_answers
        return Loan(descriptor, (self._next_correlation_id + 1) & 0x7FFFFFFF)

    def take_back_writing(
        self,
        correlation_id: int,
        sent: Iterable[SentElsewhere] = (),
        *,
        unsent: bytes = b"",
        received: bytes = b"",
    ) -> None:
        """Ends what `lend_writing` began. The last request has this id; those `sent` are under way, the last
        of them but for `unsent`, and `received` is what came of their answers: those that are whole are dealt
        with at once."""
        self._want_back, self._next_correlation_id = None, correlation_id
        self.last_used = CLOCK.monotonic()
        monitor = self.monitor
        for request in sent:
            name = request.request_type.NAME
            under_way = RequestUnderWay(
                request.correlation_id,
                request.request_type,
                request.version,
                request.timeout_ms,
                [],
                request.answer,
                size=request.size,
            )
            under_way.sent_at = self.last_used - request.seconds_under_way
            remaining = max(0.0, request.timeout_ms / 1000 - request.seconds_under_way)
            under_way.timer = self._loop.call_later(remaining, self._on_timeout, under_way)
            self._under_way.append(under_way)
            monitor.in_flight += 1
            monitor.requests += 1
            monitor.requests_by_api[name] += 1
            monitor.bytes_sent += request.size
        if unsent and self._protocol.transport is not None:
            self._protocol.transport.write(unsent)
        lent_reading, self._lends_reading = self._lends_reading, False
        if lent_reading:
            self._protocol.take_back(received)

    def exchanged(self, request_type: type[Request[Any]], count: int, **figures: Any) -> None:
        """So many requests were sent and answered by someone that the connection is lent to, and no answer
        asked for silence. `figures` as for `ConnectionMonitor.exchanged`."""
        self.last_used = CLOCK.monotonic()
        if self.monitor.throttled_apis:
            self.monitor.not_throttled(request_type.NAME)
        self.monitor.exchanged(request_type.NAME, requests=count, answers=count, **figures)

    def _reclaim(self) -> None:
        if self._want_back is not None:
            self._want_back()

    def retire(self) -> None:
        """Closes as soon as nothing is under way."""
        self._is_retired = True
        self._reclaim()
        if not self.in_flight:
            self.close()

    def close(self) -> None:
        """Closes; what was written still leaves. Requests under way fail with KafkaConnectionError."""
        self._reclaim()
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
        self._reclaim()
        if self._error is not None:
            raise self._error
        under_way = self._encoded(request, version, timeout_ms, future)
        now = CLOCK.monotonic()
        if now >= self._renew_at:
            self._begin_renewal(now)
        if self._delayed or self._is_authenticating or self._throttled_until > now:
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
        correlation_id = self._take_correlation_id()
        try:
            parts = encode_request_parts(request, version, correlation_id, self._client_id)
        except NoCommonVersionError as error:
            raise NoCommonVersionError(f"{self.name} is too old for this: {error}") from None
        return RequestUnderWay(correlation_id, type(request), version, timeout_ms, parts, future)

    def _send_now(self, under_way: RequestUnderWay) -> None:
        self.last_used = under_way.sent_at = CLOCK.monotonic()
        if under_way.future is not None:
            if under_way.timer is not None:
                under_way.timer.cancel()
            self._under_way.append(under_way)
            self.monitor.in_flight += 1
            under_way.timer = self._loop.call_later(under_way.timeout_ms / 1000, self._on_timeout, under_way)
        monitor = self.monitor
        monitor.requests += 1
        monitor.requests_by_api[under_way.request_type.NAME] += 1
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
        if not self._delayed and not self._is_authenticating:
            self._loop.call_later(self._throttled_until - CLOCK.monotonic(), self._send_delayed)
        # Whatever throttle_time_ms a broker demands, nobody waits longer to be sent than for an answer.
        if under_way.future is not None:
            under_way.timer = self._loop.call_later(under_way.timeout_ms / 1000, self._on_timeout, under_way)
        self._delayed.append(under_way)
        self.monitor.waiting += 1

    def _send_delayed(self) -> None:
        if self._is_authenticating:
            # Called again when that is done.
            return
        remaining = self._throttled_until - CLOCK.monotonic()
        if self._delayed and remaining > 0:
            self._loop.call_later(remaining, self._send_delayed)
            return
        while self._delayed and self._error is None:
            under_way = self._delayed.popleft()
            self.monitor.waiting -= 1
            if under_way.future is None or not under_way.future.done():
                self._send_now(under_way)
            elif under_way.timer is not None:
                under_way.timer.cancel()

    def _take_correlation_id(self) -> int:
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        return self._next_correlation_id

    def _on_frame(self, frame: bytes | memoryview) -> None:
        self._reclaim()
        now = self.last_used = CLOCK.monotonic()
        if self._bare_frame is not None:
            bare_frame, self._bare_frame = self._bare_frame, None
            if not bare_frame.done():
                bare_frame.set_result(bytes(frame))
            return
        try:
            correlation_id = response_correlation_id(frame)
        except BrokenProtocolError as error:
            self._end(_named(error, self.name))
            return
        if not self._under_way or self._under_way[0].correlation_id != correlation_id:
            # What was sent may be in order, and may be sent again on another connection.
            due = f"instead of {self._under_way[0].correlation_id}" if self._under_way else "to no request"
            self._end(KafkaConnectionError(f"{self.name} sent answer {correlation_id} {due}: hung up"))
            return
        under_way = self._under_way.popleft()
        if under_way.timer is not None:
            under_way.timer.cancel()
        monitor = self.monitor
        monitor.in_flight -= 1
        monitor.responses += 1
        monitor.bytes_received += LENGTH_BYTES + len(frame)
        latency_ms = (now - under_way.sent_at) * 1000
        monitor.latency_ms.add(now, latency_ms)
        if monitor.is_followed:
            name, size = under_way.request_type.NAME, LENGTH_BYTES + len(frame)
            monitor.received(self.number, name, under_way.version, correlation_id, size, latency_ms)
        self._take_answer(under_way, frame)
        if self._is_retired and not self.in_flight:
            self.close()

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
            self._throttle(under_way, throttle_time_ms)
        elif self.monitor.throttled_apis:
            self.monitor.not_throttled(under_way.request_type.NAME)
        if not self._is_authenticating:
            self._hint = ""
        future.set_result(response)

    def _throttle(self, under_way: RequestUnderWay, throttle_time_ms: int) -> None:
        name = under_way.request_type.NAME
        if under_way.version >= FIRST_THROTTLED_VERSION.get(name, 0):
            self._throttled_until = max(self._throttled_until, self.last_used + throttle_time_ms / 1000)
        self.monitor.throttle(name, throttle_time_ms)

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
            self._reclaim()
            lost = KafkaConnectionError(f"{self.name} closed the connection{_reason(error)}{self._hint}")
            lost.request_bytes = self._under_way[0].size - LENGTH_BYTES if self._under_way else None
            self._end(lost)

    def _end(self, error: BarnabasError, *, is_ours: bool = False) -> None:
        if self._error is not None:
            return
        self._reclaim()
        self._error = error
        transport = self._protocol.transport
        if transport is not None and not is_ours:
            # Also where it is closing already: asyncio's TLS transport counts as open until it is told.
            transport.abort()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        if self._renewal is not None and self._renewal is not asyncio.current_task(self._loop):
            self._renewal.cancel()
        if self._bare_frame is not None and not self._bare_frame.done():
            self._bare_frame.set_exception(error)
        waiting = [*self._under_way, *self._delayed]
        self.monitor.in_flight -= len(self._under_way)
        self.monitor.waiting -= len(self._delayed)
        self._under_way.clear()
        self._delayed.clear()
        for under_way in waiting:
            if under_way.timer is not None:
                under_way.timer.cancel()
            if under_way.future is not None and not under_way.future.done():
                under_way.future.set_exception(error)
        self.monitor.request_errors += len(waiting)
        if self._is_ready:
            told = None if is_ours else error
            self.monitor.reached(self.number, "closed", error=told)
            self.monitor.closed(told)

    # Opening

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

    async def _negotiate_versions(self, timeout_ms: float) -> None:
        self.monitor.reached(self.number, "negotiating")
        self._protocol.max_frame_bytes = MAX_HANDSHAKE_FRAME_BYTES
        version = ApiVersionsRequest.VERSIONS[1]
        response = await self._ask_versions(version, timeout_ms)
        if response.error_code == UNSUPPORTED_VERSION:
            # KIP-511: the answer tells, in version 0, what the broker does speak; old ones name nothing.
            spoken = {key.api_key: key.max_version for key in response.api_keys}
            version = min(version - 1, spoken.get(ApiVersionsRequest.API_KEY, 0))
            response = await self._ask_versions(version, timeout_ms)
        if response.error_code:
            raise BrokenProtocolError(f"{self.name} refused ApiVersions with code {response.error_code}")
        self.versions = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
        self.monitor.learned_versions(self.number, self.versions)
        self.finalized_features = {
            feature.name: feature.max_version_level for feature in response.finalized_features
        }

    async def _ask_versions(self, version: int, timeout_ms: float) -> ApiVersionsResponse:
        request = ApiVersionsRequest()
        if version >= 3:
            request.client_software_name = SOFTWARE_NAME
            request.client_software_version = VERSION
        future: asyncio.Future[ApiVersionsResponse] = self._loop.create_future()
        self._start(request, version, timeout_ms, future)
        return await future

    # Authentication

    async def ask(self, request: Request[ResponseT], version: int) -> ResponseT:
        """Sends a request of the authentication itself, which waits for nothing."""
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

    async def _prepare(self, mechanism: Mechanism) -> Authentication:
        """The broker hears nothing of it yet. Raises: as `Authentication.prepare`."""
        # Not for the clients of a cluster that asks nobody who he is.
        from barnabas.net.sasl.authenticator import Authentication

        authentication = Authentication(mechanism, self._host)
        await authentication.prepare(self.name, self._request_timeout_ms)
        return authentication

    async def _authenticate(self, authentication: Authentication) -> None:
        """Raises: AuthenticationError, KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError."""
        self._is_authenticating = True
        self._hint = HINT_CREDENTIALS
        self.monitor.reached(self.number, "authenticating")
        try:
            session_lifetime_ms = await authentication.run(self)
        finally:
            self._is_authenticating = False
        self._hint = ""
        self._identity = authentication.identity
        self._renew_at = self._session_ends_at = math.inf
        if session_lifetime_ms > 0:
            now = CLOCK.monotonic()
            part = RENEWAL_BEGINS + RENEWAL_SPREAD * chance.random()
            self._renew_at = now + session_lifetime_ms * part / 1000
            self._session_ends_at = now + session_lifetime_ms / 1000

    def _begin_renewal(self, now: float) -> None:
        if self._mechanism is None or self.is_outdated:
            return
        if now >= self._session_ends_at:
            # The broker would hang up on any other request.
            self._is_authenticating = True
        if self._renewal is None:
            self._renewal = background.start(
                self._renew(self._mechanism), what="re-authenticating a connection", loop=self._loop
            )

    async def _renew(self, mechanism: Mechanism) -> None:
        """Authenticates the open connection anew: requests under way are answered, new ones wait."""
        try:
            try:
                authentication = await self._prepare(mechanism)
            except BarnabasError as error:
                if self._is_authenticating or not error.retriable:
                    raise
                logger.warning("%s: re-authentication failed, will try again: %s", self.name, error)
                self._renew_at = CLOCK.monotonic() + RENEWAL_RETRY_SECONDS
                return
            await self._authenticate(authentication)
            self.monitor.reached(self.number, "up")
            self._send_delayed()
        except BarnabasError as error:
            self._end(error)
        except Exception as error:
            logger.exception("%s: re-authentication failed", self.name)
            self._end(KafkaConnectionError(f"{self.name}: re-authentication failed: {error!r}"))
        finally:
            self._renewal = None


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
