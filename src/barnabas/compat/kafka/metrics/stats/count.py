"""Counts."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.metrics.stats.sampled_stat import AbstractSampledStat


class Count(AbstractSampledStat):
    """How many values are in its samples."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0.0)

    def update(self, sample: Any, config: Any, value: float, now: float) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] the original's name
        sample.value += 1.0

    def combine(self, samples: list[Any], config: Any, now: float) -> float:
        return float(sum(sample.value for sample in samples))
