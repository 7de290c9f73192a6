"""How long cores are busy with a batch of which some partitions hold a hundred times what others do.

Spark gives each task, in order, to the first core that is free.
"""

from __future__ import annotations

import heapq
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning.packing import TaskLimits, pack_ranges, task_count
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.planning.splitting import split_ranges
from barnabas.types import TopicPartition

SKEW = 100
TASKS_A_CORE = 10
BYTES_A_RECORD = 250.0


def skewed(small: int, great: int, records: int) -> list[OffsetRange]:
    sizes = [records] * small + [records * SKEW] * great
    return [OffsetRange(TopicPartition(f"t{n // 8}", n % 8), 0, size) for n, size in enumerate(sizes)]


def planned(ranges: list[OffsetRange], option: str, wanted: int) -> list[int]:
    """The sizes of tasks, with one option set so that there are about so many."""
    total = sum(each.end for each in ranges)
    sizes = {each.partition: BYTES_A_RECORD for each in ranges}
    fewest = wanted if option == "minPartitions" else None
    records = max(1, total // wanted) if option == "maxRecordsPerPartition" else None
    most_bytes = int(max(1, total // wanted) * BYTES_A_RECORD) if option == "maxBytesPerPartition" else None
    parts = split_ranges(ranges, fewest, records, most_bytes, sizes)
    limits = TaskLimits(records, most_bytes, sizes)
    leaders = {each.partition: each.partition.partition % 3 for each in ranges}
    tasks = pack_ranges(parts, task_count(parts, fewest), leaders, limits)
    return [sum(each.end - each.start for each in task) for task in tasks]


def busy_until(tasks: list[int], cores: int) -> int:
    free_at = [0] * cores
    for size in tasks:
        heapq.heapreplace(free_at, free_at[0] + size)
    return max(free_at)


@pytest.mark.parametrize("option", ["minPartitions", "maxRecordsPerPartition", "maxBytesPerPartition"])
@given(st.integers(0, 2000), st.integers(1, 5), st.integers(20, 10_000), st.integers(2, 32))
def test_cores_are_busy_to_the_end_within_a_fifth(
    option: str, small: int, great: int, records: int, cores: int
) -> None:
    ranges = skewed(small, great, records)
    tasks = planned(ranges, option, cores * TASKS_A_CORE)
    total = sum(each.end for each in ranges)
    assert sum(tasks) == total
    assert busy_until(tasks, cores) <= 1.2 * total / cores + 1


@pytest.mark.parametrize("option", ["minPartitions", "maxRecordsPerPartition", "maxBytesPerPartition"])
@given(st.integers(0, 2000), st.integers(1, 5), st.integers(20, 10_000), st.integers(20, 400))
def test_no_task_is_more_than_two_of_those_asked_for(
    option: str, small: int, great: int, records: int, wanted: int
) -> None:
    ranges = skewed(small, great, records)
    total = sum(each.end for each in ranges)
    # A record is not cut, so that parts are of the next whole number.
    assert max(planned(ranges, option, wanted)) <= 2 * math.ceil(max(1, total / wanted, total / 500)) + 1
