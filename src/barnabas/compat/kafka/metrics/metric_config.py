"""By which settings a metric is measured."""

from __future__ import annotations

import sys
from typing import Any


class MetricConfig:
    """A quota, how many samples of which length (in events or milliseconds) are kept, and tags for all."""

    __slots__ = ("_samples", "event_window", "quota", "tags", "time_window_ms")

    def __init__(
        self,
        quota: Any = None,
        samples: int = 2,
        event_window: int = sys.maxsize,
        time_window_ms: float = 30 * 1000,
        tags: dict[str, Any] | None = None,
    ) -> None:
        self.quota = quota
        # As in the original, only what is set later is checked.
        self._samples = samples
        self.event_window = event_window
        self.time_window_ms = time_window_ms
        self.tags: dict[str, Any] = tags or {}

    @property
    def samples(self) -> int:
        return self._samples

    @samples.setter
    def samples(self, value: int) -> None:
        if value < 1:
            raise ValueError("The number of samples must be at least 1.")
        self._samples = value
