"""Predicates of a query as bounds on what is fetched: rows outside of them never leave the broker.

Predicates on topic, partition and offset become bounds exactly, so Spark need not look at them again. One on
timestamp gives a lower bound alone, and stays with Spark: the times of records need not ascend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from barnabas.spark.planning.ranges import FindOffsets, OffsetRange
from barnabas.types import TopicPartition

NEVER_NULL = frozenset({"topic", "partition", "offset", "timestamp", "timestampType"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(slots=True)
class Bounds:
    """What has to be fetched. `offsets` are [from, to); `from_ms` is in milliseconds since 1970."""

    topics: set[str] | None = None
    other_topics: set[str] = field(default_factory=set[str])
    partitions: set[int] | None = None
    other_partitions: set[int] = field(default_factory=set[int])
    lowest_partition: int = 0
    highest_partition: int = 2**31 - 1
    first_offset: int = 0
    end_offset: int = 2**63 - 1
    from_ms: int | None = None

    def push(self, filters: Iterable[Filter]) -> list[Filter]:
        """Takes what it can; gives the filters that Spark still has to look at."""
        return [each for each in filters if not self._take(each)]

    def holds(self, partition: TopicPartition) -> bool:
        topic, number = partition
        return (
            (self.topics is None or topic in self.topics)
            and topic not in self.other_topics
            and (self.partitions is None or number in self.partitions)
            and number not in self.other_partitions
            and self.lowest_partition <= number <= self.highest_partition
        )

    def narrow(self, ranges: Iterable[OffsetRange], find_offsets: FindOffsets) -> list[OffsetRange]:
        """The parts of ranges that lie within."""
        held = [each for each in ranges if self.holds(each.partition)]
        starts: Mapping[TopicPartition, int | None] = {}
        if self.from_ms is not None and held:
            starts = find_offsets({each.partition: self.from_ms for each in held})
        narrowed: list[OffsetRange] = []
        for each in held:
            # None: no record is that young, so there is nothing to read.
            from_time = starts.get(each.partition, each.start)
            start = each.end if from_time is None else max(each.start, self.first_offset, from_time)
            end = min(each.end, self.end_offset)
            if start < end:
                at_earliest = each.starts_at_earliest and start == each.start
                narrowed.append(replace(each, start=start, end=end, starts_at_earliest=at_earliest))
        return narrowed

    def _take(self, given: Filter) -> bool:
        """Whether Spark need not look at it any more."""
        if isinstance(given, IsNotNull):
            return given.attribute in {(name,) for name in NEVER_NULL}
        take = _TAKERS.get(_column(given))
        return take is not None and take(self, given)

    def _take_topic(self, given: Filter) -> bool:
        chosen = _chosen(given)
        if chosen is not None:
            self.topics = chosen if self.topics is None else self.topics & chosen
            return True
        excluded = _chosen(given.child) if isinstance(given, Not) else None
        if excluded is not None:
            self.other_topics |= excluded
        return excluded is not None

    def _take_partition(self, given: Filter) -> bool:
        chosen = _chosen(given)
        if chosen is not None:
            self.partitions = chosen if self.partitions is None else self.partitions & chosen
            return True
        excluded = _chosen(given.child) if isinstance(given, Not) else None
        if excluded is not None:
            self.other_partitions |= excluded
            return True
        span = _span(given)
        if span is None:
            return False
        self.lowest_partition = max(self.lowest_partition, span[0])
        self.highest_partition = min(self.highest_partition, span[1] - 1)
        return True

    def _take_offset(self, given: Filter) -> bool:
        span = _span(given)
        if span is None:
            chosen = _chosen(given)
            if chosen is None:
                return False
            # What lies between is fetched too, and left to Spark.
            span = (min(chosen, default=0), max(chosen, default=-1) + 1)
        self.first_offset = max(self.first_offset, span[0])
        self.end_offset = min(self.end_offset, span[1])
        return _span(given) is not None

    def _take_timestamp(self, given: Filter) -> bool:
        if isinstance(given, (EqualTo, GreaterThan, GreaterThanOrEqual)) and isinstance(
            given.value, datetime
        ):
            # Kafka's times are whole milliseconds; one below is no loss, as Spark looks again.
            moment = given.value if given.value.tzinfo is not None else given.value.replace(tzinfo=UTC)
            from_ms = max(0, (moment - _EPOCH) // _MILLISECOND)
            self.from_ms = from_ms if self.from_ms is None else max(self.from_ms, from_ms)
        return False


_TAKERS: dict[str | None, Callable[[Bounds, Any], bool]] = {
    "topic": Bounds._take_topic,  # pyright: ignore[reportPrivateUsage]
    "partition": Bounds._take_partition,  # pyright: ignore[reportPrivateUsage]
    "offset": Bounds._take_offset,  # pyright: ignore[reportPrivateUsage]
    "timestamp": Bounds._take_timestamp,  # pyright: ignore[reportPrivateUsage]
}


def _column(given: Filter) -> str | None:
    inner = given.child if isinstance(given, Not) else given
    attribute: tuple[str, ...] = getattr(inner, "attribute", ())
    return attribute[0] if len(attribute) == 1 else None


def _chosen(given: Filter) -> set[Any] | None:
    """The values that a column may have."""
    if isinstance(given, EqualTo) and given.value is not None:
        return {given.value}
    if isinstance(given, In) and None not in given.value:
        return set(given.value)
    return None


def _span(given: Filter) -> tuple[int, int] | None:
    """The numbers [from, to) that a column may have."""
    lowest, end = 0, 2**63 - 1
    if isinstance(given, EqualTo) and isinstance(given.value, int):
        return given.value, given.value + 1
    if isinstance(given, GreaterThanOrEqual) and isinstance(given.value, int):
        return given.value, end
    if isinstance(given, GreaterThan) and isinstance(given.value, int):
        return given.value + 1, end
    if isinstance(given, LessThan) and isinstance(given.value, int):
        return lowest, given.value
    if isinstance(given, LessThanOrEqual) and isinstance(given.value, int):
        return lowest, given.value + 1
    return None
