"""Cutting a stream of bytes into Kafka's frames: four bytes of length, then as many bytes.

Owns the receive buffers. Knows nothing of what a frame holds.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from barnabas._kernel import ReceiveBuffer
from barnabas.errors import BarnabasError, BrokenProtocolError, SecurityProtocolError
from barnabas.net.large_frames import LEAST_REST_BYTES, LargeFrames

STAGING_BYTES = 65_536
MAX_FRAME_BYTES = 1 << 30
LENGTH_BYTES = 4
# How an alert and a handshake of TLS begin: what a server sends that expected TLS.
TLS_RECORDS = (b"\x15\x03", b"\x16\x03")


class FrameProtocol(asyncio.BufferedProtocol):
    """Calls `on_frame` with each frame, without its length, and `on_lost` once when the connection ends.

    A small frame is handed on as bytes. A large one is received straight into a buffer of its own, which is
    frozen then and handed on as a read-only memoryview: its records are read where they are.
    """

    def __init__(
        self, on_frame: Callable[[bytes | memoryview], None], on_lost: Callable[[Exception | None], None]
    ) -> None:
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._staging = bytearray(STAGING_BYTES)
        self._staging_view = memoryview(self._staging)
        self._staged = 0
        self._frame: ReceiveBuffer | None = None
        self._frame_view = memoryview(b"")
        self._offered = memoryview(b"")
        self._received = 0
        self._receives_apart = False
        self._large_frames: LargeFrames | None = None
        self._writable: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.max_frame_bytes = MAX_FRAME_BYTES
        self.is_lost = False
        self._is_over = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def receive_large_frames_apart(self) -> None:
        """From now on a thread of the kernel's receives them, where the connection allows that."""
        self._receives_apart = True

    def lend(self) -> int | None:
        """Leaves reading from the socket to others until `take_back`; its descriptor. None while there are
        bytes of a frame already, or of one to be sent."""
        descriptor = None if self._staged or self._frame is not None else self.lend_writing()
        if descriptor is not None and self.transport is not None:
            self.transport.pause_reading()
        return descriptor

    def lend_writing(self) -> int | None:
        """The socket's descriptor, to be written to before anything else is. None while there are bytes to be
        sent yet."""
        transport = self.transport
        if sys.platform == "win32" or transport is None or transport.is_closing():
            return None
        sock = transport.get_extra_info("socket")
        return None if sock is None or transport.get_write_buffer_size() else sock.fileno()

    def take_back(self, received: bytes, frame: tuple[ReceiveBuffer, int] | None = None) -> None:
        """Goes on reading, behind what was received meanwhile: the beginning of a frame, or, in memory of its
        own, so many bytes of one behind its length."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        transport.resume_reading()
        if frame is None:
            self._staging[: len(received)] = received
            self._staged = len(received)
            self._cut_staged()
            return
        self._frame, self._received = frame
        if self._received == len(self._frame):
            self._deliver(self._finished(self._frame))
        else:
            self._frame_view = memoryview(self._frame)
            self._receive_rest(self._frame)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._large_frames is not None:
            self._large_frames.close()
            self._large_frames = None
        self._is_over.set()
        self._lose(exc)

    @property
    def is_over(self) -> bool:
        """Whether the transport has closed, or there never was one."""
        return self.transport is None or self._is_over.is_set()

    async def wait_until_over(self) -> None:
        """Returns when the transport has closed: what was written has left, and TLS has said goodbye."""
        if self.transport is not None:
            await self._is_over.wait()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    @property
    def can_write(self) -> bool:
        """False while the other side takes less than is written to it."""
        return self._writable is None

    async def wait_until_writable(self) -> None:
        if self._writable is not None:
            await asyncio.shield(self._writable)

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None:
            self._offered = self._frame_view[self._received :]
            return self._offered
        return self._staging_view[self._staged :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._frame is None:
            self._staged += nbytes
            self._cut_staged()
            return
        self._received += nbytes
        if self._received == len(self._frame):
            self._deliver(self._finished(self._frame))

    def _cut_staged(self) -> None:
        view = self._staging_view
        start = 0
        while self._staged - start >= LENGTH_BYTES:
            size = int.from_bytes(view[start : start + LENGTH_BYTES], signed=True)
            if not 0 <= size <= self.max_frame_bytes:
                self._fail(size)
                return
            begin = start + LENGTH_BYTES
            present = self._staged - begin
            if present == size:
                # Nothing is left: whoever takes the frame may lend the socket.
                self._staged = 0
                self._deliver(bytes(view[begin : begin + size]))
                return
            if present > size:
                start = begin + size
                self._deliver(bytes(view[begin:start]))
            elif LENGTH_BYTES + size > STAGING_BYTES:
                self._frame = ReceiveBuffer(size)
                self._frame_view = memoryview(self._frame)
                self._frame_view[:present] = view[begin : self._staged]
                self._received = present
                start = self._staged
                self._receive_rest(self._frame)
            else:
                break
        remaining = self._staged - start
        if start and remaining:
            self._staging[:remaining] = bytes(view[start : self._staged])
        self._staged = remaining

    def _receive_rest(self, frame: ReceiveBuffer) -> None:
        if self._receives_apart and len(frame) - self._received >= LEAST_REST_BYTES:
            self._receive_apart(frame, self._received)

    def _receive_apart(self, frame: ReceiveBuffer, start: int) -> None:
        assert self.transport is not None
        if self._large_frames is None:
            self._large_frames = LargeFrames.of(self.transport, self._on_received_apart, self._lose)
            self._receives_apart = self._large_frames is not None
        if self._large_frames is not None:
            self._frame_view.release()
            self._large_frames.receive(frame, start)

    def _on_received_apart(self) -> None:
        if self._frame is not None:
            self._deliver(self._finished(self._frame))

    def _finished(self, frame: ReceiveBuffer) -> bytes | memoryview:
        self._frame = None
        try:
            # The transport still holds the view it was offered, though it is done with it.
            self._offered.release()
            self._frame_view.release()
            return frame.freeze()
        except BufferError:
            # An event loop other than asyncio's own may hold on to it in other ways.
            return bytes(frame)

    def _deliver(self, frame: bytes | memoryview) -> None:
        if not self.is_lost:
            self._on_frame(frame)

    def _fail(self, size: int) -> None:
        if self.transport is not None:
            self.transport.abort()
        self._lose(self._no_frame(size))

    def _no_frame(self, size: int) -> BarnabasError:
        """What is wrong with a frame that announces itself as so large, or as smaller than nothing."""
        first_bytes = size.to_bytes(LENGTH_BYTES, signed=True)
        if first_bytes == b"HTTP":
            return BrokenProtocolError(
                "it answers in HTTP and does not speak Kafka's protocol: give a broker's port"
            )
        if first_bytes.startswith(TLS_RECORDS):
            return SecurityProtocolError(
                "it speaks TLS on this port: set security_protocol to SSL or SASL_SSL, or use the broker's "
                "port without TLS"
            )
        return BrokenProtocolError(
            f"announced a frame of {size} bytes: it does not speak Kafka's protocol, or expects TLS"
        )

    def _lose(self, error: Exception | None) -> None:
        if not self.is_lost:
            self.is_lost = True
            self.resume_writing()
            self._on_lost(error)
