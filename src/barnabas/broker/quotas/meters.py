"""How much has been used of a quota, and how long it takes until there is some again.

Owns Kafka's arithmetic: a rate over eleven windows of a second, and a bucket that fills with the rate. Knows
neither clients nor a clock: whoever records says when.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

SAMPLES = 11
WINDOW_MS = 1_000
"""Kafka's quota.window.num and quota.window.size.seconds, and those of the controller."""


@dataclass(slots=True)
class _Sample:
    started_ms: float
    recorded_ms: float
    total: float = 0.0


class RateMeter:
    """A rate per second."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()

    def record(self, amount: float, now_ms: float) -> None:
        """A negative amount takes back what was recorded."""
        if not self._samples or now_ms - self._samples[-1].started_ms >= WINDOW_MS:
            self._samples.append(_Sample(now_ms, now_ms))
        sample = self._samples[-1]
        sample.total += amount
        sample.recorded_ms = now_ms

    def delay_ms(self, bound: float, now_ms: float) -> float:
        """How long nothing may be recorded until the rate is within its bound; 0 if it is."""
        while self._samples and now_ms - self._samples[0].recorded_ms >= SAMPLES * WINDOW_MS:
            self._samples.popleft()
        if not self._samples:
            return 0.0
        # All windows but the last count as whole ones, so that a beginning is no burst.
        window_ms = now_ms - self._samples[0].started_ms
        window_ms += max(0, SAMPLES - 1 - int(window_ms / WINDOW_MS)) * WINDOW_MS
        rate = sum(sample.total for sample in self._samples) / (window_ms / 1000)
        return max(0.0, (rate - bound) / bound * window_ms)


class MutationBucket:
    """Credits that come back with the rate of a quota, up to what eleven seconds bring (KIP-599)."""

    def __init__(self) -> None:
        self._credits: float | None = None
        self._filled_ms = 0.0

    def take(self, amount: float, bound: float, now_ms: float) -> None:
        """Takes credits, more than there are if need be."""
        self._credits = self._fill(bound, now_ms) - amount

    def delay_ms(self, bound: float, now_ms: float) -> float:
        """How long it takes until nothing is owed."""
        return max(0.0, -self._fill(bound, now_ms) / bound * 1000)

    def _fill(self, bound: float, now_ms: float) -> float:
        most = SAMPLES * WINDOW_MS / 1000 * bound
        credits = most if self._credits is None else self._credits
        self._credits = min(most, credits + bound * (now_ms - self._filled_ms) / 1000)
        self._filled_ms = now_ms
        return self._credits
