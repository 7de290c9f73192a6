"""The streaming reader: what the driver plans for each micro-batch.

The offsets of a query are in Spark's checkpoint; this keeps connections, and what Spark asks for twice.
"""

# PyArrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from barnabas.spark.cluster import Cluster
from barnabas.spark.offsets import Document, Offsets, first_batch_start, from_document, to_document
from barnabas.spark.options import SourceOptions
from barnabas.spark.ranges import (
    Available,
    OffsetSpec,
    check_initial_offsets,
    limit_offsets,
    resolve,
    stream_ranges,
)
from barnabas.spark.source import read_partition, report_loss
from barnabas.types import TopicPartition

OFFSET_RETRIES = 2
OFFSET_RETRY_SECONDS = 1.0


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query's view of its topics."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._starting: OffsetSpec = options.for_streaming()
        self._cluster: Cluster | None = None
        self._initial: Document | None = None
        self._available_at_start: dict[TopicPartition, Available] | None = None
        self._latest: Document | None = None

    def prepareForTriggerAvailableNow(self) -> None:
        """Fixes what the whole query reads; what is written later is left for the next query."""
        self._available_at_start = self._available()

    def initialOffset(self) -> Document:
        """Where a new query begins. Spark asks twice in its first batch, and must hear the same twice."""
        if self._initial is None:
            available = self._available_at_start or self._available()
            offsets = check_initial_offsets(
                resolve(self._starting, available, "startingOffsets"), available, self._lost
            )
            self._initial = to_document(offsets, first_batch_start=offsets)
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: Document, limit: ReadLimit) -> Document:
        """The end of the next micro-batch. `start` itself, unchanged, is Spark's sign for no new data."""
        began = from_document(start)
        end = self._latest_offsets(began)
        self._latest = to_document(end)
        if isinstance(limit, ReadMaxRows):
            end = limit_offsets(began | self._earliest(end.keys() - began.keys()), end, limit.max_rows)
        if end == began:
            return start
        return to_document(end, first_batch_start=began if start == self._initial else None)

    def reportLatestOffset(self) -> Document | None:
        return self._latest

    def partitions(self, start: Document, end: Document) -> list[InputPartition]:
        if start == end:
            return []
        began = first_batch_start(end)
        if began is None:
            began = from_document(start)
        ended = from_document(end)
        ranges = stream_ranges(began, ended, self._earliest(ended.keys() - began.keys()), self._lost)
        return [InputPartition(offset_range) for offset_range in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(partition, self._options)

    def commit(self, end: Document) -> None:
        """Nothing to do: the offsets are in Spark's checkpoint."""

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()

    def _lost(self, message: str) -> None:
        report_loss(self._options, message)

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._options.consumer_settings)
        return self._cluster

    def _available(self) -> dict[TopicPartition, Available]:
        cluster = self._connected()
        return cluster.available(cluster.partitions(self._options.subscription))

    def _earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        wanted = list(partitions)
        return self._connected().earliest(wanted) if wanted else {}

    def _latest_offsets(self, known: Offsets) -> Offsets:
        """The end of every partition. One that seems to have gone back may be answered by a replica that was
        not told of the latest writes yet, so it is asked again before it counts."""
        if self._available_at_start is not None:
            return {partition: held.latest for partition, held in self._available_at_start.items()}
        cluster = self._connected()
        latest = cluster.latest(cluster.partitions(self._options.subscription))
        for _ in range(OFFSET_RETRIES):
            if all(latest.get(partition, offset) >= offset for partition, offset in known.items()):
                break
            time.sleep(OFFSET_RETRY_SECONDS)
            latest = cluster.latest(cluster.partitions(self._options.subscription))
        return latest
