"""Connections in memory: what is written on one side comes to the other in order, a little later.

Owns the transports of both sides. Knows nothing of time but what the loop's timers do.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
from collections import deque
from collections.abc import Callable
from typing import Any

HOST = "127.0.0.1"
FIRST_PORT = 9_000
FIRST_CLIENT_PORT = 40_000


class VirtualSocket:
    """Stands for a connected socket until a protocol has it."""

    def __init__(self, server: VirtualServer, port: int, host: str) -> None:
        self.server = server
        self.port = port
        self.host = host

    def getpeername(self) -> tuple[str, int]:
        return HOST, self.server.port

    def getsockname(self) -> tuple[str, int]:
        return HOST, self.port

    def close(self) -> None:
        """Nothing is open yet."""


class VirtualListener:
    """Stands for the socket that a server listens on."""

    def __init__(self, port: int) -> None:
        self.port = port

    def getsockname(self) -> tuple[str, int]:
        return HOST, self.port


class VirtualServer:
    """What `loop.create_server` gives."""

    def __init__(self, network: Network, factory: Callable[[], asyncio.BaseProtocol], port: int) -> None:
        self.network = network
        self.factory = factory
        self.port = port
        self.sockets = [VirtualListener(port)]
        self.is_serving = False

    async def start_serving(self) -> None:
        self.is_serving = True

    def close(self) -> None:
        self.is_serving = False
        self.network.forget(self)

    async def wait_closed(self) -> None:
        """Connections are ended by those who have them."""


class VirtualTransport(asyncio.Transport):
    """One side of a connection."""

    def __init__(self, network: Network, own: tuple[str, int], peer: tuple[str, int], host: str) -> None:
        super().__init__({"sockname": own, "peername": peer})
        self.host = host
        self._network = network
        self._loop = asyncio.get_running_loop()
        self.other: VirtualTransport | None = None
        self.protocol: asyncio.BaseProtocol | None = None
        self._arrived = bytearray()
        self._has_ended = False
        """Whether the other side sends no more."""
        self._is_paused = False
        self._is_closing = False
        self._under_way: deque[Callable[[VirtualTransport], None]] = deque()
        self._last_arrival = 0.0

    def begin(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol
        protocol.connection_made(self)

    # What is sent

    def write(self, data: Any) -> None:
        if not self._is_closing:
            sent = bytes(data)
            self._network.record(self.get_extra_info("sockname")[1], sent)
            self._send(lambda other: other.receive(sent))

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._send(lambda other: other.receive_end())

    def _send(self, what: Callable[[VirtualTransport], None]) -> None:
        """It arrives behind all that was sent before."""
        self._last_arrival = max(self._last_arrival, self._loop.time() + self._network.delay_seconds())
        self._under_way.append(what)
        self._loop.call_at(self._last_arrival, self.arrive)

    def arrive(self) -> None:
        # Of timers for one moment, any may be the first.
        assert self.other is not None
        if not self._network.holds_back(self.host, self.arrive):
            self._under_way.popleft()(self.other)

    # What arrives

    def receive(self, data: bytes) -> None:
        if not self._is_closing:
            self._arrived += data
            self._hand_on()

    def receive_end(self) -> None:
        self._has_ended = True
        self._hand_on()

    def _hand_on(self) -> None:
        protocol = self.protocol
        assert protocol is not None
        while self._arrived and not self._is_paused and not self._is_closing:
            if isinstance(protocol, asyncio.Protocol):
                data = bytes(self._arrived)
                self._arrived.clear()
                protocol.data_received(data)
                continue
            assert isinstance(protocol, asyncio.BufferedProtocol)
            buffer = protocol.get_buffer(len(self._arrived))
            count = min(len(buffer), len(self._arrived))
            buffer[:count] = self._arrived[:count]
            del self._arrived[:count]
            protocol.buffer_updated(count)
        if self._has_ended and not self._arrived and not self._is_closing:
            assert isinstance(protocol, asyncio.Protocol | asyncio.BufferedProtocol)
            if not protocol.eof_received():
                self.close()

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self._loop.call_soon(self._hand_on)

    def is_reading(self) -> bool:
        return not self._is_paused

    # The end

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._send(lambda other: other.receive_end())
            self._loop.call_soon(self._lose, None)

    def abort(self) -> None:
        self.close()

    def reset(self) -> None:
        """The connection breaks: what is under way to this side is lost."""
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(
                self._lose, ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
            )

    def _lose(self, error: Exception | None) -> None:
        assert self.protocol is not None
        self._network.ended(self)
        self.protocol.connection_lost(error)


class Network:
    """All servers and connections of a loop. `delay_seconds`: how long the next piece is under way.

    `record` is called with the port of the side that sends, and with what it sends.
    """

    def __init__(self, delay_seconds: Callable[[], float], record: Callable[[int, bytes], None]) -> None:
        self.delay_seconds = delay_seconds
        self.record = record
        self._servers: dict[int, VirtualServer] = {}
        self._ports = itertools.count(FIRST_PORT)
        self._client_ports = itertools.count(FIRST_CLIENT_PORT)
        self._open: dict[VirtualTransport, None] = {}
        """The sides of clients."""
        self._held_back: dict[str, list[Callable[[], None]]] = {}
        """By host that is parted: what comes to it, or from it, when it joins."""

    def serve(self, factory: Callable[[], asyncio.BaseProtocol], port: int) -> VirtualServer:
        """Raises: OSError (the port is in use)."""
        port = port or next(self._ports)
        if port in self._servers:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        server = self._servers[port] = VirtualServer(self, factory, port)
        return server

    def forget(self, server: VirtualServer) -> None:
        self._servers.pop(server.port, None)

    def dial(self, port: int, host: str) -> VirtualSocket:
        """Raises: ConnectionRefusedError."""
        server = self._servers.get(port)
        if server is None or not server.is_serving:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        return VirtualSocket(server, next(self._client_ports), host)

    def connect(
        self, sock: VirtualSocket, factory: Callable[[], asyncio.BaseProtocol]
    ) -> tuple[VirtualTransport, asyncio.BaseProtocol]:
        """Both sides of a connection begin; the side of the client."""
        near = VirtualTransport(self, sock.getsockname(), sock.getpeername(), sock.host)
        far = VirtualTransport(self, sock.getpeername(), sock.getsockname(), sock.host)
        near.other, far.other = far, near
        far.begin(sock.server.factory())
        protocol = factory()
        near.begin(protocol)
        self._open[near] = None
        return near, protocol

    def ended(self, transport: VirtualTransport) -> None:
        self._open.pop(transport, None)

    # What happens to the connections of a host

    def cut(self, host: str) -> None:
        """Its connections break."""
        for near in [near for near in self._open if near.host == host]:
            near.reset()
            if near.other is not None:
                near.other.reset()

    def part(self, host: str) -> None:
        """Nothing comes to it or from it until `join`; connections stay."""
        self._held_back.setdefault(host, [])

    def join(self, host: str) -> None:
        """What was sent meanwhile arrives."""
        loop = asyncio.get_running_loop()
        for arrive in self._held_back.pop(host, ()):
            loop.call_soon(arrive)

    def holds_back(self, host: str, arrive: Callable[[], None]) -> bool:
        """Whether the host is parted; `arrive` is called when it joins."""
        held_back = self._held_back.get(host)
        if held_back is None:
            return False
        held_back.append(arrive)
        return True

    async def until_joined(self, host: str) -> None:
        is_joined = asyncio.Event()
        while self.holds_back(host, is_joined.set):
            await is_joined.wait()
            is_joined.clear()
