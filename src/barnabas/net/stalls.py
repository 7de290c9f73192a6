"""Whether a broker still takes bytes while nothing is to be answered (Produce with acks=0)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.net.frames import FrameProtocol


class StallWatch:
    """`on_stalled` is called where the broker has taken no byte for so many seconds."""

    def __init__(
        self,
        protocol: FrameProtocol,
        seconds: float,
        on_stalled: Callable[[], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._protocol = protocol
        self._seconds = seconds
        self._on_stalled = on_stalled
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Watches until everything is taken, unless it does already or nothing waits."""
        if not self._protocol.can_write and self._timer is None:
            self._watch()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self) -> None:
        self._timer = self._loop.call_later(self._seconds, self._check, self._unwritten_bytes())

    def _check(self, unwritten_before: int) -> None:
        self._timer = None
        if self._protocol.can_write:
            return
        if self._unwritten_bytes() < unwritten_before:
            self._watch()
        else:
            self._on_stalled()

    def _unwritten_bytes(self) -> int:
        assert self._protocol.transport is not None
        return self._protocol.transport.get_write_buffer_size()
