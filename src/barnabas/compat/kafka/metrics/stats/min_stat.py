"""Minima."""

from __future__ import annotations

import sys
from typing import Any

from barnabas.compat.kafka.metrics.stats.sampled_stat import AbstractSampledStat


class Min(AbstractSampledStat):
    """The least value in its samples."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(float(sys.maxsize))

    def update(self, sample: Any, config: Any, value: float, now: float) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] the original's name
        sample.value = min(sample.value, value)

    def combine(self, samples: list[Any], config: Any, now: float) -> float:
        return float(min((sample.value for sample in samples), default=self._initial_value))
