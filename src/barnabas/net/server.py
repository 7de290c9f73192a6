"""The listening side: accepts connections, cuts out and decodes requests, writes the answers in their order.

Owns sockets and the order on each connection. Knows nothing of what a request means, but for the fallback
that lets a client find out which versions are spoken.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import ssl
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any, Protocol, TypeVar, cast

from barnabas import background
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, BrokenProtocolError
from barnabas.listening import stop_listening
from barnabas.net.addresses import in_thread
from barnabas.net.frames import LENGTH_BYTES, TLS_RECORDS, FrameProtocol
from barnabas.net.server_tls import REFUSE
from barnabas.protocol.codec import encode, encode_parts, encode_to_send
from barnabas.protocol.decoder import TooManyItemsError
from barnabas.protocol.encoder import Part
from barnabas.protocol.file_part import FilePart
from barnabas.protocol.frame import LARGE_PART_BYTES, response_header_version
from barnabas.protocol.measure import has_more_items_than
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.request_header import RequestHeader
from barnabas.protocol.messages.response_header import ResponseHeader
from barnabas.protocol.schema import Request, Response
from barnabas.protocol.server_frame import decode_request, encode_response

logger = logging.getLogger(__name__)

UNKNOWN_SERVER_ERROR = -1
UNSUPPORTED_VERSION = 35
BACKLOG = 128
IDLE_CHECK_SECONDS = 15.0
# A client may send on while an answer is awaited; beyond this it has to wait.
MAX_WAITING_REQUESTS = 64
MAX_WAITING_BYTES = 16 << 20
MAX_JOINED_BYTES = 65_536
# Messages with more in their arrays are read and written on another thread, a few milliseconds at a time.
MOST_ITEMS_AT_ONCE = 2000
# A client that goes on without a goodbye of TLS is not waited for.
SHUTDOWN_SECONDS = 2.0
MAX_HANDSHAKE_SECONDS = 60.0
# How long a client that is refused has to read why.
ALERT_SECONDS = 2.0
T = TypeVar("T")
_REQUEST_START = struct.Struct(">hhi")
# How requests of HTTP begin, as far as a frame's length reaches.
HTTP_METHODS = (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"CONN")
_LENGTH = struct.Struct(">i")


class ListenError(BarnabasError):
    """The server cannot listen on its address."""


class DisconnectError(Exception):
    """Raised by a handler that can answer only by hanging up, as to a produce with acks=0 that failed."""


class TurnedAwayError(DisconnectError):
    """`last_words`: a frame that the client gets yet before the connection ends."""

    def __init__(self, reason: str, last_words: bytes) -> None:
        super().__init__(reason)
        self.last_words = last_words


def _nothing() -> None:
    """Of contexts that were made without a connection, or that nobody asks to be told of its end."""


@dataclass(slots=True, eq=False)
class RequestContext:
    """Where requests come from: one object for each connection, which a subclass may keep more in.

    `certificate`: what the client has shown and proved of itself, as `SSLSocket.getpeercert` tells it.
    """

    client_host: str
    client_port: int
    certificate: Mapping[str, Any] | None = None
    hang_up: Callable[[], None] = field(default=_nothing, kw_only=True)
    """Ends the connection; earlier answers still leave."""
    on_lost: Callable[[], None] = field(default=_nothing, kw_only=True)
    """Called when the connection has ended."""
    request_bytes: int = field(default=0, kw_only=True)
    """Of the request that is being answered, its header among them."""
    sends_files: bool = field(default=False, kw_only=True)
    """Whether an answer may have parts of files in it, which the kernel sends without a copy."""
    throttle_ms: int = field(default=0, kw_only=True)
    """How long the next request has to wait once this one is answered."""


class Doorkeeper(Protocol):
    """Answers a connection's frames for as long as it is not known who the client is."""

    @property
    def max_frame_bytes(self) -> int | None:
        """The largest frame that it takes; None once it has let the client in."""
        ...

    def claims(self, frame: bytes | memoryview) -> bool:
        """Whether the frame is its own to answer, and no request to be served. Raises: DisconnectError."""
        ...

    async def answer(self, frame: bytes | memoryview) -> bytes:
        """The answer's frame, its length included; empty where there is nothing to say.

        Raises: TurnedAwayError, DisconnectError, BrokenProtocolError.
        """
        ...


