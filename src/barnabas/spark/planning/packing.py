"""Reading many small ranges in few tasks: `maxPartitions`.

Spark spends some ten milliseconds on a task, whatever it reads, and 10,000 partitions with a few new records
each would be 10,000 of them. Pure arithmetic: this module must not know Spark or a broker.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from barnabas.spark.planning.limits import BytesPerOffset
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.types import TopicPartition

TaskRanges = tuple[OffsetRange, ...]
"""What one task reads, by partition."""

FEW_TASKS = 100
MANY_TASKS = 500
RECORDS_WORTH_A_TASK = 1000
BUNDLES_A_TASK = 4


@dataclass(frozen=True)
class TaskLimits:
    """What no task is put together beyond: `maxRecordsPerPartition`, `maxBytesPerPartition`. Bytes are known
    by the mean size of records."""

    max_records: int | None = None
    max_bytes: int | None = None
    bytes_per_offset: BytesPerOffset | None = None

    def bytes_of(self, offset_range: OffsetRange) -> float:
        """0.0 where no limit is in bytes."""
        if self.max_bytes is None or self.bytes_per_offset is None:
            return 0.0
        return (offset_range.end - offset_range.start) * self.bytes_per_offset[offset_range.partition]

    def with_most_records(self, most: int) -> TaskLimits:
        return replace(self, max_records=most if self.max_records is None else min(most, self.max_records))

    def allow(self, offsets: int, size_bytes: float) -> bool:
        if self.max_records is not None and offsets > self.max_records:
            return False
        return self.max_bytes is None or size_bytes <= self.max_bytes


NO_LIMITS = TaskLimits()


@dataclass(slots=True)
class _Together:
    """Ranges that one task reads."""

    offsets: int = 0
    size_bytes: float = 0.0
    ranges: list[OffsetRange] = field(default_factory=list[OffsetRange])

    def takes(self, more: _Together, limits: TaskLimits) -> bool:
        """Whether it did. One that is empty takes anything."""
        offsets, size_bytes = self.offsets + more.offsets, self.size_bytes + more.size_bytes
        if self.ranges and not limits.allow(offsets, size_bytes):
            return False
        self.offsets, self.size_bytes = offsets, size_bytes
        self.ranges += more.ranges
        return True


def task_count(ranges: Sequence[OffsetRange], min_partitions: int | None) -> int:
    """How many tasks ranges are put together into where no option says it: one for each 1000 records, as
    Spark's own work for a task is worth no less, but 100 at least (or `min_partitions`, if that is more), so
    that large clusters have something to do, and 500 at most (or `min_partitions`)."""
    wanted = min(MANY_TASKS, _size(ranges) // RECORDS_WORTH_A_TASK)
    return max(FEW_TASKS, wanted, min_partitions or 0)


def pack_ranges(
    ranges: Sequence[OffsetRange],
    max_tasks: int,
    leaders: Mapping[TopicPartition, int],
    limits: TaskLimits = NO_LIMITS,
) -> list[TaskRanges]:
    """Each range in one task. With more ranges than `max_tasks` the small ones share tasks, those of one
    leader with each other and those of one topic first: then there are no more than `max_tasks`, but that
    each leader has a task, and that `limits` and the parts of ranges that were cut may need more: no task is
    put together that is more than two of those.

    A range that is at least as large as the mean task keeps one to itself, and so do the parts of one that
    was cut. The others are spread so that their tasks are about equal.
    """
    if len(ranges) <= max_tasks:
        return [(each,) for each in ranges]
    times = Counter(each.partition for each in ranges)
    cut = [each for each in ranges if times[each.partition] > 1]
    whole = [each for each in ranges if times[each.partition] == 1]
    large, small = _large_and_small(whole, max(1, max_tasks - len(cut)))
    if cut:
        # Where their parts have used up all tasks, what is left must not become a few great ones.
        share = max(_size(ranges) / max_tasks, *(each.end - each.start for each in cut))
        limits = limits.with_most_records(2 * math.ceil(share))
    by_leader: dict[int, list[OffsetRange]] = {}
    for each in small:
        by_leader.setdefault(leaders.get(each.partition, -1), []).append(each)
    total = _size(small)
    tasks_left = max(1, max_tasks - len(cut) - len(large))
    tasks: list[TaskRanges] = [(each,) for each in (*cut, *large)]
    for _, group in sorted(by_leader.items()):
        tasks += _spread(group, max(1, tasks_left * _size(group) // total), limits)
    return sorted(tasks, key=lambda task: (task[0].partition, task[0].start))


def _large_and_small(
    ranges: Sequence[OffsetRange], max_tasks: int
) -> tuple[list[OffsetRange], list[OffsetRange]]:
    """Taking out a large one lowers the mean of what is left, so that others count as large."""
    by_size = sorted(ranges, key=lambda each: each.start - each.end)
    left, tasks, count = _size(ranges), max_tasks, 0
    for each in by_size:
        size = each.end - each.start
        if tasks <= 1 or size * tasks < left:
            break
        left, tasks, count = left - size, tasks - 1, count + 1
    return by_size[:count], by_size[count:]


def _spread(ranges: Sequence[OffsetRange], count: int, limits: TaskLimits) -> list[TaskRanges]:
    """The largest first, each to the task that has least: no task is more than a third above the best that
    could be had (Graham, 1969)."""
    bundles = sorted(
        _bundles(ranges, count, limits), key=lambda each: (-each.offsets, each.ranges[0].partition)
    )
    tasks = [_Together() for _ in range(min(count, len(bundles)))]
    least = [(0, number) for number in range(len(tasks))]
    for bundle in bundles:
        number = least[0][1]
        if tasks[number].takes(bundle, limits):
            heapq.heapreplace(least, (tasks[number].offsets, number))
        else:
            tasks.append(bundle)
            heapq.heappush(least, (bundle.offsets, len(tasks) - 1))
    return [tuple(sorted(task.ranges, key=lambda each: each.partition)) for task in tasks]


def _bundles(ranges: Iterable[OffsetRange], count: int, limits: TaskLimits) -> Iterator[_Together]:
    """Ranges of one topic, as a quarter of a task at most: a task's worker asks for metadata by topic, and
    is told of all partitions that a topic has."""
    ordered = sorted(ranges, key=lambda each: each.partition)
    most = _size(ordered) / (count * BUNDLES_A_TASK)
    bundle = _Together()
    for each in ordered:
        alone = _Together(each.end - each.start, limits.bytes_of(each), [each])
        is_same_topic = bool(bundle.ranges) and bundle.ranges[0].partition.topic == each.partition.topic
        if is_same_topic and bundle.offsets + alone.offsets <= most and bundle.takes(alone, limits):
            continue
        if bundle.ranges:
            yield bundle
        bundle = alone
    if bundle.ranges:
        yield bundle


def _size(ranges: Sequence[OffsetRange]) -> int:
    return sum(each.end - each.start for each in ranges)
