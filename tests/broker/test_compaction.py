"""Compaction of a partition's log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barnabas.broker.log.compaction import collect_keys, compact, plan_compaction, write_survivors
from barnabas.broker.log.partition_log import PartitionLog

from .conftest import NOW_MS, append, batch_of, records_of

Open = Callable[..., PartitionLog]


def fill(log: PartitionLog, rounds: int, *, first: int = 0) -> None:
    for index in range(first, first + rounds):
        append(log, batch_of([(f"key {key}".encode(), f"{index}".encode()) for key in range(5)]))


def newest(log: PartitionLog) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in records_of(log)}


def test_only_the_last_record_of_each_key_stays_at_its_offset(opened: Open) -> None:
    log = opened(compacts=True, segment_bytes=1_000)
    fill(log, 50)
    expected, end = newest(log), log.log_end_offset
    before = records_of(log)
    assert compact(log, NOW_MS)
    after = records_of(log)
    assert newest(log) == expected
    assert log.log_end_offset == end
    assert len(after) < len(before) / 4
    by_offset = {record.offset: record for record in before}
    assert all(by_offset[record.offset] == record for record in after)


def test_every_offset_can_be_read_from_after_compaction(opened: Open) -> None:
    log = opened(compacts=True, segment_bytes=1_000)
    fill(log, 50)
    compact(log, NOW_MS)
    kept = [record.offset for record in records_of(log)]
    for offset in range(log.log_end_offset):
        assert next(iter(records_of(log, offset))).offset == min(o for o in kept if o >= offset)


def test_a_second_compaction_does_nothing_until_enough_is_new(opened: Open) -> None:
    log = opened(compacts=True, segment_bytes=1_000)
    fill(log, 50)
    assert compact(log, NOW_MS)
    assert not compact(log, NOW_MS)
    fill(log, 50, first=50)
    assert compact(log, NOW_MS)
    assert set(newest(log).values()) == {b"99"}


def test_a_tombstone_removes_its_key_and_goes_itself_later(opened: Open) -> None:
    log = opened(compacts=True, segment_bytes=300, delete_retention_ms=1_000)
    append(log, batch_of([(b"gone", b"value"), (b"kept", b"value")]))
    append(log, batch_of([(b"gone", None)]))
    for index in range(10):
        append(log, batch_of([(b"filler", b"%d" % index)], timestamp=NOW_MS + 5_000))
    compact(log, NOW_MS + 500)
    assert newest(log)[b"gone"] is None
    fill(log, 10)
    compact(log, NOW_MS + 2_000)
    assert b"gone" not in newest(log)
    assert newest(log)[b"kept"] == b"value"


def test_young_records_are_left_alone(opened: Open) -> None:
    log = opened(compacts=True, segment_bytes=1_000, min_compaction_lag_ms=10_000)
    fill(log, 50)
    assert not compact(log, NOW_MS + 5_000)
    assert compact(log, NOW_MS + 20_000)


def test_producers_are_known_after_compaction_and_a_crash(opened: Open) -> None:
    log = opened(compacts=True, segment_bytes=300)
    batches = [
        batch_of([(b"key", b"%d" % index)], producer_id=3, producer_epoch=0, base_sequence=index)
        for index in range(20)
    ]
    for batch in batches:
        append(log, batch)
    compact(log, NOW_MS)
    again = opened(compacts=True, segment_bytes=300)
    assert append(again, batches[-1]).duplicate


def test_a_crash_before_the_swap_leaves_the_log_as_it_was(opened: Open, log_directory: Path) -> None:
    log = opened(compacts=True, segment_bytes=1_000)
    fill(log, 50)
    before = records_of(log)
    plan = plan_compaction(log, NOW_MS)
    assert plan is not None
    write_survivors(log_directory, plan.groups[0], collect_keys(plan), plan.cleaner)
    again = opened(compacts=True, segment_bytes=1_000)
    assert records_of(again) == before
    assert not list(log_directory.glob("*.cleaned"))


def test_a_crash_in_the_middle_of_the_swap_loses_and_doubles_nothing(
    opened: Open, log_directory: Path
) -> None:
    log = opened(compacts=True, segment_bytes=1_000)
    fill(log, 50)
    expected, end = newest(log), log.log_end_offset
    log.settings = opened(compacts=True, segment_bytes=1_000_000).settings
    plan = plan_compaction(log, NOW_MS)
    assert plan is not None
    (group,) = plan.groups
    cleaned = write_survivors(log_directory, group, collect_keys(plan), plan.cleaner)
    # What replace_segments does up to its first rename; the merged segments are still there.
    for segment in group:
        segment.remove_index_files()
    cleaned.replace(group[0].path)
    again = opened(compacts=True, segment_bytes=1_000)
    offsets = [record.offset for record in records_of(again)]
    assert offsets == sorted(set(offsets))
    assert newest(again) == expected
    assert again.log_end_offset == end


def test_a_log_that_was_trimmed_meanwhile_is_not_touched(opened: Open, log_directory: Path) -> None:
    log = opened(compacts=True, segment_bytes=1_000)
    fill(log, 50)
    plan = plan_compaction(log, NOW_MS)
    assert plan is not None
    cleaned = write_survivors(log_directory, plan.groups[0], collect_keys(plan), plan.cleaner)
    log.delete_records_before(log.log_end_offset - 3)
    assert not log.replace_segments(plan.groups[0], cleaned)
    assert not cleaned.exists()
    assert len(records_of(log)) == 3
