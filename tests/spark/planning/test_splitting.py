"""How planned ranges are cut for more tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.planning.ranges import OffsetRange
from barnabas.spark.planning.splitting import split_ranges
from barnabas.types import TopicPartition

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))

sizes = st.lists(st.tuples(st.integers(0, 2**62), st.integers(1, 10**7)), min_size=1, max_size=8)
counts = st.none() | st.integers(1, 60)


def ranges_of(spans: list[tuple[int, int]]) -> list[OffsetRange]:
    return [
        OffsetRange(TopicPartition("a", number), start, start + size)
        for number, (start, size) in enumerate(spans)
    ]


@given(sizes, counts, st.none() | st.integers(10**5, 10**8))
def test_the_parts_cover_every_range_exactly_once_in_order(
    spans: list[tuple[int, int]], min_partitions: int | None, max_records: int | None
) -> None:
    ranges = ranges_of(spans)
    parts = split_ranges(ranges, min_partitions, max_records)
    for whole in ranges:
        position = whole.start
        for part in (each for each in parts if each.partition == whole.partition):
            assert part.start == position < part.end
            position = part.end
        assert position == whole.end
    if max_records is not None:
        assert all(part.end - part.start <= max_records for part in parts)


@given(sizes, st.integers(10**6, 10**9), st.data())
def test_no_part_is_larger_than_asked_for_in_bytes(
    spans: list[tuple[int, int]], max_bytes: int, data: st.DataObject
) -> None:
    ranges = ranges_of(spans)
    bytes_per_offset = {each.partition: data.draw(st.floats(1, 1000)) for each in ranges}
    parts = split_ranges(ranges, None, None, max_bytes, bytes_per_offset)
    assert all((p.end - p.start) * bytes_per_offset[p.partition] <= max_bytes for p in parts)
    for whole in ranges:
        own = [part for part in parts if part.partition == whole.partition]
        assert [part.start for part in own] == [whole.start, *(part.end for part in own[:-1])]
        assert own[-1].end == whole.end


def test_only_the_first_part_keeps_what_is_known_of_the_log_at_the_start() -> None:
    parts = split_ranges([OffsetRange(A0, 0, 10, leader_epoch=4)], None, 5)
    assert parts == [OffsetRange(A0, 0, 5, leader_epoch=4), OffsetRange(A0, 5, 10)]


@given(sizes, st.integers(1, 60))
def test_there_are_about_as_many_parts_as_asked_for(
    spans: list[tuple[int, int]], min_partitions: int
) -> None:
    ranges = ranges_of(spans)
    wanted = min(min_partitions, sum(size for _, size in spans))
    assert len(split_ranges(ranges, min_partitions, None)) >= min(wanted, max(len(ranges), wanted // 2))


@pytest.mark.parametrize(
    ("spans", "min_partitions", "max_records", "expected"),
    [
        ([(0, 5), (0, 1)], None, None, [(0, 5), (0, 1)]),
        ([(0, 5), (0, 1)], 2, None, [(0, 5), (0, 1)]),
        ([(0, 5)], 3, None, [(0, 1), (1, 3), (3, 5)]),
        # As in Spark's connector: the small one is left whole, the large one gets the rest.
        ([(0, 1), (0, 1), (0, 20)], 6, None, [(0, 1), (0, 1), (0, 5), (5, 10), (10, 15), (15, 20)]),
        # Here that leaves the large one whole.
        ([(0, 1), (0, 20)], 2, None, [(0, 1), (0, 20)]),
        ([(0, 1), (0, 1), (0, 20)], 3, None, [(0, 1), (0, 1), (0, 6), (6, 13), (13, 20)]),
        ([(0, 10)], None, 4, [(0, 3), (3, 6), (6, 10)]),
        ([(0, 10), (5, 3)], None, 5, [(0, 5), (5, 10), (5, 8)]),
        ([(0, 2)], 10, None, [(0, 1), (1, 2)]),
    ],
)
def test_ranges_are_cut_as_the_options_say(
    spans: list[tuple[int, int]],
    min_partitions: int | None,
    max_records: int | None,
    expected: list[tuple[int, int]],
) -> None:
    parts = split_ranges(ranges_of(spans), min_partitions, max_records)
    assert [(part.start, part.end) for part in parts] == expected


def test_every_part_knows_that_its_range_began_at_earliest() -> None:
    whole = OffsetRange(A0, 0, 10, starts_at_earliest=True)
    assert all(part.starts_at_earliest for part in split_ranges([whole], 4, None))
