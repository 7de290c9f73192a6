"""Sums."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.metrics.measurable_stat import AbstractMeasurableStat


class Total(AbstractMeasurableStat):
    """The sum of all values ever."""

    __slots__ = ("_total",)

    def __init__(self, value: float = 0.0) -> None:
        self._total = value

    def record(self, config: Any, value: float, now: float) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] the original's name
        self._total += value

    def measure(self, config: Any, now: float) -> float:
        return float(self._total)
