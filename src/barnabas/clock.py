"""What time it is: the clock that the broker asks, rather than the machine.

Owns how far it is ahead of the machine's. Sleeps and timers are the event loop's; on a loop that takes its
time from here, as one of `new_clock_loop` does, they end by this clock.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

# Timers that a timer sets while time passes are due within as much of their own time.
PASSED_AT_ONCE_SECONDS = 0.1
MOST_SLICES = 2_000
# Of the loop: a timer that is due starts a task, which sets the next one.
TURNS_A_SLICE = 3


class Machine(Protocol):
    """Where time comes from; the module `time` is one."""

    def time_ns(self) -> int:
        """Since 1970, in nanoseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since any moment; never goes back."""
        ...


class ProcessClock:
    """`moved_by_ms`: how far the time of day is ahead of the machine's."""

    def __init__(self, machine: Machine = time) -> None:
        self.machine = machine
        self.moved_by_ms = 0
        self._passed_seconds = 0.0

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self.machine.time_ns() // 1_000_000 + self.moved_by_ms

    def monotonic(self) -> float:
        """Seconds since any moment, for durations: it never goes back, nor moves with the time of day."""
        return self.machine.monotonic() + self._passed_seconds

    async def pass_time(self, seconds: float) -> None:
        """Lets time pass without waiting for it. On a loop of `new_clock_loop` timers and sleeps end by it.

        Timers that others set meanwhile are due later by up to a two-thousandth of `seconds`, or 100 ms.
        """
        slices = max(1, min(MOST_SLICES, round(seconds / PASSED_AT_ONCE_SECONDS)))
        moved_by_ms = 0
        for place in range(1, slices + 1):
            self._passed_seconds += seconds / slices
            before_ms, moved_by_ms = moved_by_ms, round(seconds * 1000 * place / slices)
            self.moved_by_ms += moved_by_ms - before_ms
            for _ in range(TURNS_A_SLICE):
                await asyncio.sleep(0)


CLOCK = ProcessClock()

now_ms = CLOCK.now_ms


def new_clock_loop() -> asyncio.AbstractEventLoop:
    """The event loop of a process that has a broker and nothing else: its time is that of CLOCK."""
    loop = asyncio.new_event_loop()
    loop.time = CLOCK.monotonic
    return loop
