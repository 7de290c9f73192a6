"""Which offsets a batch reads from each partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.ranges import (
    Available,
    OffsetRange,
    batch_ranges,
    check_initial_offsets,
    limit_offsets,
    resolve,
    stream_ranges,
)
from barnabas.types import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
HELD = {A0: Available(5, 100), A1: Available(0, 0), B0: Available(0, 7)}

partitions = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 5))
spans = st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)).map(lambda pair: (pair[0], sum(pair)))
span_maps = st.dictionaries(partitions, spans, min_size=1, max_size=12)


class Losses(list[str]):
    """Losses that were reported."""

    def __call__(self, message: str) -> None:
        self.append(message)


@pytest.fixture
def lost() -> Losses:
    return Losses()


def test_a_batch_reads_all_that_is_there_by_default(lost: Losses) -> None:
    assert batch_ranges("earliest", "latest", HELD, lost) == [
        OffsetRange(A0, 5, 100, starts_at_earliest=True),
        OffsetRange(B0, 0, 7, starts_at_earliest=True),
    ]
    assert lost == []


def test_offsets_by_partition_are_taken_as_they_are_and_symbols_are_looked_up(lost: Losses) -> None:
    ranges = batch_ranges({A0: 20, A1: -2, B0: -2}, {A0: 30, A1: -1, B0: 3}, HELD, lost)
    assert ranges == [OffsetRange(A0, 20, 30), OffsetRange(B0, 0, 3, starts_at_earliest=True)]
    assert lost == []


@given(span_maps)
def test_ranges_of_a_batch_cover_everything_exactly_once(
    spans: dict[TopicPartition, tuple[int, int]],
) -> None:
    lost = Losses()
    available = {partition: Available(*span) for partition, span in spans.items()}
    ranges = batch_ranges("earliest", "latest", available, lost)
    assert {(each.partition, each.start, each.end) for each in ranges} == {
        (partition, *span) for partition, span in spans.items() if span[0] < span[1]
    }
    assert lost == []


def test_partitions_left_out_are_named(lost: Losses) -> None:
    with pytest.raises(InvalidOptionError, match=r"startingOffsets must name every partition.* a-1, b-0\."):
        batch_ranges({A0: 20}, "latest", HELD, lost)


def test_partitions_that_are_not_there_are_named(lost: Losses) -> None:
    with pytest.raises(InvalidOptionError, match=r"endingOffsets names z-3, which"):
        batch_ranges("earliest", {A0: 1, A1: 1, B0: 1, TopicPartition("z", 3): 1}, HELD, lost)


def test_a_start_after_its_end_is_refused(lost: Losses) -> None:
    with pytest.raises(InvalidOptionError, match=r"a-0: startingOffsets says 30, .* after endingOffsets, 20"):
        batch_ranges({A0: 30, A1: -2, B0: -2}, {A0: 20, A1: -1, B0: -1}, HELD, lost)


@pytest.mark.parametrize(
    ("start", "end", "told", "read"),
    [
        (3, 50, "a-0: offsets [3, 50) were asked for, [5, 100) are available", (5, 50)),
        (50, 101, "a-0: offsets [50, 101) were asked for, [5, 100) are available", (50, 100)),
        (1, 3, "a-0: offsets [1, 3) were asked for, [5, 100) are available", None),
        (200, 300, "a-0: offsets [200, 300) were asked for, [5, 100) are available", None),
    ],
)
def test_offsets_that_are_gone_are_reported_with_what_is_there(
    start: int, end: int, told: str, read: tuple[int, int] | None, lost: Losses
) -> None:
    ranges = batch_ranges({A0: start}, {A0: end}, {A0: HELD[A0]}, lost)
    assert ranges == ([] if read is None else [OffsetRange(A0, *read)])
    assert lost == [told]


def test_an_end_below_what_is_left_is_reported_even_from_earliest_on(lost: Losses) -> None:
    assert batch_ranges("earliest", {A0: 3}, {A0: HELD[A0]}, lost) == []
    assert lost == ["a-0: offsets [5, 3) were asked for, [5, 100) are available"]


def test_symbols_are_resolved_for_a_stream(lost: Losses) -> None:
    assert resolve("latest", HELD, "startingOffsets") == {A0: 100, A1: 0, B0: 7}
    assert resolve({A0: -1, A1: -2, B0: 3}, HELD, "startingOffsets") == {A0: 100, A1: 0, B0: 3}


def test_initial_offsets_outside_of_what_is_there_are_reported_and_moved_inside(lost: Losses) -> None:
    assert check_initial_offsets({A0: 2, B0: 9}, HELD, lost) == {A0: 5, B0: 7}
    assert lost == [
        "a-0: startingOffsets says 2, offsets [5, 100) are available",
        "b-0: startingOffsets says 9, offsets [0, 7) are available",
    ]


def test_a_micro_batch_reads_from_where_the_last_one_ended(lost: Losses) -> None:
    assert stream_ranges({A0: 5, B0: 7}, {A0: 9, B0: 7}, {}, lost) == [OffsetRange(A0, 5, 9)]
    assert lost == []


def test_a_partition_found_later_is_read_from_its_beginning(lost: Losses) -> None:
    assert stream_ranges({A0: 5}, {A0: 5, A1: 4}, {A1: 0}, lost) == [OffsetRange(A1, 0, 4)]
    assert lost == []


def test_a_partition_found_after_its_beginning_expired_is_reported(lost: Losses) -> None:
    assert stream_ranges({}, {A1: 4}, {A1: 2}, lost) == [OffsetRange(A1, 2, 4)]
    assert lost == ["a-1: found after the query began, starts at offset 2 instead of 0"]


def test_a_partition_that_vanished_is_reported(lost: Losses) -> None:
    assert stream_ranges({A0: 5, B0: 7}, {A0: 6}, {}, lost) == [OffsetRange(A0, 5, 6)]
    assert lost == ["b-0: not there any more; the query stood at 7"]


def test_a_partition_that_went_back_is_reported_and_not_read(lost: Losses) -> None:
    assert stream_ranges({A0: 5}, {A0: 3}, {}, lost) == []
    assert "the query stood at offset 5, the partition now ends at 3" in lost[0]


@given(span_maps, st.integers(1, 10**9))
def test_limited_batches_cover_everything_once_and_end(
    spans: dict[TopicPartition, tuple[int, int]], limit: int
) -> None:
    limit = max(limit, sum(end - start for start, end in spans.values()) // 20)
    position = {partition: start for partition, (start, _) in spans.items()}
    latest = {partition: end for partition, (_, end) in spans.items()}
    batches = 0
    while position != latest:
        end = limit_offsets(position, latest, limit)
        taken = [end[partition] - position[partition] for partition in latest]
        with_data = sum(position[partition] < latest[partition] for partition in latest)
        assert all(count >= 0 for count in taken)
        assert 0 < sum(taken) <= max(limit, with_data) + with_data
        assert all(end[partition] <= latest[partition] for partition in latest)
        position = end
        batches += 1
    assert batches <= 20 + 20 + len(spans)


def test_a_limit_is_divided_by_what_each_partition_has() -> None:
    assert limit_offsets({A0: 0, A1: 100, B0: 7}, {A0: 300, A1: 200, B0: 7}, 40) == {A0: 30, A1: 110, B0: 7}


def test_a_small_partition_does_not_starve_beside_a_large_one() -> None:
    assert limit_offsets({A0: 0, A1: 0}, {A0: 1_000_000, A1: 1}, 10) == {A0: 9, A1: 1}


def test_offsets_beyond_the_precision_of_floats_are_divided_exactly() -> None:
    start = 2**60 + 1
    assert limit_offsets({A0: start, A1: start}, {A0: start + 10, A1: start + 10}, 10) == {
        A0: start + 5,
        A1: start + 5,
    }


def test_a_partition_that_went_back_is_not_hidden_by_a_limit() -> None:
    assert limit_offsets({A0: 50, A1: 0}, {A0: 10, A1: 100}, 10) == {A0: 10, A1: 10}
