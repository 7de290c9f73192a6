"""The base of what hears of metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from barnabas.compat.kafka_engine.metrics.clock import complete_by_choice


@complete_by_choice
class AbstractMetricsReporter(ABC):
    """Is told which metrics there are; given to clients as one of their `metric_reporters`."""

    @abstractmethod
    def init(self, metrics: list[Any]) -> None:
        """Called first, with the metrics that there are."""

    @abstractmethod
    def metric_change(self, metric: Any) -> None:
        """There is a new metric."""

    @abstractmethod
    def metric_removal(self, metric: Any) -> None:
        """A metric is gone."""

    @abstractmethod
    def configure(self, configs: dict[str, Any]) -> None:
        """Takes settings."""

    @abstractmethod
    def close(self) -> None:
        """The registry is closed."""