@dataclass(frozen=True, slots=True)
class CutShort:
    """An answer of which only the first bytes leave, its length among them, before the connection ends."""

    response: Response
    after_bytes: int


Handler = Callable[[Any, RequestHeader, Request[Any]], Awaitable[Response | CutShort | None]]
"""Answers a request, given the context of its connection; None where the protocol has no answer."""


class KafkaServer:
    """A server whose requests go to `handler`, those of one connection one after the other.

    `versions`: the lowest and highest version taken, by API key; anything else ends the connection.
    """

    def __init__(
        self,
        handler: Handler,
        versions: Mapping[int, tuple[int, int]],
        *,
        max_request_bytes: int = 100 << 20,
        max_idle_ms: float = 600_000,
        make_context: Callable[[str, int, Mapping[str, Any] | None], RequestContext] = RequestContext,
        make_doorkeeper: Callable[[Any], Doorkeeper] | None = None,
        get_tls: Callable[[], ssl.SSLContext | None] = lambda: None,
        tells_versions_in_refusals: bool = True,
    ) -> None:
        """`max_idle_ms`: how long a connection may stay open without a request. `get_tls`: what the next one
        is to shake hands by, None for none. `make_context`: makes what
        requests of a connection come with, of its host, port and certificate; `make_doorkeeper`: of that, who
        decides whether they are served. Both may raise DisconnectError. `tells_versions_in_refusals`:
        whether it tells those of ApiVersions to who asks in an unknown one (KIP-511)."""
        self.tells_versions_in_refusals = tells_versions_in_refusals
        self.handler = handler
        self.make_doorkeeper = make_doorkeeper
        self._get_tls = get_tls
        self.handshakes: dict[_Handshake, None] = {}
        self.make_context = make_context
        self.versions = versions
        self.max_request_bytes = max_request_bytes
        self._max_idle_seconds = max_idle_ms / 1000
        self._idle_timer: asyncio.TimerHandle | None = None
        self.connections: dict[ServerConnection, None] = {}
        """In the order in which they were made."""
        self._beside = asyncio.Lock()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listens, on a free port if `port` is 0; the port. Raises: ListenError."""
        taken = await self.bind(host, port)
        await self.accept()
        return taken

    async def bind(self, host: str, port: int) -> int:
        """Takes a port, a free one if `port` is 0, on which clients are refused until `accept`; the port.

        Raises: ListenError.
        """
        with _telling_where(host, port):
            self._server = await asyncio.get_running_loop().create_server(
                self._accepted,
                host,
                port,
                backlog=BACKLOG,
                start_serving=False,
            )
        return self._server.sockets[0].getsockname()[1]

    async def accept(self) -> None:
        """Lets clients in, after `bind`. Raises: ListenError."""
        assert self._server is not None
        with _telling_where(*self._server.sockets[0].getsockname()[:2]):
            await self._server.start_serving()
        self._end_idle()

    def _accepted(self) -> asyncio.BaseProtocol:
        tls = self._get_tls()
        return _Accepted(self) if tls is None else _Handshake(self, tls)

    @property
    def handshake_seconds(self) -> float:
        """How long a handshake of TLS may take."""
        return min(MAX_HANDSHAKE_SECONDS, self._max_idle_seconds)

    async def beside(self, work: Callable[[], T]) -> T:
        """The result of long work that never waits, done on another thread. One is done at a time, so that
        those that wait for Python's lock are two: the loop has it again within moments."""
        async with self._beside:
            return await in_thread(work)

    def hang_up(self) -> None:
        """Ends all connections at once; requests under way are given up, and get no further."""
        for connection in list(self.connections):
            connection.end()

    async def stop(self) -> None:
        """Stops listening and ends all connections; requests under way are given up."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._server is not None:
            await stop_listening(self._server)
        for handshake in list(self.handshakes):
            handshake.give_up()
        connections = list(self.connections)
        workers = [connection.end() for connection in connections]
        await asyncio.gather(*workers, return_exceptions=True)
        await asyncio.gather(*(connection.protocol.wait_until_over() for connection in connections))
        if self._server is not None:
            await self._server.wait_closed()

    def _end_idle(self) -> None:
        oldest = CLOCK.monotonic() - self._max_idle_seconds
        for connection in list(self.connections):
            if not connection.is_busy and connection.last_used < oldest:
                connection.hang_up()
        pause = min(IDLE_CHECK_SECONDS, self._max_idle_seconds / 2)
        self._idle_timer = asyncio.get_running_loop().call_later(pause, self._end_idle)


@contextlib.contextmanager
def _telling_where(host: str, port: int) -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise ListenError(
            f"cannot listen on {host}:{port}: {reason}; stop whatever has it, or choose another port"
        ) from None


class _Accepted(FrameProtocol):
    """What becomes a connection once it is made. With TLS, bytes may come before that, which are cut into
    frames only then: how long one may be is the connection's to say."""

    def __init__(self, server: KafkaServer) -> None:
        super().__init__(_no_frame_yet, _never_was)
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self.is_lost:
            transport.close()
            return
        try:
            connection = ServerConnection(self._server, self)
        except DisconnectError as error:
            logger.warning("hung up on %s: %s", transport.get_extra_info("peername"), error)
            transport.close()
            return
        self._on_frame, self._on_lost = connection.on_frame, connection.on_lost
        if self._staged:
            self._cut_staged()

    def buffer_updated(self, nbytes: int) -> None:
        if self.transport is None:
            self._staged += nbytes
        else:
            super().buffer_updated(nbytes)

    def _no_frame(self, size: int) -> BarnabasError:
        first_bytes = size.to_bytes(LENGTH_BYTES, signed=True)
        if first_bytes.startswith(TLS_RECORDS):
            return BrokenProtocolError("it speaks TLS, which this listener does not")
        if first_bytes in HTTP_METHODS:
            return BrokenProtocolError("it speaks HTTP, and not Kafka's protocol")
        if size < 0:
            return BrokenProtocolError(f"it announced a request of {size} bytes, which nothing can have")
        is_known = self.max_frame_bytes == self._server.max_request_bytes
        setting = "socket.request.max.bytes" if is_known else "sasl.server.max.receive.size"
        return BrokenProtocolError(
            f"its request of {size} bytes is larger than {setting} ({self.max_frame_bytes}) allows"
        )


