"""The figures of streaming queries, gathered from what Spark tells a listener: as metrics, and as a status.

Owns names, units and labels of the metrics, and the form of the status that `barnabas pipeline status` reads.
Must not know PySpark or a broker. Safe to use from any threads.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.observe.figures import Family, Labels
from barnabas.spark.queries.progress import BatchProgress, SourceProgress
from barnabas.types import TopicPartition

MOST_QUERIES_THAT_ENDED = 100
RecordSizes = Mapping[TopicPartition, float]
_SourcePartition = tuple[int, TopicPartition]


@dataclass(slots=True)
class QueryFigures:
    """A query since this process began to listen. `query_id` stays over restarts from a checkpoint."""

    query_id: str
    run_id: str
    name: str | None
    is_running: bool = True
    restarts: int = 0
    """How often it was started again from its checkpoint."""
    error: str | None = None
    batch: BatchProgress | None = None
    rates: dict[_SourcePartition, float] = field(default_factory=dict[_SourcePartition, float])
    """Offsets a second in the last batch; none while there is nothing to read."""
    records: dict[_SourcePartition, int] = field(default_factory=dict[_SourcePartition, int])
    record_bytes: dict[_SourcePartition, float] = field(default_factory=dict[_SourcePartition, float])
    sizes: RecordSizes = field(default_factory=dict[TopicPartition, float])


class Queries:
    """All queries of a session. Those that ended stay with their last figures, the latest hundred of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries: dict[str, QueryFigures] = {}

    def started(self, query_id: str, run_id: str, name: str | None) -> None:
        with self._lock:
            known = self._queries.pop(query_id, None)
            query = known or QueryFigures(query_id, run_id, name)
            query.restarts += query.run_id != run_id
            query.run_id, query.name, query.is_running, query.error = run_id, name, True, None
            self._queries[query_id] = query
            self._forget()

    def progressed(self, query_id: str, run_id: str, batch: BatchProgress, sizes: RecordSizes) -> None:
        with self._lock:
            query = self._of(query_id, run_id)
            query.batch, query.sizes = batch, sizes
            query.rates.clear()
            for source in batch.sources:
                for partition, progress in source.partitions.items():
                    key = source.number, partition
                    if batch.duration_seconds > 0:
                        query.rates[key] = progress.passed / batch.duration_seconds
                    query.records[key] = query.records.get(key, 0) + progress.passed
                    if partition in sizes:
                        read = progress.passed * sizes[partition]
                        query.record_bytes[key] = query.record_bytes.get(key, 0.0) + read

    def idle(self, query_id: str, run_id: str) -> None:
        with self._lock:
            self._of(query_id, run_id).rates.clear()

    def terminated(self, query_id: str, run_id: str, error: str | None) -> None:
        with self._lock:
            query = self._of(query_id, run_id)
            query.is_running, query.error = False, error
            query.rates.clear()

    def status(self) -> list[dict[str, Any]]:
        """For JSON: each query with its partitions."""
        with self._lock:
            return [_status(query) for query in self._queries.values()]

    def families(self) -> list[Family]:
        """For metrics."""
        with self._lock:
            return _families(list(self._queries.values()))

    def _of(self, query_id: str, run_id: str) -> QueryFigures:
        """A query that was started before the listener was added is met here first."""
        query = self._queries.get(query_id)
        if query is None:
            query = self._queries[query_id] = QueryFigures(query_id, run_id, None)
        return query

    def _forget(self) -> None:
        ended = [query_id for query_id, query in self._queries.items() if not query.is_running]
        for query_id in ended[: max(len(ended) - MOST_QUERIES_THAT_ENDED, 0)]:
            del self._queries[query_id]


def _status(query: QueryFigures) -> dict[str, Any]:
    batch = query.batch
    return {
        "id": query.query_id,
        "run_id": query.run_id,
        "name": query.name,
        "is_running": query.is_running,
        "restarts": query.restarts,
        "error": query.error,
        "batch_id": None if batch is None else batch.batch_id,
        "batch_began": None if batch is None else batch.timestamp,
        "batch_seconds": None if batch is None else batch.duration_seconds,
        "sources": [] if batch is None else [_source_status(query, source) for source in batch.sources],
    }


def _source_status(query: QueryFigures, source: SourceProgress) -> dict[str, Any]:
    behind = source.behind
    return {
        "source": source.number,
        "rows": source.rows,
        "min_offsets_behind_latest": None if behind is None else behind.least,
        "max_offsets_behind_latest": None if behind is None else behind.most,
        "avg_offsets_behind_latest": None if behind is None else behind.mean,
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "position": progress.position,
                "latest": progress.latest,
                "lag": progress.lag,
                "rows_per_second": query.rates.get((source.number, partition), 0.0),
                "bytes_per_second": _bytes_per_second(query, source.number, partition),
            }
            for partition, progress in sorted(source.partitions.items())
        ],
    }


def _bytes_per_second(query: QueryFigures, source: int, partition: TopicPartition) -> float | None:
    size = query.sizes.get(partition)
    return None if size is None else query.rates.get((source, partition), 0.0) * size


def _families(queries: list[QueryFigures]) -> list[Family]:
    up = Family("pipeline.up", "gauge", "1", "Whether the query runs")
    batch_id = Family("pipeline.batch_id", "gauge", "{batch}", "The last batch that was done")
    duration = Family("pipeline.batch_duration", "gauge", "s", "How long the last batch took")
    behind = Family("pipeline.offsets_behind_latest", "gauge", "{offset}", "Over a source's partitions")
    position = Family("pipeline.position", "gauge", "{offset}", "Where the next batch begins")
    latest = Family("pipeline.latest_offset", "gauge", "{offset}", "End, as the last batch was planned")
    lag = Family("pipeline.lag", "gauge", "{offset}", "Behind the end after the last batch")
    rate = Family("pipeline.rows_per_second", "gauge", "{row}/s", "In the last batch; 0 without new records")
    rows = Family("pipeline.rows", "counter", "{row}", "Offsets passed")
    byte_rate = Family("pipeline.bytes_per_second", "gauge", "By/s", "As they are on disk, by mean size")
    total_bytes = Family("pipeline.read", "counter", "By", "As they are on disk, by mean size")
    for query in queries:
        labels: Labels = {"query_id": query.query_id, "query": query.name or ""}
        up.samples.append((labels, float(query.is_running)))
        if query.batch is None:
            continue
        batch_id.samples.append((labels, query.batch.batch_id))
        duration.samples.append((labels, query.batch.duration_seconds))
        for source in query.batch.sources:
            of_source = {**labels, "source": str(source.number)}
            if source.behind is not None:
                for name, value in zip(("min", "max", "avg"), source.behind, strict=True):
                    behind.samples.append(({**of_source, "of": name}, value))
            for partition, progress in sorted(source.partitions.items()):
                key = source.number, partition
                where = {**of_source, "topic": partition.topic, "partition": str(partition.partition)}
                position.samples.append((where, progress.position))
                rate.samples.append((where, query.rates.get(key, 0.0)))
                rows.samples.append((where, query.records.get(key, 0)))
                if progress.latest is not None and progress.lag is not None:
                    latest.samples.append((where, progress.latest))
                    lag.samples.append((where, progress.lag))
                bytes_per_second = _bytes_per_second(query, *key)
                if bytes_per_second is not None:
                    byte_rate.samples.append((where, bytes_per_second))
                    total_bytes.samples.append((where, query.record_bytes.get(key, 0.0)))
    return [up, batch_id, duration, behind, position, latest, lag, rate, rows, byte_rate, total_bytes]
