"""One connection to one broker: opening it, agreeing on versions, requests under way and their time-outs.

Owns the order of requests and answers. Must not know metadata, topics or retries: a failed request is the
caller's to make again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.net.addresses import Address, resolve
from barnabas.net.frames import MAX_FRAME_BYTES, FrameProtocol
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.frame import decode_response, encode_request, response_correlation_id
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

SOFTWARE_NAME = "barnabas"
SOFTWARE_VERSION = "0.1.0"
UNSUPPORTED_VERSION = 35
# Who answers the first request with more than this does not speak Kafka.
MAX_HANDSHAKE_FRAME_BYTES = 1 << 20

ResponseT = TypeVar("ResponseT", bound=Response)


@dataclass(slots=True)
class _RequestUnderWay:
    """A request that waits for its answer, or, while the broker throttles us, for being sent."""

    correlation_id: int
    request_type: type[Request[Any]]
    version: int
    timeout_ms: float
    frame: bytes
    future: asyncio.Future[Any]
    timer: asyncio.TimerHandle | None = None


class Connection:
    """A connection that is ready for requests. Made by `Connection.open`; belongs to one event loop."""

    def __init__(self, name: str, client_id: str) -> None:
        self.name = name
        self.versions: dict[int, tuple[int, int]] = {}
        """The lowest and highest version of each API key that the broker speaks."""
        self.last_used = time.monotonic()
        self._client_id = client_id
        self._loop = asyncio.get_running_loop()
        self._protocol = FrameProtocol(self._on_frame, self._on_lost)
        self._under_way: deque[_RequestUnderWay] = deque()
        self._delayed: deque[_RequestUnderWay] = deque()
        self._throttled_until = 0.0
        self._next_correlation_id = 0
        self._error: BarnabasError | None = None

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str,
        connect_timeout_ms: float = 10_000,
        request_timeout_ms: float = 30_000,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        name: str | None = None,
    ) -> Self:
        """Connects to the first address of `host` that answers, and asks for the versions it speaks.

        `connect_timeout_ms` holds for each address. `name`, by default `host:port`, is what errors call
        the broker.

        Raises: KafkaConnectionError (a reason for each address), KafkaTimeoutError, BrokenProtocolError.
        """
        connection = cls(name or f"{host}:{port}", client_id)
        sock = await _connect(host, port, connect_timeout_ms / 1000, send_buffer_bytes, receive_buffer_bytes)
        try:
            await connection._loop.create_connection(lambda: connection._protocol, sock=sock)
            await connection._negotiate_versions(request_timeout_ms)
        except BaseException:
            if connection._protocol.transport is None:
                sock.close()
            connection.close()
            raise
        return connection

    @property
    def is_closed(self) -> bool:
        return self._error is not None

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer."""
        return len(self._under_way) + len(self._delayed)

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

    def send_no_response(self, request: Request[Any], *, max_version: int | None = None) -> None:
        """Sends a request that the broker never answers (Produce with acks=0)."""
        if self._error is not None:
            raise self._error
        version = self.version_of(type(request), max_version)
        self._write(encode_request(request, version, self._take_correlation_id(), self._client_id))

    def close(self) -> None:
        """Closes; what was written still leaves. Requests under way fail with KafkaConnectionError."""
        if self._protocol.transport is not None:
            self._protocol.transport.close()
        self._end(KafkaConnectionError(f"the connection to {self.name} was closed"))

    def _start(
        self, request: Request[Any], version: int, timeout_ms: float, future: asyncio.Future[Any]
    ) -> None:
        if self._error is not None:
            raise self._error
        correlation_id = self._take_correlation_id()
        frame = encode_request(request, version, correlation_id, self._client_id)
        under_way = _RequestUnderWay(correlation_id, type(request), version, timeout_ms, frame, future)
        if self._delayed or self._throttled_until > time.monotonic():
            self._delay(under_way)
        else:
            self._send_now(under_way)

    def _send_now(self, under_way: _RequestUnderWay) -> None:
        self._under_way.append(under_way)
        under_way.timer = self._loop.call_later(under_way.timeout_ms / 1000, self._on_timeout, under_way)
        self._write(under_way.frame)
        under_way.frame = b""

    def _write(self, frame: bytes) -> None:
        self.last_used = time.monotonic()
        assert self._protocol.transport is not None
        self._protocol.transport.write(frame)

    def _delay(self, under_way: _RequestUnderWay) -> None:
        # KIP-219: the broker answers at once and leaves the waiting to us.
        if not self._delayed:
            self._loop.call_later(self._throttled_until - time.monotonic(), self._send_delayed)
        self._delayed.append(under_way)

    def _send_delayed(self) -> None:
        remaining = self._throttled_until - time.monotonic()
        if self._delayed and remaining > 0:
            self._loop.call_later(remaining, self._send_delayed)
            return
        while self._delayed and self._error is None:
            under_way = self._delayed.popleft()
            if not under_way.future.done():
                self._send_now(under_way)

    def _take_correlation_id(self) -> int:
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        return self._next_correlation_id

    def _on_frame(self, frame: bytes | memoryview) -> None:
        self.last_used = time.monotonic()
        try:
            correlation_id = response_correlation_id(frame)
            if not self._under_way:
                raise BrokenProtocolError(f"answer {correlation_id} to no request")
            under_way = self._under_way.popleft()
            if under_way.timer is not None:
                under_way.timer.cancel()
            if under_way.correlation_id != correlation_id:
                self._under_way.appendleft(under_way)
                raise BrokenProtocolError(f"answer {correlation_id} instead of {under_way.correlation_id}")
        except BrokenProtocolError as error:
            self._end(_named(error, self.name))
            return
        if under_way.future.done():
            return
        try:
            response = decode_response(under_way.request_type, under_way.version, frame)
        except BrokenProtocolError as error:
            named = _named(error, self.name)
            under_way.future.set_exception(named)
            self._end(named)
            return
        throttle_time_ms: int = getattr(response, "throttle_time_ms", 0)
        if throttle_time_ms > 0:
            self._throttled_until = self.last_used + throttle_time_ms / 1000
        under_way.future.set_result(response)

    def _on_timeout(self, under_way: _RequestUnderWay) -> None:
        error = KafkaTimeoutError(
            f"{self.name} did not answer {under_way.request_type.NAME} within {under_way.timeout_ms:.0f} ms"
        )
        if not under_way.future.done():
            under_way.future.set_exception(error)
        self._end(KafkaConnectionError(f"the connection to {self.name} was closed, since {error}"))

    def _on_lost(self, error: Exception | None) -> None:
        if isinstance(error, BarnabasError):
            self._end(_named(error, self.name))
        else:
            self._end(KafkaConnectionError(f"{self.name} closed the connection" + _reason(error)))

    def _end(self, error: BarnabasError) -> None:
        if self._error is not None:
            return
        self._error = error
        transport = self._protocol.transport
        if transport is not None and not transport.is_closing():
            transport.abort()
        waiting = [*self._under_way, *self._delayed]
        self._under_way.clear()
        self._delayed.clear()
        for under_way in waiting:
            if under_way.timer is not None:
                under_way.timer.cancel()
            if not under_way.future.done():
                under_way.future.set_exception(error)

    async def _negotiate_versions(self, timeout_ms: float) -> None:
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
        self._protocol.max_frame_bytes = MAX_FRAME_BYTES

    async def _ask_versions(self, version: int, timeout_ms: float) -> ApiVersionsResponse:
        request = ApiVersionsRequest()
        if version >= 3:
            request.client_software_name = SOFTWARE_NAME
            request.client_software_version = SOFTWARE_VERSION
        future: asyncio.Future[ApiVersionsResponse] = self._loop.create_future()
        self._start(request, version, timeout_ms, future)
        return await future


