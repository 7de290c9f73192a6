"""What records values into metrics."""

from __future__ import annotations

import threading
from typing import Any

from barnabas.compat.kafka.errors import QuotaViolationError  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from barnabas.compat.kafka.metrics.kafka_metric import KafkaMetric
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.metrics.clock import now_ms


class Sensor:
    """Feeds each value to its statistics and to its parents, and watches quotas. Made by `Metrics.sensor`."""

    __slots__ = (
        "_config",
        "_inactive_sensor_expiration_time_ms",
        "_last_record_time",
        "_lock",
        "_metrics",
        "_name",
        "_parents",
        "_registry",
        "_stats",
    )

    def __init__(
        self,
        registry: Any,
        name: str,
        parents: list[Sensor] | None,
        config: Any,
        inactive_sensor_expiration_time_seconds: float,
    ) -> None:
        if not name:
            raise ValueError("name must be non-empty")
        self._lock = threading.RLock()
        self._registry = registry
        self._name = name
        self._parents = parents or []
        self._metrics: list[KafkaMetric] = []
        self._stats: list[Any] = []
        self._config = config
        self._inactive_sensor_expiration_time_ms = inactive_sensor_expiration_time_seconds * 1000
        self._last_record_time = now_ms()
        self._check_forest(set())

    def _check_forest(self, sensors: set[Sensor]) -> None:
        if self in sensors:
            raise ValueError(f"Circular dependency in sensors: {self.name} is its ownparent.")
        sensors.add(self)
        for parent in self._parents:
            parent._check_forest(sensors)

    @property
    def name(self) -> str:
        return self._name

    @property
    def metrics(self) -> tuple[KafkaMetric, ...]:
        return tuple(self._metrics)

    def record(self, value: float = 1.0, time_ms: float | None = None) -> None:
        """Records a value of a time, by default now. Raises: QuotaViolationError; the value counts all the
        same, but not for the parents."""
        if time_ms is None:
            time_ms = now_ms()
        self._last_record_time = time_ms
        with self._lock:
            for stat in self._stats:
                stat.record(self._config, value, time_ms)
            self._check_quotas(time_ms)
        for parent in self._parents:
            parent.record(value, time_ms)

    def _check_quotas(self, time_ms: float) -> None:
        for metric in self._metrics:
            quota = metric.config.quota if metric.config else None
            if not quota:
                continue
            value = metric.value(time_ms)
            if not quota.is_acceptable(value):
                text = generation().quota_violation_text
                raise QuotaViolationError(
                    text.format(name=metric.metric_name, value=int(value), bound=int(quota.bound))
                )

    def add_compound(self, compound_stat: Any, config: Any = None) -> None:
        """Feeds a statistic of several values, each a metric."""
        if not compound_stat:
            raise ValueError("compound stat must be non-empty")
        with self._lock:
            self._stats.append(compound_stat)
            for measurable in compound_stat.stats():
                self._register(measurable.name, measurable.stat, config)

    def add(self, metric_name: Any, stat: Any, config: Any = None) -> None:
        """Feeds a statistic, as the metric of a name. Raises: ValueError if there is one of that name."""
        with self._lock:
            self._register(metric_name, stat, config)
            self._stats.append(stat)

    def _register(self, metric_name: Any, measurable: Any, config: Any) -> None:
        metric = KafkaMetric(metric_name, measurable, config or self._config)
        self._registry.register_metric(metric)
        self._metrics.append(metric)

    def has_expired(self) -> bool:
        """Whether nothing was recorded for as long as it may be."""
        return now_ms() - self._last_record_time > self._inactive_sensor_expiration_time_ms