def _no_frame_yet(_frame: bytes | memoryview) -> None:
    """None is cut before there is a connection."""


def _never_was(_error: Exception | None) -> None:
    """There was no connection that could be lost."""


class _Handshake(asyncio.Protocol):
    """A client that has yet to shake hands."""

    def __init__(self, server: KafkaServer, tls: ssl.SSLContext) -> None:
        self._server = server
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.handshakes[self] = None
        self._task = background.start(self._shake_hands(transport), what="a handshake of TLS")

    def give_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        if self._task is not None:
            self._task.cancel()

    def _refuse(self, transport: asyncio.Transport, error: ssl.SSLError) -> None:
        """asyncio is about to send the alert, and reads on until the client has it and goes."""
        self._is_refused = True
        logger.warning("no handshake with %s: %s", transport.get_extra_info("peername"), error)
        loop = asyncio.get_running_loop()
        loop.call_soon(transport.write_eof)
        loop.call_later(ALERT_SECONDS, self.give_up)

    async def _shake_hands(self, transport: asyncio.Transport) -> None:
        accepted = _Accepted(self._server)
        REFUSE.set(partial(self._refuse, transport))
        try:
            secure = await asyncio.get_running_loop().start_tls(
                transport,
                accepted,
                self._tls,
                server_side=True,
                ssl_handshake_timeout=self._server.handshake_seconds,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        except (OSError, TimeoutError) as error:
            if not self._is_refused:
                logger.warning("no handshake with %s: %s", transport.get_extra_info("peername"), error)
            transport.abort()
            return
        finally:
            self._server.handshakes.pop(self, None)
        if secure is not None:
            accepted.connection_made(secure)


class ServerConnection:
    """One client's connection: a queue of frames, and a task that answers them one by one.

    Raises: DisconnectError, where there is not to be one.
    """

    def __init__(self, server: KafkaServer, protocol: FrameProtocol) -> None:
        self._server = server
        self._frames: deque[bytes | memoryview] = deque()
        self._waiting_bytes = 0
        self._paused = False
        self._joined: list[Part] = []
        self._joined_bytes = 0
        self._arrived = asyncio.Event()
        self.protocol = protocol
        peer: tuple[Any, ...] = self._transport.get_extra_info("peername") or ("", 0)
        certificate = self._transport.get_extra_info("peercert")
        self.context = server.make_context(str(peer[0]), int(peer[1]), certificate or None)
        self.context.hang_up = self.hang_up
        self.context.sends_files = (
            hasattr(os, "sendfile") and self._transport.get_extra_info("sslcontext") is None
        )
        self._doorkeeper = None if server.make_doorkeeper is None else server.make_doorkeeper(self.context)
        self._set_max_frame_bytes()
        self.last_used = CLOCK.monotonic()
        self._is_answering = False
        self._loop = asyncio.get_running_loop()
        self._worker = background.start(self._work(), what="serving a connection", loop=self._loop)
        server.connections[self] = None

    def end(self) -> asyncio.Task[None]:
        """Hangs up; the task that is then ending."""
        if self.protocol.transport is not None:
            self.protocol.transport.abort()
        self._worker.cancel()
        return self._worker

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its answer."""
        return self._is_answering or bool(self._frames)

    @property
    def _transport(self) -> asyncio.Transport:
        assert self.protocol.transport is not None
        return self.protocol.transport

    def on_frame(self, frame: bytes | memoryview) -> None:
        self.last_used = CLOCK.monotonic()
        self._frames.append(frame)
        self._waiting_bytes += len(frame)
        self._arrived.set()
        too_much = len(self._frames) >= MAX_WAITING_REQUESTS or self._waiting_bytes >= MAX_WAITING_BYTES
        if too_much and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def on_lost(self, error: Exception | None) -> None:
        if isinstance(error, BrokenProtocolError):
            self._log_hang_up(error)
        self._server.connections.pop(self, None)
        self._worker.cancel()
        self.context.on_lost()

    def _log_hang_up(self, error: Exception) -> None:
        context = self.context
        logger.warning("hung up on %s:%d: %s", context.client_host, context.client_port, error)

    async def _work(self) -> None:
        try:
            while True:
                while not self._frames:
                    self._arrived.clear()
                    await self._arrived.wait()
                self._is_answering = True
                await self._answer(self._next_frame())
                self._is_answering = False
                self.last_used = CLOCK.monotonic()
                if self.context.throttle_ms:
                    pause_ms, self.context.throttle_ms = self.context.throttle_ms, 0
                    await asyncio.sleep(pause_ms / 1000)
                if not self.protocol.can_write:
                    await self.protocol.wait_until_writable()
        except (BrokenProtocolError, DisconnectError) as error:
            self._log_hang_up(error)
            if isinstance(error, TurnedAwayError) and not self.protocol.is_lost:
                self._join(error.last_words)
            self.hang_up()
        except Exception:
            logger.exception("cannot answer %s:%d", self.context.client_host, self.context.client_port)
            self.hang_up()

    def hang_up(self) -> None:
        """Earlier answers still leave."""
        self._flush()
        self._transport.close()

    def _next_frame(self) -> bytes | memoryview:
        frame = self._frames.popleft()
        self._waiting_bytes -= len(frame)
        if self._paused and self._waiting_bytes < MAX_WAITING_BYTES and not self.protocol.is_lost:
            self._paused = False
            self._transport.resume_reading()
        return frame

    def _set_max_frame_bytes(self) -> None:
        largest = None if self._doorkeeper is None else self._doorkeeper.max_frame_bytes
        self.protocol.max_frame_bytes = self._server.max_request_bytes if largest is None else largest

    async def _answer(self, frame: bytes | memoryview) -> None:
        if self._doorkeeper is not None and self._doorkeeper.claims(frame):
            answer = await self._doorkeeper.answer(frame)
            self._set_max_frame_bytes()
            if answer and not self.protocol.is_lost:
                self._join(answer)
            return
        api_key, version, correlation_id = self._read_start(frame)
        lowest, highest = self._server.versions.get(api_key, (1, 0))
        if not lowest <= version <= highest:
            if api_key != ApiVersionsRequest.API_KEY:
                raise BrokenProtocolError(
                    f"request with API key {api_key} in version {version}, which is not spoken here"
                )
            # KIP-511: the answer in version 0 tells the client which versions of ApiVersions there are.
            fallback = ApiVersionsResponse(error_code=UNSUPPORTED_VERSION)
            if self._server.tells_versions_in_refusals:
                fallback.api_keys = [ApiVersionsResponse.ApiVersion(api_key, lowest, highest)]
            await self._write(fallback, ApiVersionsRequest, 0, correlation_id)
            return
        try:
            header, request = decode_request(frame, MOST_ITEMS_AT_ONCE)
        except TooManyItemsError:
            header, request = await self._server.beside(lambda: decode_request(frame))
        self.context.request_bytes = len(frame)
        response = await self._ask_handler(header, request)
        if isinstance(response, CutShort):
            self._write_start(response, type(request), version, correlation_id)
            raise DisconnectError(f"only {response.after_bytes} bytes of an answer were to be sent")
        if response is not None and not self.protocol.is_lost:
            await self._write(response, type(request), version, correlation_id)

    @staticmethod
    def _read_start(frame: bytes | memoryview) -> tuple[int, int, int]:
        if len(frame) < _REQUEST_START.size:
            raise BrokenProtocolError(f"a request of {len(frame)} bytes is too short for its header")
        return _REQUEST_START.unpack_from(frame)

    async def _ask_handler(self, header: RequestHeader, request: Request[Any]) -> Response | CutShort | None:
        try:
            return await self._server.handler(self.context, header, request)
        except DisconnectError:
            raise
        except Exception as error:
            logger.exception("%s request from %s failed", request.NAME, header.client_id)
            failure = request.RESPONSE()
            if not hasattr(failure, "error_code"):
                raise DisconnectError(f"{request.NAME} failed: {error!r}") from error
            failure.error_code = UNKNOWN_SERVER_ERROR
            return failure

    def _write_start(
        self, cut: CutShort, request_type: type[Request[Any]], version: int, correlation_id: int
    ) -> None:
        frame = encode_response(cut.response, request_type.API_KEY, version, correlation_id)
        self._join(frame[: cut.after_bytes])

    async def _write(
        self, response: Response, request_type: type[Request[Any]], version: int, correlation_id: int
    ) -> None:
        header_version = response_header_version(request_type, version)
        start = encode_parts(ResponseHeader(correlation_id), header_version)
        if has_more_items_than(response, MOST_ITEMS_AT_ONCE):
            # In one piece: a list of so many would hold up whoever looks through it.
            body: list[Part | FilePart] = [await self._server.beside(lambda: encode(response, version))]
        else:
            body = encode_to_send(response, version)
        parts = [*start, *body]
        self._join(_LENGTH.pack(sum(map(len, parts))))
        try:
            for part in parts:
                if isinstance(part, FilePart):
                    await self._send_file(part)
                elif len(part) < LARGE_PART_BYTES:
                    self._join(part)
                else:
                    self._flush()
                    # A view, so that what the socket does not take at once is cut off without a copy.
                    self._transport.write(memoryview(part))
        finally:
            # At once, though an error that ends the connection may be kept for a while, and they with it.
            for part in parts:
                if isinstance(part, FilePart):
                    part.close()
        if self._joined_bytes >= MAX_JOINED_BYTES:
            self._flush()

    async def _send_file(self, part: FilePart) -> None:
        """Raises: DisconnectError, where not all of it could be sent."""
        self._flush()
        # A client that takes nothing is as idle as one that asks nothing.
        self._is_answering = False
        try:
            sent = await self._loop.sendfile(
                self._transport, cast("IO[bytes]", part), part.position, part.size, fallback=False
            )
        except (asyncio.SendfileNotAvailableError, NotImplementedError):
            self._transport.write(part.read())
        except (OSError, RuntimeError) as error:
            raise DisconnectError(f"cannot send from a file: {error}") from None
        else:
            if sent < part.size:
                raise DisconnectError(f"only {sent} of {part.size} bytes were left in the file")

    def _join(self, part: Part) -> None:
        """Adds to what leaves together once the worker waits: a send costs more than most answers do."""
        if not self._joined:
            self._loop.call_soon(self._flush)
        self._joined.append(part)
        self._joined_bytes += len(part)

    def _flush(self) -> None:
        if self._joined and not self.protocol.is_lost:
            self._transport.write(b"".join(self._joined))
        self._joined.clear()
        self._joined_bytes = 0
