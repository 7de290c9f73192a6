"""Averages."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.metrics.stats.sampled_stat import AbstractSampledStat


class Avg(AbstractSampledStat):
    """The average of the values in its samples, 0 where there are none."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0.0)

    def update(self, sample: Any, config: Any, value: float, now: float) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] the original's name
        sample.value += value

    def combine(self, samples: list[Any], config: Any, now: float) -> float:
        count = sum(sample.event_count for sample in samples)
        return sum(sample.value for sample in samples) / count if count else 0.0
