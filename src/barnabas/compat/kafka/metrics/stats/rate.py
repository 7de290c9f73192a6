"""Rates."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.metrics.measurable_stat import AbstractMeasurableStat
from barnabas.compat.kafka.metrics.stats.sampled_stat import AbstractSampledStat

_NAMES = ("nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day")


class TimeUnit:
    """By what a rate may be measured."""

    NANOSECONDS, MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS = range(len(_NAMES))

    @staticmethod
    def get_name(time_unit: Any) -> int:
        """The number of the unit of a name."""
        return {name: unit for unit, name in enumerate(_NAMES)}[time_unit]


_UNITS_IN_MS = {
    TimeUnit.NANOSECONDS: 1000.0 * 1000.0,
    TimeUnit.MICROSECONDS: 1000.0,
    TimeUnit.MILLISECONDS: 1,
}
_MS_IN_UNITS = {
    TimeUnit.SECONDS: 1000.0,
    TimeUnit.MINUTES: 60.0 * 1000.0,
    TimeUnit.HOURS: 60.0 * 60.0 * 1000.0,
    TimeUnit.DAYS: 24.0 * 60.0 * 60.0 * 1000.0,
}


class Rate(AbstractMeasurableStat):
    """What a sampled statistic (by default the sum) comes to by the time that its samples took."""

    __slots__ = ("_stat", "_unit")

    def __init__(
        self, time_unit: int = TimeUnit.SECONDS, sampled_stat: AbstractSampledStat | None = None
    ) -> None:
        self._stat = sampled_stat or SampledTotal()
        self._unit = time_unit

    def unit_name(self) -> Any:
        return TimeUnit.get_name(self._unit)

    def record(self, config: Any, value: float, time_ms: float) -> None:
        self._stat.record(config, value, time_ms)

    def measure(self, config: Any, now: float) -> float:
        value = self._stat.measure(config, now)
        return float(value) / self.convert(self.window_size(config, now))

    def window_size(self, config: Any, now: float) -> float:
        """How long the samples took in milliseconds: since the oldest began, with as many full windows as are
        lacking, since a first value would make a vast rate of a short time."""
        self._stat.purge_obsolete_samples(config, now)
        elapsed_ms = now - self._stat.oldest(now).last_window_ms
        lacking = config.samples - 1 - int(elapsed_ms / config.time_window_ms)
        return elapsed_ms + max(lacking, 0) * config.time_window_ms

    def convert(self, time_ms: float) -> float:
        """Milliseconds in the unit of the rate. Raises: ValueError for a unit that there is not."""
        if self._unit in _UNITS_IN_MS:
            return time_ms * _UNITS_IN_MS[self._unit]
        if self._unit in _MS_IN_UNITS:
            return time_ms / _MS_IN_UNITS[self._unit]
        raise ValueError(f"Unknown unit: {self._unit}")


class SampledTotal(AbstractSampledStat):
    """The sum of the values in its samples."""

    __slots__ = ()

    def __init__(self, initial_value: None = None) -> None:
        if initial_value is not None:
            raise ValueError("initial_value cannot be set on SampledTotal")
        super().__init__(0.0)

    def update(self, sample: Any, config: Any, value: float, time_ms: float) -> None:
        sample.value += value

    def combine(self, samples: list[Any], config: Any, now: float) -> float:
        return float(sum(sample.value for sample in samples))
