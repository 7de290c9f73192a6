"""Samples of late in a rolling window, and figures made of them. Knows nothing of what they measure."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from functools import cache

from barnabas.clock import CLOCK
from barnabas.stats import WindowStats

WINDOW_SECONDS = 60.0
WINDOW_SAMPLES = 1024


@cache
def no_samples() -> WindowStats:
    return WindowStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class RollingWindow:
    """Samples of late, the latest `samples` of them. Adding one costs next to nothing, and 16
    bytes; the figures are made when asked for."""

    __slots__ = ("_next", "_samples", "_times", "_values")

    def __init__(self, samples: int = WINDOW_SAMPLES) -> None:
        self._samples = samples
        self._times = array("d")
        self._values = array("d")
        self._next = 0
        """Where the next sample goes once the arrays are full."""

    def add(self, now: float, value: float) -> None:
        """`now` as of `CLOCK.monotonic()`."""
        if len(self._times) < self._samples:
            self._times.append(now)
            self._values.append(value)
            return
        self._times[self._next] = now
        self._values[self._next] = value
        self._next = (self._next + 1) % self._samples

    def stats(self, seconds: float = WINDOW_SECONDS) -> WindowStats:
        """Of the last `seconds`. May be called on any thread."""
        oldest = CLOCK.monotonic() - seconds
        times, values_then = self._times[:], self._values[:]
        return _figures(
            value for added_at, value in zip(times, values_then, strict=False) if added_at >= oldest
        )

    def latest(self, count: int) -> WindowStats:
        """Of the last `count` samples, or of all if there are fewer. May be called on any thread."""
        begin, values = self._next, self._values[:]
        in_order = values[begin:] + values[:begin]
        return _figures(in_order[max(0, len(in_order) - count) :])


def _figures(samples: Iterable[float]) -> WindowStats:
    values = sorted(samples)
    if not values:
        return no_samples()
    count, total = len(values), math.fsum(values)
    mean = total / count
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / count)

    def percentile(share: float) -> float:
        # The nearest rank, as librdkafka's histograms have it.
        return values[max(0, math.floor(share * count + 0.5) - 1)]

    return WindowStats(
        count=count,
        sum=total,
        min=values[0],
        avg=mean,
        max=values[-1],
        stddev=deviation,
        p50=percentile(0.5),
        p75=percentile(0.75),
        p90=percentile(0.9),
        p95=percentile(0.95),
        p99=percentile(0.99),
        p99_99=percentile(0.9999),
    )
