"""Reading many small ranges in few tasks: `maxPartitions`.

Spark spends some ten milliseconds on a task, whatever it reads, and 10,000 partitions with a few new records
each would be 10,000 of them. Pure arithmetic: this module must not know Spark or a broker.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas.spark.planning.limits import BytesPerOffset
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.types import TopicPartition

TaskRanges = tuple[OffsetRange, ...]
"""What one task reads, by partition."""


@dataclass(frozen=True)
class TaskLimits:
    """What no task is put together beyond: `maxRecordsPerPartition`, `maxBytesPerPartition`. Bytes are known
    by the mean size of records."""

    max_records: int | None = None
    max_bytes: int | None = None
    bytes_per_offset: BytesPerOffset | None = None

    def allow(self, task: Sequence[OffsetRange], more: OffsetRange) -> bool:
        together = [*task, more]
        if self.max_records is not None and _size(together) > self.max_records:
            return False
        if self.max_bytes is None or self.bytes_per_offset is None:
            return True
        sizes = self.bytes_per_offset
        return sum((each.end - each.start) * sizes[each.partition] for each in together) <= self.max_bytes


NO_LIMITS = TaskLimits()


def pack_ranges(
    ranges: Sequence[OffsetRange],
    max_tasks: int,
    leaders: Mapping[TopicPartition, int],
    limits: TaskLimits = NO_LIMITS,
) -> list[TaskRanges]:
    """Each range in one task. With more ranges than `max_tasks` the small ones share tasks, those of one
    leader with each other: then there are no more than `max_tasks`, but that each leader has a task, and that
    `limits` may need more.

    A range that is at least as large as the mean task keeps one to itself, and so do the parts of one that
    was cut. The others are spread so that their tasks are about equal.
    """
    if len(ranges) <= max_tasks:
        return [(each,) for each in ranges]
    times = Counter(each.partition for each in ranges)
    cut = [each for each in ranges if times[each.partition] > 1]
    whole = [each for each in ranges if times[each.partition] == 1]
    large, small = _large_and_small(whole, max(1, max_tasks - len(cut)))
    by_leader: dict[int, list[OffsetRange]] = {}
    for each in small:
        by_leader.setdefault(leaders.get(each.partition, -1), []).append(each)
    tasks_left = max(1, max_tasks - len(cut) - len(large))
    total = _size(small)
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
    tasks: list[list[OffsetRange]] = [[] for _ in range(min(count, len(ranges)))]
    least = [(0, number) for number in range(len(tasks))]
    for each in sorted(ranges, key=lambda each: (each.start - each.end, each.partition)):
        size = each.end - each.start
        total, number = least[0]
        if not tasks[number] or limits.allow(tasks[number], each):
            tasks[number].append(each)
            heapq.heapreplace(least, (total + size, number))
        else:
            tasks.append([each])
            heapq.heappush(least, (size, len(tasks) - 1))
    return [tuple(sorted(task, key=lambda each: each.partition)) for task in tasks]


def _size(ranges: Sequence[OffsetRange]) -> int:
    return sum(each.end - each.start for each in ranges)
