"""The registry of metrics and of the sensors that feed them."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

from barnabas.compat.kafka.metrics.kafka_metric import KafkaMetric
from barnabas.compat.kafka.metrics.measurable import AnonMeasurable
from barnabas.compat.kafka.metrics.metric_config import MetricConfig
from barnabas.compat.kafka.metrics.metric_name import MetricName
from barnabas.compat.kafka.metrics.stats.sensor import Sensor
from barnabas.compat.kafka_engine.generations import generation

logger = logging.getLogger("kafka.metrics.metrics")

_EXPIRY_SECONDS = 30


class Metrics:
    """Sensors and metrics by name, with the reporters that hear of them.

    With `enable_expiration`, sensors that recorded nothing for as long as they may are removed by a thread.
    The first metric is the number of all (`count` in `kafka-metrics-count`).
    """

    def __init__(
        self,
        default_config: MetricConfig | None = None,
        reporters: list[Any] | None = None,
        enable_expiration: bool = False,
    ) -> None:
        self._lock = threading.RLock()
        self._config = default_config or MetricConfig()
        self._sensors: dict[str, Sensor] = {}
        self._metrics: dict[MetricName, KafkaMetric] = {}
        self._children_sensors: dict[Sensor, list[Sensor]] = {}
        self._reporters: list[Any] = reporters or []
        self._is_closed = threading.Event()
        for reporter in self._reporters:
            reporter.init([])
        if enable_expiration:
            threading.Thread(target=self._expire, name="kafka-metrics-expiry", daemon=True).start()
        name = self.metric_name("count", "kafka-metrics-count", "total number of registered metrics")
        self.add_metric(name, AnonMeasurable(lambda config, now: len(self._metrics)))

    def _expire(self) -> None:
        while not self._is_closed.wait(_EXPIRY_SECONDS):
            self.ExpireSensorTask.run(self)

    @property
    def config(self) -> MetricConfig:
        return self._config

    @property
    def metrics(self) -> dict[MetricName, KafkaMetric]:
        """All that there are; the registry's own dictionary."""
        return self._metrics

    def metric_name(
        self, name: str, group: str, description: str = "", tags: dict[str, Any] | None = None
    ) -> MetricName:
        """A name with the tags of the registry's settings as well; `tags` win."""
        return MetricName(name, group, description, {**self._config.tags, **(tags or {})})

    def get_sensor(self, name: str) -> Sensor | None:
        """The sensor of a name, if there is one."""
        if not name:
            raise ValueError("name must be non-empty")
        return self._sensors.get(name)

    def sensor(
        self,
        name: str,
        config: MetricConfig | None = None,
        inactive_sensor_expiration_time_seconds: float = sys.maxsize,
        parents: list[Sensor] | None = None,
    ) -> Sensor:
        """The sensor of a name, made if there is none. What it records, its parents record as well."""
        with self._lock:
            sensor = self.get_sensor(name)
            if sensor is None:
                sensor = Sensor(
                    self, name, parents, config or self._config, inactive_sensor_expiration_time_seconds
                )
                self._sensors[name] = sensor
                for parent in parents or ():
                    self._children_sensors.setdefault(parent, []).append(sensor)
                logger.debug("Added sensor with name %s", name)
            return sensor

    def remove_sensor(self, name: str) -> None:
        """Removes a sensor, if there is one, with its metrics and its children."""
        with self._lock:
            sensor = self._sensors.pop(name, None)
            if sensor is None:
                return
            for metric in sensor.metrics:
                self.remove_metric(metric.metric_name)
            logger.debug("Removed sensor with name %s", name)
            for child in self._children_sensors.pop(sensor, ()):
                self.remove_sensor(child.name)

    def add_metric(self, metric_name: MetricName, measurable: Any, config: Any = None) -> None:
        """Has a measurable as a metric that no sensor feeds. Raises: ValueError if there is one."""
        self.register_metric(KafkaMetric(metric_name, measurable, config or self._config))

    def remove_metric(self, metric_name: MetricName) -> KafkaMetric | None:
        """Removes a metric and gives it, if there is one."""
        with self._lock:
            metric = self._metrics.pop(metric_name, None)
            if metric is not None:
                for reporter in self._reporters:
                    reporter.metric_removal(metric)
            return metric

    def add_reporter(self, reporter: Any) -> None:
        """Has one more reporter, which hears of the metrics that there are."""
        with self._lock:
            reporter.init(list(self._metrics.values()))
            self._reporters.append(reporter)

    def register_metric(self, metric: KafkaMetric) -> None:
        """Raises: ValueError if there is one of that name."""
        with self._lock:
            if metric.metric_name in self._metrics:
                raise ValueError(
                    f'A metric named "{metric.metric_name}" already exists, cannot register another one.'
                )
            self._metrics[metric.metric_name] = metric
            for reporter in self._reporters:
                reporter.metric_change(metric)

    class ExpireSensorTask:
        """Removes sensors that have expired."""

        @staticmethod
        def run(metrics: Metrics) -> None:
            for name, sensor in list(metrics._sensors.items()):
                if sensor.has_expired():
                    logger.debug("Removing expired sensor %s", name)
                    metrics.remove_sensor(name)

    def close(self) -> None:
        """Closes the reporters."""
        for reporter in self._reporters:
            reporter.close()
        if generation().closing_clears_metrics:
            self._metrics.clear()
        self._is_closed.set()
