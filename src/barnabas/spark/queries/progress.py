"""What Spark reports of a streaming query, read for its Kafka sources: where each partition is.

Takes the JSON of Spark's `StreamingQueryProgress`. A source is one of Kafka by the form of its offsets, so
that queries on Spark's own connector are understood as well. Pure: must not know PySpark or a broker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple, cast

from barnabas.spark.planning.offsets import Offsets, from_document, starts_of
from barnabas.types import TopicPartition
from barnabas.values import frozen

MILLISECONDS_PER_SECOND = 1000


@frozen
class PartitionProgress:
    """`position` is where the next batch begins. `latest` is the partition's end as the source last saw it,
    which is when it planned the batch. `passed` is how many offsets the batch went on by: as many as rows,
    but in topics that are compacted or have transactions."""

    position: int
    latest: int | None
    passed: int

    @property
    def lag(self) -> int | None:
        return None if self.latest is None else max(self.latest - self.position, 0)


class OffsetsBehindLatest(NamedTuple):
    """What Spark's connector reports as minOffsetsBehindLatest, maxOffsetsBehindLatest and avg..."""

    least: int
    most: int
    mean: float


@frozen
class SourceProgress:
    """One Kafka source. `number` is its place among all sources of the query."""

    number: int
    rows: int
    partitions: Mapping[TopicPartition, PartitionProgress]

    @property
    def behind(self) -> OffsetsBehindLatest | None:
        """None where the source told no latest offsets."""
        lags = [lag for each in self.partitions.values() if (lag := each.lag) is not None]
        return OffsetsBehindLatest(min(lags), max(lags), sum(lags) / len(lags)) if lags else None


@frozen
class StateProgress:
    """What a stateful operator keeps after a batch. `dropped`: rows of the batch that came too late for the
    watermark."""

    operator: str
    rows: int
    updated: int
    memory_bytes: int
    dropped: int


@frozen
class BatchProgress:
    """One micro-batch. `timestamp` is when it began, as Spark writes it. `rows` are those of all sources, of
    Kafka or not; `phases_ms` is where the time went, by Spark's own names. `watermark` as Spark writes it,
    None where the query has none."""

    batch_id: int
    timestamp: str
    duration_seconds: float
    sources: tuple[SourceProgress, ...]
    rows: int = 0
    phases_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    state: tuple[StateProgress, ...] = ()
    watermark: str | None = None


def batch_progress(progress: Mapping[str, Any]) -> BatchProgress:
    """What a `StreamingQueryProgress`, as parsed from its JSON, says."""
    event_time: Mapping[str, Any] = progress.get("eventTime") or {}
    return BatchProgress(
        batch_id=progress["batchId"],
        timestamp=progress["timestamp"],
        duration_seconds=progress.get("batchDuration", 0) / MILLISECONDS_PER_SECOND,
        sources=tuple(
            source
            for number, each in enumerate(progress["sources"])
            if (source := _source(number, each)) is not None
        ),
        rows=sum(each["numInputRows"] for each in progress["sources"]),
        phases_ms=progress.get("durationMs") or {},
        state=tuple(_state(each) for each in progress.get("stateOperators") or ()),
        watermark=event_time.get("watermark"),
    )


def _state(operator: Mapping[str, Any]) -> StateProgress:
    return StateProgress(
        operator.get("operatorName") or "state",
        operator.get("numRowsTotal", 0),
        operator.get("numRowsUpdated", 0),
        operator.get("memoryUsedBytes", 0),
        operator.get("numRowsDroppedByWatermark", 0),
    )


def _source(number: int, source: Mapping[str, Any]) -> SourceProgress | None:
    ended = _document(source.get("endOffset"))
    if ended is None:
        return None
    started = _offsets(source.get("startOffset")) | starts_of(ended)
    latest = _offsets(source.get("latestOffset"))
    return SourceProgress(
        number,
        source["numInputRows"],
        {
            # A partition that was found later began at its earliest record, which is not told.
            partition: PartitionProgress(
                offset, latest.get(partition), max(offset - started.get(partition, offset), 0)
            )
            for partition, offset in from_document(ended).items()
        },
    )


def _offsets(text: object) -> Offsets:
    document = _document(text)
    return {} if document is None else from_document(document)


def _document(offset: object) -> dict[str, Any] | None:
    """Offsets of Kafka. Spark gives JSON as text or as what it says, depending on where it comes from."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if not isinstance(offset, dict) or not offset:
        return None
    document = cast(dict[str, Any], offset)
    return document if all(isinstance(entries, dict) for entries in document.values()) else None
