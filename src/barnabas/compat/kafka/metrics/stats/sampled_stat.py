"""The base of statistics over the latest samples."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from barnabas.compat.kafka.metrics.measurable_stat import AbstractMeasurableStat
from barnabas.compat.kafka_engine.metrics.clock import complete_by_choice


@complete_by_choice
class AbstractSampledStat(AbstractMeasurableStat):
    """Keeps samples of a bounded length in time and events, as many as MetricConfig says; when one is
    complete, the oldest is emptied and filled next.

    A subclass says what a value does to a sample, and what all samples come to.
    """

    __slots__ = ("_current", "_initial_value", "_samples")

    def __init__(self, initial_value: float) -> None:
        self._initial_value = initial_value
        self._samples: list[Any] = []
        self._current = 0

    @abstractmethod
    def update(self, sample: Any, config: Any, value: float, time_ms: float) -> None:
        """Adds a value to a sample."""

    @abstractmethod
    def combine(self, samples: list[Any], config: Any, now: float) -> Any:
        """What the samples come to."""

    def record(self, config: Any, value: float, time_ms: float) -> None:
        sample = self.current(time_ms)
        if sample.is_complete(time_ms, config):
            sample = self._advance(config, time_ms)
        self.update(sample, config, float(value), time_ms)
        sample.event_count += 1

    def _advance(self, config: Any, time_ms: float) -> Any:
        self._current = (self._current + 1) % config.samples
        if self._current >= len(self._samples):
            self._samples.append(self.new_sample(time_ms))
        else:
            self._samples[self._current].reset(time_ms)
        return self._samples[self._current]

    def new_sample(self, time_ms: float) -> Any:
        """An empty one that begins now."""
        return self.Sample(self._initial_value, time_ms)

    def measure(self, config: Any, now: float) -> float:
        self.purge_obsolete_samples(config, now)
        return float(self.combine(self._samples, config, now))

    def current(self, time_ms: float) -> Any:
        """The one that is filled now."""
        self._have_one(time_ms)
        return self._samples[self._current]

    def oldest(self, now: float) -> Any:
        """The one that began first."""
        self._have_one(now)
        return min(self._samples, key=lambda sample: sample.last_window_ms)

    def _have_one(self, now: float) -> None:
        if not self._samples:
            self._samples.append(self.new_sample(now))

    def purge_obsolete_samples(self, config: Any, now: float) -> None:
        """Empties samples that are too old to count."""
        for sample in self._samples:
            if now - sample.last_window_ms >= config.samples * config.time_window_ms:
                sample.reset(now)

    class Sample:
        """The values of one window."""

        def __init__(self, initial_value: float, now: float) -> None:
            self.initial_value = initial_value
            self.reset(now)

        def reset(self, now: float) -> None:
            """Empties it; it begins now."""
            self.event_count = 0
            self.last_window_ms = now
            self.value = self.initial_value

        def is_complete(self, time_ms: float, config: Any) -> bool:
            """Whether the next value belongs into another one."""
            age_ms = time_ms - self.last_window_ms
            return age_ms >= config.time_window_ms or self.event_count >= config.event_window
