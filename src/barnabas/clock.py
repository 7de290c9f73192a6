"""What time it is: the clock that brokers and clients ask, rather than the machine.

Owns how far it is ahead of the machine's. Sleeps and timers are the event loop's; on a loop that takes its
time from here, as one of `barnabas.broker.clock_loop` does, they end by this clock.
"""

from __future__ import annotations

import time
from typing import Protocol


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

    def move_on(self, seconds: float, milliseconds: int) -> None:
        """From now on it is later: by so many seconds on the monotonic clock, and so many milliseconds of the
        time of day."""
        self._passed_seconds += seconds
        self.moved_by_ms += milliseconds


CLOCK = ProcessClock()

now_ms = CLOCK.now_ms
