"""Rates and averages of counts that only grow, over the samples of a MetricConfig.

A count is known at the times it was looked at; what it grew by is taken from the last look before the samples
began, so a rate may be of a longer time where nobody looked for long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

from barnabas.clock import CLOCK


class SampleSettings(Protocol):
    """What a MetricConfig says."""

    time_window_ms: float

    @property
    def samples(self) -> int: ...


class Figure:
    """What one metric measures, of what its client tells about itself."""

    def __init__(self, description: str, read: Callable[[Any], float]) -> None:
        self.description = description
        self.read = read

    def measured(self, of: Callable[[], Any]) -> Callable[[SampleSettings], float]:
        """The function that measures it, `of` being asked each time."""
        return lambda settings: self.read(of())


class Rate(Figure):
    """By how much a count grew in a second."""

    def measured(self, of: Callable[[], Any]) -> Callable[[SampleSettings], float]:
        count = _Count(lambda: self.read(of()))

        def rate(settings: SampleSettings) -> float:
            grown, elapsed = count.growth(settings)
            window = settings.time_window_ms / 1000
            lacking = settings.samples - 1 - int(elapsed / window)
            # As kafka-python does: else one record right at the start would be a vast rate.
            return grown / (elapsed + max(lacking, 0) * window)

        return rate


class Share(Figure):
    """By how much a count grew for each one of another."""

    def __init__(
        self,
        description: str,
        read: Callable[[Any], float],
        per: Callable[[Any], float],
        *,
        largest: bool = False,
    ) -> None:
        super().__init__(description, read)
        self.per = per
        self.largest = largest

    def measured(self, of: Callable[[], Any]) -> Callable[[SampleSettings], float]:
        counts = _Count(lambda: self.read(of())), _Count(lambda: self.per(of()))

        def share(settings: SampleSettings) -> float:
            if self.largest:
                return max(_shares(*(count.increments(settings) for count in counts)), default=0.0)
            (grown, _), (by, _) = (count.growth(settings) for count in counts)
            return grown / by if by else 0.0

        return share


def _shares(counted: list[float], per: list[float]) -> list[float]:
    pairs = zip(counted[-len(per) :], per[-len(counted) :], strict=True)
    return [grown / by for grown, by in pairs if by]


class _Count:
    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read
        self._seen: deque[tuple[float, float]] = deque([(CLOCK.monotonic(), 0.0)])

    def _look(self, settings: SampleSettings) -> None:
        now = CLOCK.monotonic()
        begun = now - settings.samples * settings.time_window_ms / 1000
        self._seen.append((now, self._read()))
        while len(self._seen) > 2 and self._seen[1][0] <= begun:
            self._seen.popleft()

    def growth(self, settings: SampleSettings) -> tuple[float, float]:
        """By how much it grew, and in how many seconds."""
        self._look(settings)
        (begun, before), (now, count) = self._seen[0], self._seen[-1]
        return max(count - before, 0.0), now - begun

    def increments(self, settings: SampleSettings) -> list[float]:
        """By how much it grew from look to look."""
        self._look(settings)
        counts = [count for _, count in self._seen]
        return [max(later - count, 0.0) for count, later in pairwise(counts)]
