"""The base of statistics that come to one number."""

from barnabas.compat.kafka.metrics.measurable import AbstractMeasurable
from barnabas.compat.kafka.metrics.stat import AbstractStat
from barnabas.compat.kafka_engine.metrics.clock import complete_by_choice


@complete_by_choice
class AbstractMeasurableStat(AbstractStat, AbstractMeasurable):
    """Takes values and has one: an average, a maximum, a count."""
