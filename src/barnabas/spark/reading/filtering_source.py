"""The batch reader of a Spark that hands predicates to sources, which PySpark before 4.1 does not."""

from __future__ import annotations

from pyspark.sql.datasource import Filter

from barnabas.spark.options import SourceOptions
from barnabas.spark.planning.filters import Bounds
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.reading.cluster import SourceCluster
from barnabas.spark.reading.source import KafkaReader


class FilteringKafkaReader(KafkaReader):
    """A batch query in a session with spark.sql.python.filterPushdown.enabled: what predicates rule out is
    not fetched. Without that setting Spark refuses a reader that could."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self._bounds = Bounds()

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:
        return self._bounds.push(filters)

    def ranges(self, cluster: SourceCluster) -> list[OffsetRange]:
        return self._bounds.narrow(super().ranges(cluster), cluster.offsets_for_times)
