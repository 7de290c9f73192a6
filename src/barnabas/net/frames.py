"""Cutting a stream of bytes into Kafka's frames: four bytes of length, then as many bytes.

Owns the receive buffers. Knows nothing of what a frame holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.errors import BrokenProtocolError

STAGING_BYTES = 65_536
MAX_FRAME_BYTES = 1 << 30
LENGTH_BYTES = 4


class FrameProtocol(asyncio.BufferedProtocol):
    """Calls `on_frame` with each frame, without its length, and `on_lost` once when the connection ends.

    A small frame is handed on as bytes. A large one is received straight into a buffer of its own and handed
    on as a read-only memoryview, which nobody else writes to, so it is never copied.
    """

    def __init__(
        self, on_frame: Callable[[bytes | memoryview], None], on_lost: Callable[[Exception | None], None]
    ) -> None:
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._staging = bytearray(STAGING_BYTES)
        self._staging_view = memoryview(self._staging)
        self._staged = 0
        self._frame: bytearray | None = None
        self._frame_view = memoryview(b"")
        self._received = 0
        self._writable: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.max_frame_bytes = MAX_FRAME_BYTES
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(exc)

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
            return self._frame_view[self._received :]
        return self._staging_view[self._staged :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._frame is None:
            self._staged += nbytes
            self._cut_staged()
            return
        self._received += nbytes
        if self._received == len(self._frame):
            frame = self._frame_view.toreadonly()
            self._frame = None
            self._frame_view = memoryview(b"")
            self._deliver(frame)

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
            if present >= size:
                start = begin + size
                self._deliver(bytes(view[begin:start]))
            elif LENGTH_BYTES + size > STAGING_BYTES:
                self._frame = bytearray(size)
                self._frame_view = memoryview(self._frame)
                self._frame_view[:present] = view[begin : self._staged]
                self._received = present
                start = self._staged
            else:
                break
        remaining = self._staged - start
        if start and remaining:
            self._staging[:remaining] = bytes(view[start : self._staged])
        self._staged = remaining

    def _deliver(self, frame: bytes | memoryview) -> None:
        if not self.is_lost:
            self._on_frame(frame)

    def _fail(self, size: int) -> None:
        if self.transport is not None:
            self.transport.abort()
        self._lose(
            BrokenProtocolError(
                f"announced a frame of {size} bytes: it does not speak Kafka's protocol, or expects TLS"
            )
        )

    def _lose(self, error: Exception | None) -> None:
        if not self.is_lost:
            self.is_lost = True
            self.resume_writing()
            self._on_lost(error)
