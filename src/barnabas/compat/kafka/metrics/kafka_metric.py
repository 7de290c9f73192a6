"""One metric of a registry."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_engine.metrics.clock import now_ms


class KafkaMetric:
    """A measurable under its name, with the settings by which it is measured."""

    __slots__ = ("_config", "_measurable", "_metric_name")

    def __init__(self, metric_name: Any, measurable: Any, config: Any) -> None:
        for argument, value in (("metric_name", metric_name), ("measurable", measurable)):
            if not value:
                raise ValueError(f"{argument} must be non-empty")
        self._metric_name = metric_name
        self._measurable = measurable
        self._config = config

    @property
    def metric_name(self) -> Any:
        return self._metric_name

    @property
    def measurable(self) -> Any:
        return self._measurable

    @property
    def config(self) -> Any:
        return self._config

    @config.setter
    def config(self, config: Any) -> None:
        self._config = config

    def value(self, time_ms: float | None = None) -> Any:
        """What is measured at a time, by default now."""
        return self._measurable.measure(self._config, now_ms() if time_ms is None else time_ms)
