"""The time between a caller's polls, which `max_poll_interval_ms` limits, and what a second caller is told.
Knows nothing of groups."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.clock import CLOCK
from barnabas.errors import MisuseError

PROGRESS_INTERVAL_MS = 1_000
"""How often it is looked at whether the caller got on: that counts from the look, not from when it was."""


class PollWatch:
    """`began`, `ended` and `note_progress` may be called on any thread. `progress` changes whenever the
    caller works through what a poll gave."""

    def __init__(self, max_poll_interval_ms: float, progress: Callable[[], int] = lambda: 0) -> None:
        self._max_poll_interval_ms = max_poll_interval_ms
        self._progress = progress
        self._last_progress = 0
        self._polled_at = CLOCK.monotonic()
        self._is_polling = False

    def began(self) -> None:
        self._is_polling = True

    def ended(self) -> None:
        self._polled_at = CLOCK.monotonic()
        self._is_polling = False

    def note_progress(self) -> None:
        """The caller works through what a poll gave, as `ended` would tell."""
        self._polled_at = CLOCK.monotonic()

    def overdue_in_ms(self) -> float:
        """Until the caller is overdue; 0 or less when it is."""
        progress = self._progress()
        if progress != self._last_progress or self._is_polling:
            self._last_progress = progress
            self._polled_at = CLOCK.monotonic()
        return self._max_poll_interval_ms - (CLOCK.monotonic() - self._polled_at) * 1000

    async def until_overdue(self) -> None:
        """Waits until the caller is overdue.

        For a task that does nothing else: whoever waits for a broker's answers too would notice only when one
        comes, and the caller may have polled by then.
        """
        while True:
            overdue_in_ms = self.overdue_in_ms()
            if overdue_in_ms <= 0:
                return
            await asyncio.sleep(min(overdue_in_ms, PROGRESS_INTERVAL_MS) / 1000)

    async def until_back(self) -> None:
        """Waits until the caller is not overdue any more."""
        while True:
            if self.overdue_in_ms() > 0:
                return
            await asyncio.sleep(PROGRESS_INTERVAL_MS / 1000)


def polled_by_two(advice: str) -> MisuseError:
    """For whoever uses a consumer while another thread or coroutine polls it."""
    return MisuseError(
        "another thread or coroutine is polling this consumer: use a consumer from one at a time, except "
        f"for wakeup(), close() and stats(); give each {advice}"
    )
