"""Maxima."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.metrics.stats.sampled_stat import AbstractSampledStat


class Max(AbstractSampledStat):
    """The greatest value in its samples."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(float("-inf"))

    def update(self, sample: Any, config: Any, value: float, now: float) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] the original's name
        sample.value = max(sample.value, value)

    def combine(self, samples: list[Any], config: Any, now: float) -> float:
        return float(max((sample.value for sample in samples), default=self._initial_value))
