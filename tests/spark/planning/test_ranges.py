"""Which offsets a batch reads from each partition."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.planning.losses import DELETED, ENDS_BEFORE, FOUND_LATER, Available, Loss
from barnabas.spark.planning.ranges import (
    AtTime,
    FindOffsets,
    OffsetRange,
    batch_ranges,
    check_initial_offsets,
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

    def __call__(self, loss: Loss) -> None:
        self.append(str(loss))


@pytest.fixture
def lost() -> Losses:
    return Losses()


def no_times(timestamps: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
    raise AssertionError("nothing was asked for by time")


def records_at(*times: int) -> FindOffsets:
    """Partitions whose records, from offset 0 on, have these times."""

    def find(timestamps: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        return {
            partition: next((offset for offset, at in enumerate(times) if at >= timestamp), None)
            for partition, timestamp in timestamps.items()
        }

    return find


def test_a_batch_reads_all_that_is_there_by_default(lost: Losses) -> None:
    assert batch_ranges("earliest", "latest", HELD, lost, no_times) == [
        OffsetRange(A0, 5, 100, starts_at_earliest=True),
        OffsetRange(B0, 0, 7, starts_at_earliest=True),
    ]
    assert lost == []


def test_offsets_by_partition_are_taken_as_they_are_and_symbols_are_looked_up(lost: Losses) -> None:
    ranges = batch_ranges({A0: 20, A1: -2, B0: -2}, {A0: 30, A1: -1, B0: 3}, HELD, lost, no_times)
    assert ranges == [OffsetRange(A0, 20, 30), OffsetRange(B0, 0, 3, starts_at_earliest=True)]
    assert lost == []


@given(span_maps)
def test_ranges_of_a_batch_cover_everything_exactly_once(
    spans: dict[TopicPartition, tuple[int, int]],
) -> None:
    lost = Losses()
    available = {partition: Available(*span) for partition, span in spans.items()}
    ranges = batch_ranges("earliest", "latest", available, lost, no_times)
    assert {(each.partition, each.start, each.end) for each in ranges} == {
        (partition, *span) for partition, span in spans.items() if span[0] < span[1]
    }
    assert lost == []


def test_partitions_left_out_are_named(lost: Losses) -> None:
    with pytest.raises(InvalidOptionError, match=r"startingOffsets must name every partition.* a-1, b-0\."):
        batch_ranges({A0: 20}, "latest", HELD, lost, no_times)


def test_partitions_that_are_not_there_are_named(lost: Losses) -> None:
    with pytest.raises(InvalidOptionError, match=r"endingOffsets names z-3, which"):
        batch_ranges("earliest", {A0: 1, A1: 1, B0: 1, TopicPartition("z", 3): 1}, HELD, lost, no_times)


def test_a_start_after_its_end_is_refused(lost: Losses) -> None:
    with pytest.raises(InvalidOptionError, match=r"a-0: startingOffsets says 30, .* after endingOffsets, 20"):
        batch_ranges({A0: 30, A1: -2, B0: -2}, {A0: 20, A1: -1, B0: -1}, HELD, lost, no_times)


@pytest.mark.parametrize(
    ("start", "end", "told", "read"),
    [
        (3, 50, "[3, 50) were wanted, [5, 100) are available: [3, 5) has expired or was deleted", (5, 50)),
        (
            50,
            101,
            "[50, 101) were wanted, [5, 100) are available: " + ENDS_BEFORE,
            (50, 100),
        ),
        (1, 3, "[1, 3) were wanted, [5, 100) are available: [1, 3) has expired or was deleted", None),
        (
            200,
            300,
            "[200, 300) were wanted, [5, 100) are available: " + ENDS_BEFORE,
            None,
        ),
    ],
)
def test_offsets_that_are_gone_are_reported_with_what_is_there(
    start: int, end: int, told: str, read: tuple[int, int] | None, lost: Losses
) -> None:
    ranges = batch_ranges({A0: start}, {A0: end}, {A0: HELD[A0]}, lost, no_times)
    assert ranges == ([] if read is None else [OffsetRange(A0, *read)])
    assert lost == [f"a-0: offsets {told}"]


def test_an_end_below_what_is_left_is_reported_even_from_earliest_on(lost: Losses) -> None:
    assert batch_ranges("earliest", {A0: 3}, {A0: HELD[A0]}, lost, no_times) == []
    assert lost == [
        "a-0: offsets [5, 3) were wanted, [5, 100) are available: nothing of it is there any more"
    ]


def test_symbols_are_resolved_for_a_stream(lost: Losses) -> None:
    assert resolve("latest", HELD, "startingOffsets", no_times) == {A0: 100, A1: 0, B0: 7}
    assert resolve({A0: -1, A1: -2, B0: 3}, HELD, "startingOffsets", no_times) == {A0: 100, A1: 0, B0: 3}


TIMED = {A0: Available(0, 4), A1: Available(0, 4)}


def test_times_mean_the_first_record_that_is_not_older(lost: Losses) -> None:
    starting = AtTime(20, "startingTimestamp", is_required=True)
    ending = AtTime({A0: 40, A1: 31}, "endingOffsetsByTimestamp", is_required=False)
    ranges = batch_ranges(starting, ending, TIMED, lost, records_at(10, 20, 30, 40))
    assert ranges == [OffsetRange(A0, 1, 3), OffsetRange(A1, 1, 3)]


def test_an_end_after_the_last_record_is_the_end_of_the_partition(lost: Losses) -> None:
    ending = AtTime(99, "endingTimestamp", is_required=False)
    ranges = batch_ranges({A0: 2, A1: 4}, ending, TIMED, lost, records_at(10, 20, 30, 40))
    assert ranges == [OffsetRange(A0, 2, 4)]


def test_a_start_after_the_last_record_is_an_error_or_the_end_as_the_strategy_says() -> None:
    find = records_at(10, 20)
    with pytest.raises(InvalidOptionError, match=r"startingTimestamp: a-0 .* at or after 50 \(and 1"):
        resolve(AtTime(50, "startingTimestamp", is_required=True), TIMED, "startingOffsets", find)
    spec = AtTime(50, "startingTimestamp", is_required=False)
    assert resolve(spec, TIMED, "startingOffsets", find) == {A0: 4, A1: 4}


def test_times_by_partition_name_every_partition_and_no_other() -> None:
    option = "startingOffsetsByTimestamp"
    for timestamps, message in (({A0: 1}, "leaves out a-1"), ({A0: 1, A1: 1, B0: 1}, "names b-0")):
        with pytest.raises(InvalidOptionError, match=f"{option}.*{message}"):
            resolve(AtTime(timestamps, option, is_required=True), TIMED, "startingOffsets", records_at(1))


def test_a_start_by_time_after_the_end_is_an_error(lost: Losses) -> None:
    starting = AtTime(40, "startingTimestamp", is_required=True)
    ending = AtTime(20, "endingTimestamp", is_required=False)
    with pytest.raises(InvalidOptionError, match=r"startingTimestamp says 3, .* after endingTimestamp, 1"):
        batch_ranges(starting, ending, TIMED, lost, records_at(10, 20, 30, 40))


def test_nothing_is_read_between_two_times_without_a_record(lost: Losses) -> None:
    starting = AtTime(11, "startingTimestamp", is_required=True)
    ending = AtTime(20, "endingTimestamp", is_required=False)
    assert batch_ranges(starting, ending, TIMED, lost, records_at(10, 20, 30, 40)) == []
    assert lost == []


def test_initial_offsets_outside_of_what_is_there_are_reported_and_moved_inside(lost: Losses) -> None:
    assert check_initial_offsets({A0: 2, B0: 9}, HELD, lost) == {A0: 5, B0: 7}
    assert lost == [
        "a-0: offset 2 was wanted, [5, 100) are available: [2, 5) has expired or was deleted",
        f"b-0: offset 9 was wanted, [0, 7) are available: {ENDS_BEFORE}",
    ]


def test_a_micro_batch_reads_from_where_the_last_one_ended(lost: Losses) -> None:
    assert stream_ranges({A0: 5, B0: 7}, {A0: 9, B0: 7}, {}, lost) == [OffsetRange(A0, 5, 9)]
    assert lost == []


def test_a_partition_found_later_is_read_from_its_beginning(lost: Losses) -> None:
    assert stream_ranges({A0: 5}, {A0: 5, A1: 4}, {A1: 0}, lost) == [OffsetRange(A1, 0, 4)]
    assert lost == []


def test_a_partition_found_after_its_beginning_expired_is_reported(lost: Losses) -> None:
    assert stream_ranges({}, {A1: 4}, {A1: 2}, lost) == [OffsetRange(A1, 2, 4)]
    assert lost == [f"a-1: offsets [0, 4) were wanted, [2, 4) are available: {FOUND_LATER}"]


def test_a_partition_that_vanished_is_reported(lost: Losses) -> None:
    assert stream_ranges({A0: 5, B0: 7}, {A0: 6}, {}, lost) == [OffsetRange(A0, 5, 6)]
    assert lost == [f"b-0: offset 7 was wanted, nothing is available: {DELETED}"]


def test_a_partition_that_went_back_is_reported_and_not_read(lost: Losses) -> None:
    assert stream_ranges({A0: 5}, {A0: 3}, {A0: 1}, lost) == []
    (told,) = lost
    assert told.startswith("a-0: offset 5 was wanted, [1, 3) are available: the partition ends before")


def test_a_partition_of_the_same_topic_that_went_back_was_truncated(lost: Losses) -> None:
    assert stream_ranges({A0: 5}, {A0: 3}, {A0: 1}, lost, same_topics={"a"}) == []
    (told,) = lost
    assert "the partition's log was truncated" in told


def test_a_micro_batch_knows_the_leader_epoch_where_it_begins(lost: Losses) -> None:
    ranges = stream_ranges({A0: 5, A1: 1}, {A0: 9, A1: 2}, {}, lost, leader_epochs={A0: 3})
    assert ranges == [OffsetRange(A0, 5, 9, leader_epoch=3), OffsetRange(A1, 1, 2)]
