"""A reporter that a program reads as a dictionary."""

from __future__ import annotations

import logging
import threading
from typing import Any

from barnabas.compat.kafka.metrics.metrics_reporter import AbstractMetricsReporter

logger = logging.getLogger("kafka.metrics.dict_reporter")


class DictReporter(AbstractMetricsReporter):
    """Knows metrics by their category (prefix, group and tags) and name."""

    def __init__(self, prefix: str | None = "") -> None:
        self._lock = threading.Lock()
        self._prefix = prefix or ""
        self._store: dict[str, dict[str, Any]] = {}

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """All values as of now, by category and name."""
        with self._lock:
            known = {category: dict(metrics) for category, metrics in self._store.items()}
        return {
            category: {name: metric.value() for name, metric in metrics.items()}
            for category, metrics in known.items()
        }

    def init(self, metrics: list[Any]) -> None:
        for metric in metrics:
            self.metric_change(metric)

    def metric_change(self, metric: Any) -> None:
        with self._lock:
            self._store.setdefault(self.get_category(metric), {})[metric.metric_name.name] = metric

    def metric_removal(self, metric: Any) -> Any:
        """Forgets a metric, and gives it if it was known."""
        category = self.get_category(metric)
        with self._lock:
            metrics = self._store.get(category, {})
            removed = metrics.pop(metric.metric_name.name, None)
            if not metrics:
                self._store.pop(category, None)
        return removed

    def get_category(self, metric: Any) -> str:
        """Such as "prefix.group.tag1=a,tag2=b"; what is empty is left out."""
        tags = ",".join(f"{tag}={value}" for tag, value in sorted(metric.metric_name.tags.items()))
        return ".".join(filter(None, (self._prefix, metric.metric_name.group, tags)))

    def configure(self, configs: dict[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass
