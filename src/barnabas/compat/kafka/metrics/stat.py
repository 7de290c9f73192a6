"""The base of what values are recorded into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from barnabas.compat.kafka_engine.metrics.clock import complete_by_choice


@complete_by_choice
class AbstractStat(ABC):
    """Makes something of all values that a sensor records."""

    @abstractmethod
    def record(self, config: Any, value: float, time_ms: float) -> None:
        """Takes one value, of a time in milliseconds, by the MetricConfig of its sensor."""