def _named(error: BarnabasError, name: str) -> BarnabasError:
    named = type(error)(f"{name}: {error}")
    named.__cause__ = error
    return named


def _reason(error: Exception | None) -> str:
    return "" if error is None else f": {error}"


async def _connect(
    host: str, port: int, timeout: float, send_buffer_bytes: int, receive_buffer_bytes: int
) -> socket.socket:
    """A connected socket to the first address of a host that takes the connection."""
    try:
        addresses = await resolve(host, port, timeout)
    except OSError as error:
        raise KafkaConnectionError(f"{host}:{port}: the name does not resolve ({error})") from error
    reasons: list[str] = []
    for address in addresses:
        sock: socket.socket | None = None
        try:
            sock = socket.socket(address.family, socket.SOCK_STREAM)
            _set_options(sock, send_buffer_bytes, receive_buffer_bytes)
            async with asyncio.timeout(timeout):
                await asyncio.get_running_loop().sock_connect(sock, address.sockaddr)
            return sock
        except BaseException as error:
            if sock is not None:
                sock.close()
            if isinstance(error, TimeoutError) and error.errno is None:
                reasons.append(f"{_text(address)}no connection within {timeout * 1000:.0f} ms")
            elif isinstance(error, OSError):
                reasons.append(f"{_text(address)}{_words(error)}")
            else:
                raise
    raise KafkaConnectionError(f"{host}:{port}: " + "; ".join(reasons))


def _set_options(sock: socket.socket, send_buffer_bytes: int, receive_buffer_bytes: int) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if send_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    if receive_buffer_bytes >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _text(address: Address) -> str:
    return f"{address.sockaddr[0]} " if address.is_resolved else ""
