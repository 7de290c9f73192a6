"""What can be measured: a number at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from barnabas.compat.kafka_engine.metrics.clock import complete_by_choice


@complete_by_choice
class AbstractMeasurable(ABC):
    """Has a value at any time."""

    @abstractmethod
    def measure(self, config: Any, now: float) -> Any:
        """The value now (in milliseconds), by a MetricConfig."""


class AnonMeasurable(AbstractMeasurable):
    """Asks a function."""

    def __init__(self, measure_fn: Callable[[Any, float], Any]) -> None:
        self._measure_fn = measure_fn

    def measure(self, config: Any, now: float) -> float:
        return float(self._measure_fn(config, now))
