"""Waiting in tests for what is said to happen: the one place that may sleep, and that looks at a clock.

Each limit is far longer than what is waited for takes, so only what hangs meets it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 60.0
BETWEEN_LOOKS_SECONDS = 0.02
# Longer than pytest lets any test run: a call that is given this must be ended by something else.
NEVER_SECONDS = 3_600.0
NEVER_MS = 3_600_000


def pause() -> None:
    """Between two looks."""
    time.sleep(BETWEEN_LOOKS_SECONDS)


def wait_for(condition: Callable[[], T], timeout: float = PATIENCE_SECONDS) -> T:
    """The first true result of `condition`. Fails with the last one when `timeout` seconds have passed."""
    patience = Patience(timeout)
    while not (result := condition()):
        patience.pause(lambda result=result: f"{condition}, which last gave {result!r}")
    return result


async def wait_for_async(condition: Callable[[], Awaitable[T] | T], timeout: float = PATIENCE_SECONDS) -> T:
    """`wait_for` on an event loop, by its time; `condition` may be a coroutine function."""
    patience = Patience(timeout)
    while True:
        outcome = condition()
        result = await outcome if isinstance(outcome, Awaitable) else outcome
        if result:
            return result
        await patience.pause_async(lambda result=result: f"{condition}, which last gave {result!r}")


class Patience:
    """For a loop that does something in each round until something is so.

    patience = Patience()
    while len(records) < 10:
        patience.check(records)
        records += consumer.poll(0.1)

    Each method fails the test when the seconds have passed, with `state`, or what that gives when called.
    Made on an event loop, it goes by its time.
    """

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self._seconds = seconds
        try:
            self._clock = asyncio.get_running_loop().time
        except RuntimeError:
            self._clock = time.monotonic
        self._ends_at = self._clock() + seconds

    def check(self, state: object = None) -> None:
        """For a round that itself waits for something."""
        if self._clock() > self._ends_at:
            told = state() if callable(state) else state
            raise AssertionError(f"not so within {self._seconds} s" + ("" if told is None else f": {told}"))

    def pause(self, state: object = None) -> None:
        """For a round that only looks."""
        self.check(state)
        pause()

    async def pause_async(self, state: object = None) -> None:
        self.check(state)
        await asyncio.sleep(BETWEEN_LOOKS_SECONDS)
