"""Waking an event loop from threads that hold no interpreter lock.

Owns how the loop watches the kernel's Waker. Knows nothing of what the loop is woken for.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Self

if sys.platform != "win32":
    from barnabas._kernel import Waker


class LoopWaking:
    """`call` is called on the loop after each `waker.wake()`; once for several that come before it."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, call: Callable[[], None], waker: Waker | None = None
    ) -> None:
        """`waker`: one that is there already."""
        self.waker = Waker() if waker is None else waker
        self._loop = loop
        self._call = call
        loop.add_reader(self.waker.fileno(), self._woken)

    @classmethod
    def of(
        cls, loop: asyncio.AbstractEventLoop, call: Callable[[], None], waker: Waker | None = None
    ) -> Self | None:
        """None where the loop cannot watch a descriptor (Windows)."""
        if sys.platform == "win32":
            return None
        try:
            return cls(loop, call, waker)
        except NotImplementedError:
            return None

    @property
    def is_due(self) -> bool:
        """Whether `call` is going to be called."""
        return self.waker.is_due

    def close(self) -> None:
        self._loop.remove_reader(self.waker.fileno())

    def _woken(self) -> None:
        self.waker.clear()
        self._call()
