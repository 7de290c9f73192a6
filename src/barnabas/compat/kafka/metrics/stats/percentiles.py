"""Percentiles of the latest samples."""

from __future__ import annotations

import math
from typing import Any

from barnabas.compat.kafka.metrics.compound_stat import AbstractCompoundStat, NamedMeasurable
from barnabas.compat.kafka.metrics.measurable import AnonMeasurable
from barnabas.compat.kafka.metrics.stats.histogram import Histogram
from barnabas.compat.kafka.metrics.stats.percentile import Percentile
from barnabas.compat.kafka.metrics.stats.sampled_stat import AbstractSampledStat


class BucketSizing:
    """How bins are made."""

    CONSTANT = 0
    LINEAR = 1


class Percentiles(AbstractSampledStat, AbstractCompoundStat):
    """Counts values by bins, of which there is one for each four bytes of `size_in_bytes`."""

    def __init__(
        self,
        size_in_bytes: int,
        bucketing: int,
        max_val: float,
        min_val: float = 0.0,
        percentiles: list[Percentile] | None = None,
    ) -> None:
        super().__init__(0.0)
        self._percentiles = percentiles or []
        self._buckets = int(size_in_bytes / 4)
        if bucketing == BucketSizing.CONSTANT:
            self._bin_scheme: Any = Histogram.ConstantBinScheme(self._buckets, min_val, max_val)
        elif bucketing == BucketSizing.LINEAR:
            if min_val != 0.0:
                raise ValueError("Linear bucket sizing requires min_val to be 0.0.")
            self._bin_scheme = Histogram.LinearBinScheme(self._buckets, max_val)
        else:
            raise ValueError(f"Unknown bucket type: {bucketing}")

    def stats(self) -> list[NamedMeasurable]:
        return [self._named(percentile) for percentile in self._percentiles]

    def _named(self, percentile: Percentile) -> NamedMeasurable:
        part = percentile.percentile / 100.0
        return NamedMeasurable(
            percentile.name, AnonMeasurable(lambda config, now: self.value(config, now, part))
        )

    def value(self, config: Any, now: float, quantile: float) -> float:
        """Where the bin begins below whose end more than that part of the values are; NaN without values."""
        self.purge_obsolete_samples(config, now)
        count = sum(sample.event_count for sample in self._samples)
        if count == 0:
            return math.nan
        passed = 0.0
        for index in range(self._buckets):
            passed += sum(sample.histogram.counts[index] for sample in self._samples)
            if passed / count > float(quantile):
                return self._bin_scheme.from_bin(index)
        return math.inf

    def combine(self, samples: list[Any], config: Any, now: float) -> float:
        return self.value(config, now, 0.5)

    def new_sample(self, time_ms: float) -> Any:
        return self.HistogramSample(self._bin_scheme, time_ms)

    def update(self, sample: Any, config: Any, value: float, time_ms: float) -> None:
        sample.histogram.record(value)

    class HistogramSample(AbstractSampledStat.Sample):
        """The values of one window by bins."""

        def __init__(self, scheme: Any, now: float) -> None:
            self.histogram = Histogram(scheme)
            super().__init__(0.0, now)
