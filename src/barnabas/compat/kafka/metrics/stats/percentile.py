"""Which percentile goes by which name."""

from __future__ import annotations

from typing import Any


class Percentile:
    """One of those that Percentiles measures."""

    __slots__ = ("_metric_name", "_percentile")

    def __init__(self, metric_name: Any, percentile: float) -> None:
        self._metric_name = metric_name
        self._percentile = float(percentile)

    @property
    def name(self) -> Any:
        return self._metric_name

    @property
    def percentile(self) -> float:
        return self._percentile
