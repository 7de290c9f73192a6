"""The log of one partition: appending, reading, rolling, recovery, retention."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker_errors import (
    InvalidProducerEpochError,
    OffsetOutOfRangeError,
    OutOfOrderSequenceNumberError,
)

from .conftest import NOW_MS, append, batch_of, records_of, values, values_of

Open = Callable[..., PartitionLog]


def test_records_come_back_in_order_with_growing_offsets(opened: Open) -> None:
    log = opened()
    assert append(log, batch_of(values("a", "b"))).base_offset == 0
    assert append(log, batch_of(values("c"))).base_offset == 2
    assert [record.offset for record in records_of(log)] == [0, 1, 2]
    assert values_of(log) == ["a", "b", "c"]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_read_may_begin_inside_a_batch(opened: Open, compression: str) -> None:
    log = opened()
    append(log, batch_of(values("a", "b", "c"), compression=compression))
    assert values_of(log, 1) == ["b", "c"]


def test_every_offset_of_many_segments_can_be_read_from(opened: Open) -> None:
    log = opened(segment_bytes=2_000, index_interval_bytes=300)
    for index in range(120):
        append(log, batch_of(values(f"value {index}")))
    assert len(log.segments) > 3
    for offset in range(120):
        assert values_of(log, offset)[0] == f"value {offset}"
    assert len(values_of(log)) == 120


def test_reading_at_the_end_gives_nothing_and_beyond_it_is_an_error(opened: Open) -> None:
    log = opened()
    append(log, batch_of(values("a")))
    assert log.read(1, 1000, at_least_one=True) == b""
    with pytest.raises(OffsetOutOfRangeError, match="flights-0: offset 2 is outside 0 to 1"):
        log.read(2, 1000, at_least_one=True)


def test_a_read_stays_within_its_limit_unless_the_first_batch_is_larger(opened: Open) -> None:
    log = opened()
    batch = batch_of([(None, bytes(1000))])
    for _ in range(3):
        append(log, batch)
    assert len(log.read(0, 2 * len(batch), at_least_one=True)) == 2 * len(batch)
    assert len(log.read(0, 10, at_least_one=True)) == len(batch)
    assert log.read(0, 10, at_least_one=False) == b""


def test_segments_roll_by_time_between_records(opened: Open) -> None:
    log = opened(segment_ms=1_000)
    append(log, batch_of(values("a"), timestamp=NOW_MS))
    append(log, batch_of(values("b"), timestamp=NOW_MS + 1_000))
    append(log, batch_of(values("c"), timestamp=NOW_MS + 1_001))
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_offsets_are_found_by_time_across_segments(opened: Open) -> None:
    log = opened(segment_bytes=1_000, index_interval_bytes=100)
    for index in range(100):
        append(log, batch_of(values(f"{index}"), timestamp=NOW_MS + 10 * index))
    for index in (0, 1, 50, 99):
        assert log.first_at_or_after(NOW_MS + 10 * index) == (index, NOW_MS + 10 * index, 0)
        assert log.first_at_or_after(NOW_MS + 10 * index - 5) == (index, NOW_MS + 10 * index, 0)
    assert log.first_at_or_after(NOW_MS + 991) is None
    assert log.with_max_timestamp() == (99, NOW_MS + 990, 0)


def test_the_greatest_timestamp_is_found_where_it_is_not_the_last(opened: Open) -> None:
    log = opened()
    append(log, batch_of(values("a"), timestamp=NOW_MS))
    append(log, batch_of(values("b"), timestamp=NOW_MS + 7))
    append(log, batch_of(values("c"), timestamp=NOW_MS + 3))
    assert log.with_max_timestamp() == (1, NOW_MS + 7, 0)


def test_the_broker_can_set_the_timestamps(opened: Open) -> None:
    log = opened()
    appended = append(log, batch_of(values("a"), timestamp=5), NOW_MS, set_append_time=True)
    assert appended.log_append_time == NOW_MS
    (record,) = records_of(log)
    assert (record.timestamp, record.timestamp_type) == (NOW_MS, 1)


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_is_the_same_after_opening_it_again(opened: Open, clean: bool) -> None:
    log = opened(segment_bytes=1_000, index_interval_bytes=100)
    for index in range(100):
        append(log, batch_of(values(f"{index}"), timestamp=NOW_MS + index))
    if clean:
        log.close(NOW_MS)
        log.segments.clear()
    again = opened(clean=clean, segment_bytes=1_000, index_interval_bytes=100)
    assert again.log_end_offset == 100
    assert values_of(again) == [str(index) for index in range(100)]
    assert again.first_at_or_after(NOW_MS + 42) == (42, NOW_MS + 42, 0)
    assert append(again, batch_of(values("more"))).base_offset == 100


def test_segments_below_the_recovery_point_are_taken_from_their_indexes(opened: Open) -> None:
    log = opened(segment_bytes=1_000, index_interval_bytes=100)
    for index in range(60):
        append(log, batch_of(values(f"{index}")))
    log.flush(NOW_MS)
    first = log.segments[0]
    assert first.index_path.exists()
    # A segment that is trusted is not scanned: damage in it stays unnoticed until it is read.
    with first.path.open("r+b") as file:
        file.seek(70)
        file.write(b"\xff")
    again = opened(recovery_point=log.log_end_offset, segment_bytes=1_000, index_interval_bytes=100)
    assert again.log_end_offset == 60
    assert values_of(again, 30) == [str(index) for index in range(30, 60)]


@pytest.mark.parametrize("lost_bytes", [1, 30, 61, 75])
def test_a_torn_tail_is_cut_off_and_what_lies_before_it_stays(
    opened: Open, log_directory: Path, lost_bytes: int
) -> None:
    log = opened()
    for text in ("a", "b", "c"):
        append(log, batch_of(values(text)))
    path = log.active.path
    os.truncate(path, path.stat().st_size - lost_bytes)
    again = opened()
    kept = 2 if lost_bytes < len(batch_of(values("c"))) else 1
    assert again.log_end_offset == kept
    assert values_of(again) == ["a", "b", "c"][:kept]
    assert append(again, batch_of(values("d"))).base_offset == kept
    assert values_of(again)[-1] == "d"


def test_everything_from_a_batch_with_a_wrong_checksum_on_is_cut_off(opened: Open) -> None:
    log = opened()
    size = len(batch_of(values("a")))
    for text in ("a", "b", "c"):
        append(log, batch_of(values(text)))
    with log.active.path.open("r+b") as file:
        file.seek(2 * size - 1)
        file.write(b"!")
    again = opened()
    assert values_of(again) == ["a"]
    assert again.active.path.stat().st_size == size


def test_segments_behind_a_bad_one_are_set_aside(opened: Open, log_directory: Path) -> None:
    log = opened(segment_bytes=300)
    for index in range(20):
        append(log, batch_of(values(f"{index}")))
    behind = [segment.path.name for segment in log.segments[2:]]
    os.truncate(log.segments[1].path, 20)
    again = opened(segment_bytes=300)
    assert again.log_end_offset == log.segments[1].base_offset
    assert sorted(path.stem for path in log_directory.glob("*.unreachable")) == [
        name.removesuffix(".log") for name in behind
    ]


def test_a_repeated_batch_is_answered_with_the_first_offset(opened: Open) -> None:
    log = opened()
    first = batch_of(values("a", "b"), producer_id=7, producer_epoch=0, base_sequence=0)
    second = batch_of(values("c"), producer_id=7, producer_epoch=0, base_sequence=2)
    append(log, first)
    append(log, second)
    again = append(log, first)
    assert (again.base_offset, again.duplicate) == (0, True)
    assert values_of(log) == ["a", "b", "c"]


def test_a_gap_in_the_sequence_is_refused(opened: Open) -> None:
    log = opened()
    append(log, batch_of(values("a"), producer_id=7, producer_epoch=0, base_sequence=0))
    with pytest.raises(OutOfOrderSequenceNumberError, match="producer 7 sent sequence 2, 0 was the last"):
        append(log, batch_of(values("c"), producer_id=7, producer_epoch=0, base_sequence=2))


def test_sequences_wrap_around(opened: Open) -> None:
    log = opened()
    append(log, batch_of(values("a", "b"), producer_id=7, producer_epoch=0, base_sequence=2**31 - 2))
    append(log, batch_of(values("c"), producer_id=7, producer_epoch=0, base_sequence=0))
    assert values_of(log) == ["a", "b", "c"]


def test_an_old_epoch_is_fenced_and_a_new_one_begins_at_zero(opened: Open) -> None:
    log = opened()
    append(log, batch_of(values("a"), producer_id=7, producer_epoch=1, base_sequence=0))
    with pytest.raises(InvalidProducerEpochError, match="has epoch 0, the partition knows 1"):
        append(log, batch_of(values("b"), producer_id=7, producer_epoch=0, base_sequence=1))
    with pytest.raises(OutOfOrderSequenceNumberError, match="begins epoch 2 with sequence 1 instead of 0"):
        append(log, batch_of(values("b"), producer_id=7, producer_epoch=2, base_sequence=1))
    append(log, batch_of(values("b"), producer_id=7, producer_epoch=2, base_sequence=0))


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("segment_bytes", [200, 1 << 20])
def test_producers_are_known_again_after_opening(opened: Open, clean: bool, segment_bytes: int) -> None:
    log = opened(segment_bytes=segment_bytes)
    batches = [
        batch_of(values(f"{index}"), producer_id=7, producer_epoch=0, base_sequence=index)
        for index in range(8)
    ]
    for batch in batches:
        append(log, batch)
    if clean:
        log.close(NOW_MS)
        log.segments.clear()
    again = opened(clean=clean, segment_bytes=segment_bytes)
    assert append(again, batches[7]).duplicate
    assert append(again, batches[3]).duplicate
    with pytest.raises(OutOfOrderSequenceNumberError):
        append(again, batch_of(values("x"), producer_id=7, producer_epoch=0, base_sequence=9))


def test_leader_epochs_tell_where_each_ended(opened: Open) -> None:
    log = opened(leader_epoch=3)
    append(log, batch_of(values("a", "b")))
    again = opened(leader_epoch=5)
    append(again, batch_of(values("c")))
    assert again.epoch_end_offset(3) == (3, 2)
    assert again.epoch_end_offset(4) == (3, 2)
    assert again.epoch_end_offset(5) == (5, 3)
    assert again.epoch_end_offset(6) == (-1, -1)


def test_old_segments_go_by_time(opened: Open) -> None:
    log = opened(segment_bytes=300, retention_ms=1_000)
    for index in range(20):
        append(log, batch_of(values(f"{index}"), timestamp=NOW_MS + 100 * index))
    log.enforce_retention(NOW_MS + 1_900)
    assert 0 < log.log_start_offset <= 9
    assert values_of(log)[-1] == "19"
    log.enforce_retention(NOW_MS + 10_000)
    assert (log.log_start_offset, log.log_end_offset) == (20, 20)
    assert append(log, batch_of(values("next"))).base_offset == 20


def test_old_segments_go_by_size(opened: Open) -> None:
    log = opened(segment_bytes=300, retention_bytes=900, retention_ms=-1)
    for index in range(40):
        append(log, batch_of(values(f"{index}")))
    log.enforce_retention(NOW_MS)
    assert 900 <= log.size() < 1_300
    assert values_of(log)[-1] == "39"


def test_nothing_goes_without_the_policy_delete(opened: Open) -> None:
    log = opened(segment_bytes=300, retention_ms=1, deletes=False)
    for index in range(20):
        append(log, batch_of(values(f"{index}")))
    log.enforce_retention(NOW_MS + 1_000_000)
    assert log.log_start_offset == 0


def test_deleted_records_are_out_of_range(opened: Open) -> None:
    log = opened(segment_bytes=300)
    for index in range(20):
        append(log, batch_of(values(f"{index}")))
    before = len(log.segments)
    log.delete_records_before(11)
    assert len(log.segments) < before
    assert values_of(log)[0] == "11"
    with pytest.raises(OffsetOutOfRangeError, match="offset 10 is outside 11 to 20"):
        log.read(10, 1000, at_least_one=True)
