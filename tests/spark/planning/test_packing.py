"""How small ranges are put into few tasks."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning.packing import TaskLimits, pack_ranges, task_count
from barnabas.spark.planning.ranges import OffsetRange
from barnabas.types import TopicPartition

sizes = st.lists(st.integers(1, 10**6), min_size=1, max_size=60)


def ranges_of(counts: list[int], start: int = 7) -> list[OffsetRange]:
    return [
        OffsetRange(TopicPartition("a", number), start, start + count) for number, count in enumerate(counts)
    ]


def size_of(task: tuple[OffsetRange, ...]) -> int:
    return sum(each.end - each.start for each in task)


@given(sizes, st.integers(1, 70), st.integers(1, 4), st.none() | st.integers(1, 10**6))
def test_each_range_is_in_one_task(
    counts: list[int], max_tasks: int, nodes: int, max_records: int | None
) -> None:
    ranges = ranges_of(counts)
    leaders = {each.partition: each.partition.partition % nodes for each in ranges}
    tasks = pack_ranges(ranges, max_tasks, leaders, TaskLimits(max_records))
    assert Counter(each for task in tasks for each in task) == Counter(ranges)
    assert tasks == sorted(tasks, key=lambda task: task[0].partition)
    if len(ranges) <= max_tasks:
        assert all(len(task) == 1 for task in tasks)
    for task in tasks:
        assert list(task) == sorted(task, key=lambda each: each.partition)
        assert len({leaders[each.partition] for each in task}) == 1
        if max_records is not None and len(task) > 1:
            assert size_of(task) <= max_records


@given(sizes, st.integers(1, 70), st.integers(1, 4))
def test_there_are_no_more_tasks_than_asked_for_and_one_for_each_leader(
    counts: list[int], max_tasks: int, nodes: int
) -> None:
    ranges = ranges_of(counts)
    leaders = {each.partition: each.partition.partition % nodes for each in ranges}
    assert len(pack_ranges(ranges, max_tasks, leaders)) <= max_tasks + len(set(leaders.values()))


@given(sizes, st.integers(1, 70))
def test_no_task_is_much_larger_than_the_mean_or_the_largest_range(counts: list[int], max_tasks: int) -> None:
    ranges = ranges_of(counts)
    tasks = pack_ranges(ranges, max_tasks, {})
    best = max(max(counts), -(-sum(counts) // max_tasks))
    assert max(map(size_of, tasks)) <= 2 * best


def test_ranges_as_large_as_a_task_stay_alone_and_small_ones_share_the_others() -> None:
    tasks = pack_ranges(ranges_of([1000, 1, 1, 1, 1, 900]), 4, {})
    assert [[each.partition.partition for each in task] for task in tasks] == [[0], [1, 3], [2, 4], [5]]


def test_what_starts_and_ends_a_range_is_kept() -> None:
    whole = OffsetRange(TopicPartition("a", 0), 3, 5, starts_at_earliest=True, leader_epoch=4)
    other = OffsetRange(TopicPartition("a", 1), 0, 1)
    assert pack_ranges([whole, other], 1, {}) == [(whole, other)]


def test_parts_of_a_range_that_was_cut_stay_alone() -> None:
    parts = [OffsetRange(TopicPartition("a", 0), start, start + 1) for start in range(5)]
    others = [OffsetRange(TopicPartition("b", number), 0, 1) for number in range(3)]
    tasks = pack_ranges([*parts, *others], 6, {})
    assert tasks == [*((part,) for part in parts), tuple(others)]


@given(sizes, st.integers(1, 70), st.integers(1, 10**7), st.data())
def test_no_task_is_put_together_beyond_the_bytes_asked_for(
    counts: list[int], max_tasks: int, max_bytes: int, data: st.DataObject
) -> None:
    ranges = ranges_of(counts)
    sizes_of = {each.partition: data.draw(st.floats(1, 100)) for each in ranges}
    tasks = pack_ranges(ranges, max_tasks, {}, TaskLimits(max_bytes=max_bytes, bytes_per_offset=sizes_of))
    for task in tasks:
        if len(task) > 1 and len(ranges) > max_tasks:
            assert sum((each.end - each.start) * sizes_of[each.partition] for each in task) <= max_bytes


def test_ten_thousand_nearly_empty_partitions_are_a_hundred_tasks_unless_told() -> None:
    ranges = [
        OffsetRange(TopicPartition(f"t{number // 2}", number % 2), 0, 1 + number % 3)
        for number in range(10_000)
    ]
    leaders = {each.partition: hash(each.partition) % 3 for each in ranges}
    assert 90 <= len(pack_ranges(ranges, task_count(ranges, None), leaders)) <= 100
    assert 290 <= len(pack_ranges(ranges, task_count(ranges, 300), leaders)) <= 300


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=2_000), st.none() | st.integers(1, 1_000))
def test_there_are_more_tasks_the_more_records_there_are_but_not_beyond_what_is_asked_for(
    counts: list[int], min_partitions: int | None
) -> None:
    found = task_count(ranges_of(counts), min_partitions)
    assert max(100, min_partitions or 0) <= found <= max(500, min_partitions or 0)
    if 100 < found < 500 and found != min_partitions:
        assert found * 1000 <= sum(counts) < (found + 1) * 1000


def test_a_task_reads_partitions_of_few_topics() -> None:
    ranges = [
        OffsetRange(TopicPartition(f"t{topic:02}", number), 0, 10)
        for topic in range(50)
        for number in range(12)
    ]
    leaders = {each.partition: each.partition.partition % 3 for each in ranges}
    tasks = pack_ranges(ranges, 30, leaders)
    # Each leader has 4 partitions of each topic, and a task 20 partitions.
    assert {len(task) for task in tasks} == {20}
    assert max(len({each.partition.topic for each in task}) for task in tasks) == 5


@given(sizes, st.integers(1, 70), st.integers(1, 10))
def test_no_task_is_much_larger_for_its_partitions_being_of_few_topics(
    counts: list[int], max_tasks: int, topics: int
) -> None:
    ranges = [
        OffsetRange(TopicPartition(f"t{number % topics}", number), 0, count)
        for number, count in enumerate(counts)
    ]
    tasks = pack_ranges(ranges, max_tasks, {})
    best = max(max(counts), -(-sum(counts) // max_tasks))
    assert max(map(size_of, tasks)) <= 2 * best
