"""The log of one partition: appending, reading, rolling, recovery, retention."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas import _kernel
from barnabas.broker.log.damage import DamagedLogError
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker_errors import (
    CorruptMessageError,
    InvalidProducerEpochError,
    OffsetOutOfRangeError,
    OutOfOrderSequenceNumberError,
)
from barnabas.errors import CorruptBatchError

from .conftest import NOW_MS, append, batch_of, open_log, records_of, values, values_of

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


def test_records_are_forced_to_the_disk_after_as_many_as_the_setting_says(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(flush_messages=3)
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", forced.append)
    append(log, batch_of(values("a", "b")))
    assert (forced, log.recovery_point) == ([], 0)
    append(log, batch_of(values("c")))
    assert forced
    assert log.recovery_point == 3


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


def damage(path: Path, position: int, value: bytes = b"!") -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(value)


def test_a_whole_batch_with_a_wrong_checksum_is_an_error_and_those_around_it_are_served(
    opened: Open,
) -> None:
    log = opened()
    size = len(batch_of(values("a")))
    for text in ("a", "b", "c"):
        append(log, batch_of(values(text)))
    damage(log.active.path, 2 * size - 1)
    again = opened()
    assert again.log_end_offset == 3
    assert _kernel.scan_batches(again.read(0, 1000, at_least_one=True))[-1].last_offset == 0
    wanted = (
        rf"{again.active.path.name} is damaged from byte {size} to {2 * size}: offsets 1 to 2 cannot be read"
    )
    with pytest.raises(CorruptMessageError, match=wanted):
        again.read(1, 1000, at_least_one=True)
    assert values_of(again, 2) == ["c"]
    assert append(again, batch_of(values("d"))).base_offset == 3
    assert values_of(again, 2) == ["c", "d"]


def test_a_last_batch_that_was_written_whole_is_not_cut_off_for_a_wrong_byte(opened: Open) -> None:
    log = opened()
    size = len(batch_of(values("a")))
    for text in ("a", "b"):
        append(log, batch_of(values(text)))
    damage(log.active.path, size + 3)
    again = opened()
    assert (again.log_end_offset, again.active.size) == (2, 2 * size)
    with pytest.raises(CorruptMessageError, match="offsets 1 to 2 cannot be read"):
        again.read(1, 1000, at_least_one=True)
    assert append(again, batch_of(values("c"))).base_offset == 2
    assert values_of(again, 2) == ["c"]


def test_what_is_cut_off_is_kept_beside(opened: Open, log_directory: Path) -> None:
    log = opened()
    append(log, batch_of(values("a")))
    size = log.active.size
    damage(log.active.path, size, b"half a batch")
    again = opened()
    assert (again.log_end_offset, again.active.size) == (1, size)
    [kept] = log_directory.glob("*.cut-at-*")
    assert kept.read_bytes() == b"half a batch"


@pytest.mark.parametrize("clean", [True, False])
def test_segments_behind_a_bad_one_are_served(opened: Open, clean: bool) -> None:
    log = filled_log(opened)
    bad, following = log.segments[1], log.segments[2].base_offset
    os.truncate(bad.path, 20)
    if clean:
        log.close(NOW_MS)
        log.segments.clear()
    again = opened(segment_bytes=300, clean=clean, recovery_point=20 if clean else 0)
    assert again.log_end_offset == 20
    with pytest.raises(
        CorruptMessageError, match=rf"offsets {bad.base_offset} to {following} cannot be read"
    ):
        again.read(bad.base_offset, 1000, at_least_one=True)
    assert values_of(again, following) == [str(index) for index in range(following, 20)]


def filled_log(opened: Open) -> PartitionLog:
    """20 records in segments of a few."""
    log = opened(segment_bytes=300)
    for index in range(20):
        append(log, batch_of(values(f"{index}")))
    assert len(log.segments) > 4
    return log


@pytest.mark.parametrize("clean", [True, False])
def test_a_missing_segment_is_an_error_that_says_what_to_do(opened: Open, clean: bool) -> None:
    log = filled_log(opened)
    log.close(NOW_MS)
    missing, following = log.segments[2], log.segments[3].base_offset
    missing.path.unlink()
    log.segments.clear()
    with pytest.raises(DamagedLogError) as raised:
        opened(segment_bytes=300, clean=clean, recovery_point=20)
    text = str(raised.value)
    assert f"flights-0: offsets {missing.base_offset} to {following} are missing" in text
    assert "restore the file from a copy, or, to do without these records" in text


def test_a_missing_last_segment_is_an_error(opened: Open) -> None:
    log = filled_log(opened)
    log.close(NOW_MS)
    log.active.path.unlink()
    end = log.active.base_offset
    log.segments.clear()
    with pytest.raises(DamagedLogError, match=rf"offsets {end} to 20, which were on the disk, are missing"):
        opened(segment_bytes=300, clean=True, recovery_point=20)


@pytest.mark.parametrize("compacts", [False, True])
@pytest.mark.parametrize("lost_bytes", [1, 30, 69])
def test_a_file_that_was_cut_after_an_end_in_good_order_is_told_of_and_its_offsets_are_not_given_again(
    opened: Open, caplog: pytest.LogCaptureFixture, compacts: bool, lost_bytes: int
) -> None:
    log = opened(compacts=compacts)
    for text in ("a", "b", "c"):
        append(log, batch_of([(b"key " + text.encode(), text.encode())]))
    log.close(NOW_MS)
    path = log.active.path
    log.segments.clear()
    os.truncate(path, path.stat().st_size - lost_bytes)
    again = opened(clean=True, recovery_point=3, compacts=compacts)
    assert f"{path} is damaged from byte" in caplog.text
    assert "offsets 2 to 3 cannot be read" in caplog.text
    assert again.log_end_offset == 3
    with pytest.raises(CorruptMessageError, match="offsets 2 to 3 cannot be read"):
        again.read(2, 1000, at_least_one=True)
    assert append(again, batch_of(values("d"))).base_offset == 3


@pytest.mark.parametrize("compacts", [False, True])
def test_batches_that_are_missing_at_the_end_after_an_end_in_good_order_are_an_error(
    opened: Open, compacts: bool
) -> None:
    log = opened(compacts=compacts)
    for text in ("a", "b", "c"):
        append(log, batch_of(values(text)))
    log.close(NOW_MS)
    path = log.active.path
    log.segments.clear()
    os.truncate(path, path.stat().st_size // 3 * 2)
    with pytest.raises(DamagedLogError, match="offsets 2 to 3, which were on the disk, are missing"):
        opened(clean=True, recovery_point=3, compacts=compacts)


def test_a_segment_of_a_compacted_log_that_was_cut_is_told_of(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    log = filled_log(opened)
    log.close(NOW_MS)
    bad, following = log.segments[1], log.segments[2].base_offset
    log.segments.clear()
    os.truncate(bad.path, bad.path.stat().st_size - 1)
    again = opened(segment_bytes=300, clean=True, recovery_point=20, compacts=True)
    assert f"{bad.path} is damaged from byte" in caplog.text
    assert f"to {following} cannot be read" in caplog.text
    assert values_of(again, following) == [str(index) for index in range(following, 20)]


def test_a_cut_file_is_told_of_where_nobody_knows_its_end(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """The file of recovery points is gone."""
    log = opened()
    for text in ("a", "b", "c"):
        append(log, batch_of(values(text)))
    log.close(NOW_MS)
    path = log.active.path
    log.segments.clear()
    os.truncate(path, path.stat().st_size - 1)
    again = opened(clean=True)
    assert "ends with a part of a batch" in caplog.text
    append(again, batch_of(values("d")))
    assert values_of(again) == ["a", "b", "d"]


def read_everything(log: PartitionLog) -> tuple[dict[int, str], set[int]]:
    """What can be read, and the offsets that an error tells of, by a reader that goes on behind those."""
    found: dict[int, str] = {}
    told: set[int] = set()
    position = log.log_start_offset
    while position < log.log_end_offset:
        try:
            data = log.read(position, 1 << 16, at_least_one=True)
        except CorruptMessageError as error:
            matched = re.search(r"offsets (\d+) to (\d+) cannot be read", str(error))
            assert matched
            told.update(range(position, int(matched[2])))
            position = int(matched[2])
            continue
        reader = _kernel.RecordReader("flights", 0, data, fetch_offset=position)
        begin = position
        try:
            for record in reader:
                found[record.offset] = (record.value or b"").decode()
                position = record.offset + 1
        except CorruptBatchError as error:
            # Its checksum tells the reader, which goes on behind.
            told.add(max(position, error.offset))
            position += 1
        assert position > begin
    return found, told


@pytest.mark.parametrize("clean", [True, False])
@given(choice=st.data())
@settings(max_examples=150)
def test_no_single_wrong_byte_gives_a_wrong_record_or_loses_one_in_silence(
    tmp_path_factory: pytest.TempPathFactory, clean: bool, choice: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("log")
    log = open_log(directory, segment_bytes=300)
    for index in range(0, 20, 2):
        append(log, batch_of(values(f"{index}", f"{index + 1}")))
    log.close(NOW_MS)
    segment = choice.draw(st.sampled_from(sorted(directory.glob("*.log"))))
    content = segment.read_bytes()
    if not content:
        return
    position = choice.draw(st.integers(0, len(content) - 1))
    bit = choice.draw(st.integers(0, 7))
    damage(segment, position, bytes([content[position] ^ 1 << bit]))
    again = open_log(directory, clean=clean, segment_bytes=300, recovery_point=20 if clean else 0)
    found, told = read_everything(again)
    again.abandon()
    assert all(value == str(offset) for offset, value in found.items())
    assert sorted({*found, *told}) == list(range(20))
    assert len(told) <= 2


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
