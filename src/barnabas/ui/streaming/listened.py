"""A streaming query as a `PipelineListener` tells it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from barnabas.errors import BarnabasError
from barnabas.http.fetching import fetch
from barnabas.http.messages import HttpRequest, NoAnswerError
from barnabas.types import TopicPartition
from barnabas.values import frozen

STATUS_PATH = "/status"
TIMEOUT_SECONDS = 5.0
LONGEST_STATUS_BYTES = 64 << 20
WHOLE_BATCH = "triggerExecution"
"""Of the phases that Spark names, the one that holds all others."""

Told = Mapping[str, Any]


class ListenerError(BarnabasError):
    """A listener does not answer, or something else answers there."""


@frozen
class SeenPartition:
    """Where a query is in a partition; `lag` is against the brokers' end."""

    partition: TopicPartition
    position: int
    rows_per_second: float | None
    lag: int | None


@frozen
class SeenBatch:
    """`began_at` is since 1970. `phases`: in seconds, by Spark's own names, the longest first."""

    batch_id: int
    began_at: float | None
    seconds: float
    rows: int
    phases: tuple[tuple[str, float], ...] = ()
    state_rows: int = 0
    state_bytes: int = 0

    @property
    def rows_per_second(self) -> float | None:
        return self.rows / self.seconds if self.seconds > 0 else None


@frozen
class SeenState:
    """What a stateful operator keeps. `dropped`: rows of the last batch that were too late."""

    operator: str
    rows: int
    updated: int
    memory_bytes: int
    dropped: int


@frozen
class SeenQuery:
    """A streaming query, with all partitions of all its sources. What is None or empty, a listener of an
    earlier release may not have told."""

    query_id: str
    name: str | None
    state: str
    error: str | None
    batch_id: int | None
    batch_began: str | None
    batch_seconds: float | None
    restarts: int | None
    partitions: tuple[SeenPartition, ...]
    seconds_since_event: float | None = None
    """Since Spark told something of the query."""
    watermark: str | None = None
    state_operators: tuple[SeenState, ...] = ()
    batches: tuple[SeenBatch, ...] = field(default=())
    """The oldest first."""

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def title(self) -> str:
        return self.name or self.query_id

    @property
    def topics(self) -> list[str]:
        return sorted({each.partition.topic for each in self.partitions})

    @property
    def rows_per_second(self) -> float | None:
        known = [p.rows_per_second for p in self.partitions if p.rows_per_second is not None]
        return sum(known) if known else None

    @property
    def lag(self) -> int | None:
        known = [p.lag for p in self.partitions if p.lag is not None]
        return sum(known) if known else None

    @property
    def usual_seconds(self) -> float | None:
        """How long a batch takes; None while there were too few."""
        return median(each.seconds for each in self.batches) if len(self.batches) >= 3 else None

    @property
    def usual_interval(self) -> float | None:
        """From one batch to the next, which a trigger may make longer than batches take."""
        usual = self.usual_seconds
        begins = [each.began_at for each in self.batches if each.began_at is not None]
        if usual is None or len(begins) < 3:
            return usual
        return max(usual, median(later - one for one, later in pairwise(begins)))


def told_at(url: str) -> list[dict[str, Any]]:
    """What the listener at this address serves. Waits for it. Raises: ListenerError."""
    base = url.rstrip("/").removesuffix(STATUS_PATH).removesuffix("/metrics")
    try:
        answer = fetch(
            HttpRequest(base + STATUS_PATH, {}),
            timeout_seconds=TIMEOUT_SECONDS,
            longest_answer_bytes=LONGEST_STATUS_BYTES,
        )
        return json.loads(answer.body)["queries"]
    except NoAnswerError as error:
        raise ListenerError(f"{base} does not answer, the driver may be down: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise ListenerError(f"{base} is not a PipelineListener") from None


def partitions_told(told: Iterable[Told]) -> set[TopicPartition]:
    return {
        TopicPartition(each["topic"], each["partition"])
        for query in told
        for source in query["sources"]
        for each in source["partitions"]
    }


def seen_query(told: Told, ends: Mapping[TopicPartition, int]) -> SeenQuery:
    is_running = bool(told["is_running"])
    partitions: list[SeenPartition] = []
    for source in told["sources"]:
        for each in source["partitions"]:
            partition = TopicPartition(each["topic"], each["partition"])
            end = ends.get(partition)
            lag = None if end is None else max(end - each["position"], 0)
            rate = each["rows_per_second"] if is_running else None
            partitions.append(SeenPartition(partition, each["position"], rate, lag))
    return SeenQuery(
        told["id"],
        told["name"],
        "running" if is_running else "failed" if told["error"] else "ended",
        told["error"],
        told["batch_id"],
        told["batch_began"],
        told.get("batch_seconds"),
        told.get("restarts"),
        tuple(partitions),
        told.get("seconds_since_event"),
        told.get("watermark"),
        tuple(
            SeenState(each["operator"], each["rows"], each["updated"], each["memory_bytes"], each["dropped"])
            for each in told.get("state", ())
        ),
        _batches(told.get("batches", ())),
    )


def _batches(told: Sequence[Told]) -> tuple[SeenBatch, ...]:
    return tuple(
        SeenBatch(
            each["batch_id"],
            _seconds_since_1970(each["began"]),
            each["seconds"],
            each["rows"],
            _phases(each["phases_ms"]),
            each["state_rows"],
            each["state_bytes"],
        )
        for each in told
    )


def _phases(told: Mapping[str, int]) -> tuple[tuple[str, float], ...]:
    phases = [(name, ms / 1000) for name, ms in told.items() if name != WHOLE_BATCH and ms]
    return tuple(sorted(phases, key=lambda phase: (-phase[1], phase[0])))


def _seconds_since_1970(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
