"""Statistics that come to several numbers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from barnabas.compat.kafka.metrics.stat import AbstractStat
from barnabas.compat.kafka_engine.metrics.clock import complete_by_choice


@complete_by_choice
class AbstractCompoundStat(AbstractStat):
    """Takes values and has several, such as percentiles."""

    @abstractmethod
    def stats(self) -> list[NamedMeasurable]:
        """Each of the values."""


class NamedMeasurable:
    """One of several values, with the MetricName that it is registered by."""

    __slots__ = ("_name", "_stat")

    def __init__(self, metric_name: Any, measurable_stat: Any) -> None:
        self._name = metric_name
        self._stat = measurable_stat

    @property
    def name(self) -> Any:
        return self._name

    @property
    def stat(self) -> Any:
        return self._stat
