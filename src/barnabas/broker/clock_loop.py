"""An event loop whose time is that of CLOCK, and time that passes there without waiting."""

from __future__ import annotations

import asyncio

from barnabas.clock import CLOCK

# Timers that a timer sets while time passes are due within as much of their own time.
PASSED_AT_ONCE_SECONDS = 0.1
MOST_SLICES = 2_000
# Of the loop: a timer that is due starts a task, which sets the next one.
TURNS_A_SLICE = 3


def new_clock_loop() -> asyncio.AbstractEventLoop:
    """The event loop of a process that has a broker and nothing else."""
    loop = asyncio.new_event_loop()
    loop.time = CLOCK.monotonic
    return loop


async def pass_time(seconds: float) -> None:
    """Lets time pass without waiting for it: on a loop of `new_clock_loop` timers and sleeps end by it.

    Timers that others set meanwhile are due later by up to a two-thousandth of `seconds`, or 100 ms.
    """
    slices = max(1, min(MOST_SLICES, round(seconds / PASSED_AT_ONCE_SECONDS)))
    moved_by_ms = 0
    for place in range(1, slices + 1):
        before_ms, moved_by_ms = moved_by_ms, round(seconds * 1000 * place / slices)
        CLOCK.move_on(seconds / slices, moved_by_ms - before_ms)
        for _ in range(TURNS_A_SLICE):
            await asyncio.sleep(0)
