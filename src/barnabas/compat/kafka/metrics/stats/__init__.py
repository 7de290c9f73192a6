"""Statistics, and the sensors that feed them."""

from barnabas.compat.kafka.metrics.stats.avg import Avg
from barnabas.compat.kafka.metrics.stats.count import Count
from barnabas.compat.kafka.metrics.stats.histogram import Histogram
from barnabas.compat.kafka.metrics.stats.max_stat import Max
from barnabas.compat.kafka.metrics.stats.min_stat import Min
from barnabas.compat.kafka.metrics.stats.percentile import Percentile
from barnabas.compat.kafka.metrics.stats.percentiles import Percentiles
from barnabas.compat.kafka.metrics.stats.rate import Rate
from barnabas.compat.kafka.metrics.stats.sensor import Sensor
from barnabas.compat.kafka.metrics.stats.total import Total

__all__ = [
    "Avg",
    "Count",
    "Histogram",
    "Max",
    "Min",
    "Percentile",
    "Percentiles",
    "Rate",
    "Sensor",
    "Total",
]
