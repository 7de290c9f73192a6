"""The figures of streaming queries, gathered from what Spark tells a listener: as metrics, and as a status.

Owns names, units and labels of the metrics, and the form of the status that `barnabas pipeline status` reads.
Must not know PySpark or a broker. Safe to use from any threads.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from barnabas.observe.figures import Family, Labels
from barnabas.spark.queries.progress import BatchProgress, SourceProgress, StateProgress
from barnabas.types import TopicPartition

MOST_QUERIES_THAT_ENDED = 100
MOST_BATCHES = 50
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
    batches: deque[BatchProgress] = field(default_factory=lambda: deque(maxlen=MOST_BATCHES))
    """The last ones, without their partitions."""
    event_at: float = 0.0
    """When Spark told something of it last, on the clock of `Queries`."""


class Queries:
    """All queries of a session. Those that ended stay with their last figures, the latest hundred of them.
    `clock`: in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._queries: dict[str, QueryFigures] = {}

    def started(self, query_id: str, run_id: str, name: str | None) -> None:
        with self._lock:
            known = self._queries.pop(query_id, None)
            query = known or QueryFigures(query_id, run_id, name)
            query.restarts += query.run_id != run_id
            query.run_id, query.name, query.is_running, query.error = run_id, name, True, None
            query.event_at = self._clock()
            self._queries[query_id] = query
            self._forget()

    def progressed(self, query_id: str, run_id: str, batch: BatchProgress, sizes: RecordSizes) -> None:
        with self._lock:
            query = self._of(query_id, run_id)
            query.batch, query.sizes = batch, sizes
            query.event_at = self._clock()
            if not query.batches or query.batches[-1].batch_id != batch.batch_id:
                query.batches.append(replace(batch, sources=()))
            elif batch.rows:
                # While there is nothing new, Spark tells again of the last batch, with no rows.
                query.batches[-1] = replace(batch, sources=())
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
            query = self._of(query_id, run_id)
            query.event_at = self._clock()
            query.rates.clear()

    def terminated(self, query_id: str, run_id: str, error: str | None) -> None:
        with self._lock:
            query = self._of(query_id, run_id)
            query.is_running, query.error = False, error
            query.event_at = self._clock()
            query.rates.clear()

    def status(self) -> list[dict[str, Any]]:
        """For JSON: each query with its partitions."""
        with self._lock:
            return [_status(query, self._clock() - query.event_at) for query in self._queries.values()]

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


def _status(query: QueryFigures, seconds_since_event: float) -> dict[str, Any]:
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
        "seconds_since_event": round(seconds_since_event),
        "watermark": None if batch is None else batch.watermark,
        "state": [] if batch is None else [_state_status(each) for each in batch.state],
        "batches": [_batch_status(each) for each in query.batches],
        "sources": [] if batch is None else [_source_status(query, source) for source in batch.sources],
    }


def _state_status(state: StateProgress) -> dict[str, Any]:
    return {
        "operator": state.operator,
        "rows": state.rows,
        "updated": state.updated,
        "memory_bytes": state.memory_bytes,
        "dropped": state.dropped,
    }


def _batch_status(batch: BatchProgress) -> dict[str, Any]:
    return {
        "batch_id": batch.batch_id,
        "began": batch.timestamp,
        "seconds": batch.duration_seconds,
        "rows": batch.rows,
        "phases_ms": dict(batch.phases_ms),
        "state_rows": sum(each.rows for each in batch.state),
        "state_bytes": sum(each.memory_bytes for each in batch.state),
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
    state_rows = Family("pipeline.state_rows", "gauge", "{row}", "Kept by a stateful operator")
    state_bytes = Family("pipeline.state_memory", "gauge", "By", "Of a stateful operator")
    restarts = Family("pipeline.restarts", "counter", "{restart}", "Of the query, from its checkpoint")
    total_bytes = Family("pipeline.read", "counter", "By", "As they are on disk, by mean size")
    for query in queries:
        labels: Labels = {"query_id": query.query_id, "query": query.name or ""}
        up.samples.append((labels, float(query.is_running)))
        restarts.samples.append((labels, query.restarts))
        if query.batch is None:
            continue
        batch_id.samples.append((labels, query.batch.batch_id))
        duration.samples.append((labels, query.batch.duration_seconds))
        for number, state in enumerate(query.batch.state):
            of_state = {**labels, "operator": state.operator, "number": str(number)}
            state_rows.samples.append((of_state, state.rows))
            state_bytes.samples.append((of_state, state.memory_bytes))
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
    of_queries = [up, restarts, batch_id, duration, state_rows, state_bytes]
    return [*of_queries, behind, position, latest, lag, rate, rows, byte_rate, total_bytes]
