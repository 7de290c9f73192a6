"""Keeps records and bytes below what is asked for a second. Knows no client."""

from __future__ import annotations

import time
from collections.abc import Callable


class Throttle:
    """None for a rate: as many as go."""

    def __init__(
        self,
        records_a_second: float | None,
        bytes_a_second: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._records_a_second = records_a_second
        self._bytes_a_second = bytes_a_second
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def records_at_once(self, most: int) -> int:
        """So few that waiting stays short."""
        rate = self._records_a_second
        return most if rate is None else max(1, min(most, int(rate / 10)))

    def wait(self, records: int, size: int = 0) -> None:
        """Returns when the next may go, after `records` of `size` bytes."""
        seconds = 0.0
        if self._records_a_second is not None:
            seconds = records / self._records_a_second
        if self._bytes_a_second is not None:
            seconds = max(seconds, size / self._bytes_a_second)
        now = self._clock()
        # What was slower than it might have been is not made up for by a burst.
        self._free_at = max(self._free_at, now - 1.0) + seconds
        if self._free_at > now:
            self._sleep(self._free_at - now)
