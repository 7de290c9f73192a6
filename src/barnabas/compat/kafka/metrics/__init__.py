"""Metrics: a registry of figures, what records them, who reports them."""

from barnabas.compat.kafka.metrics.compound_stat import NamedMeasurable
from barnabas.compat.kafka.metrics.dict_reporter import DictReporter
from barnabas.compat.kafka.metrics.kafka_metric import KafkaMetric
from barnabas.compat.kafka.metrics.measurable import AnonMeasurable
from barnabas.compat.kafka.metrics.metric_config import MetricConfig
from barnabas.compat.kafka.metrics.metric_name import MetricName
from barnabas.compat.kafka.metrics.metrics import Metrics
from barnabas.compat.kafka.metrics.quota import Quota

__all__ = [
    "AnonMeasurable",
    "DictReporter",
    "KafkaMetric",
    "MetricConfig",
    "MetricName",
    "Metrics",
    "NamedMeasurable",
    "Quota",
]
