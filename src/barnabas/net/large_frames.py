"""Receiving large frames beside the event loop, on a thread of the kernel's.

The loop's thread needs the interpreter lock for each piece of a frame that it receives itself, and waits for
it while the caller's thread works on records. Owns that thread's life; knows nothing of what a frame holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from typing import Self

from barnabas._kernel import ReceiveBuffer

if sys.platform != "win32":
    from barnabas._kernel import FrameReceiver

# A rest that is smaller has mostly arrived by the time that the thread would look for it.
LEAST_REST_BYTES = 65_536


class LargeFrames:
    """The receiver of one connection: takes reading from its transport, gives it back after each frame."""

    def __init__(
        self,
        transport: asyncio.Transport,
        sock: socket.socket,
        on_received: Callable[[], None],
        on_lost: Callable[[Exception | None], None],
    ) -> None:
        self._transport = transport
        self._on_received = on_received
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._woken, wake = socket.socketpair()
        self._woken.setblocking(False)
        with wake:
            try:
                self._loop.add_reader(self._woken, self._finish)
            except NotImplementedError:
                self._woken.close()
                raise
            self._receiver = FrameReceiver(sock.fileno(), wake.fileno())

    @classmethod
    def of(
        cls,
        transport: asyncio.Transport,
        on_received: Callable[[], None],
        on_lost: Callable[[Exception | None], None],
    ) -> Self | None:
        """None where the bytes on the socket are not those of the frames (TLS), and where the loop cannot
        watch a socket (Windows)."""
        sock = transport.get_extra_info("socket")
        if sys.platform == "win32" or sock is None or transport.get_extra_info("ssl_object") is not None:
            return None
        try:
            return cls(transport, sock, on_received, on_lost)
        except NotImplementedError:
            return None

    def receive(self, buffer: ReceiveBuffer, start: int) -> None:
        """Fills the buffer from `start` on; `on_received` is called then, or `on_lost` if that fails."""
        self._transport.pause_reading()
        self._receiver.receive(buffer, start)

    def close(self) -> None:
        """To be called when the connection has ended, or its other side does not learn of that."""
        self._loop.remove_reader(self._woken)
        self._woken.close()
        self._receiver.close()

    def _finish(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(1)
        try:
            self._receiver.finish()
        except BlockingIOError:
            return
        except OSError as error:
            self._transport.abort()
            self._on_lost(error if error.errno else None)
            return
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._on_received()
