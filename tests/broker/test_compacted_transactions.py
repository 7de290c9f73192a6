"""What compaction leaves of transactions: their markers stay as long as anything of them does, and then for
delete.retention.ms.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas import _kernel
from barnabas.broker.log.compaction import compact
from barnabas.broker.log.markers import EndMarker
from barnabas.broker.log.partition_log import PartitionLog

from .conftest import NOW_MS, append, batch_of, open_log, records_of

Opened = Callable[..., PartitionLog]
RETENTION_MS = 1_000
COMPACTED = {"compacts": True, "min_cleanable_dirty_ratio": 0.0, "delete_retention_ms": RETENTION_MS}


def batches(log: PartitionLog) -> Iterator[_kernel.BatchInfo]:
    for segment in log.segments:
        for chunk in segment.chunks():
            yield from _kernel.scan_batches(chunk, check_crcs=True)


def layout(log: PartitionLog) -> list[tuple[int, bool, int]]:
    """Of each batch its first offset, whether it is a marker, and how many records it has."""
    return [(batch.base_offset, batch.is_control, batch.record_count) for batch in batches(log)]


def write(log: PartitionLog, producer_id: int, key: bytes, value: bytes | None, sequence: int) -> int:
    builder = _kernel.BatchBuilder(max_bytes=1 << 20)
    builder.append(NOW_MS, key, value)
    batch = builder.build(
        producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True
    )
    return append(log, batch).base_offset


def end(log: PartitionLog, producer_id: int, *, commit: bool) -> None:
    log.append_marker(EndMarker(producer_id, 0, commit, 0), now_ms=NOW_MS)


def compact_all(log: PartitionLog, now_ms: int) -> None:
    """All that is decided by now: what is new at each pass is a record without a transaction."""
    append(log, batch_of([(b"filler", b"")]))
    log.roll()
    append(log, batch_of([(b"filler", b"")]))
    compact(log, now_ms)


def test_a_marker_goes_its_time_after_the_pass_that_found_nothing_of_its_transaction(opened: Opened) -> None:
    log = opened(**COMPACTED)
    for sequence in range(3):
        write(log, 1, b"k", b"%d" % sequence, sequence)
        end(log, 1, commit=True)
    compact_all(log, NOW_MS)
    # Two are superseded, which a pass only notices by not finding them any more.
    assert layout(log)[:4] == [(1, True, 1), (3, True, 1), (4, False, 1), (5, True, 1)]
    compact_all(log, NOW_MS)
    assert layout(log)[:4] == [(1, True, 1), (3, True, 1), (4, False, 1), (5, True, 1)]
    compact_all(log, NOW_MS + RETENTION_MS - 1)
    assert layout(log)[0] == (1, True, 1)
    compact_all(log, NOW_MS + RETENTION_MS)
    assert layout(log)[:2] == [(4, False, 1), (5, True, 1)]


def test_an_aborted_transaction_leaves_its_last_batch_empty_and_its_marker_with_it(opened: Opened) -> None:
    log = opened(**COMPACTED)
    write(log, 1, b"k", b"aborted", 0)
    write(log, 1, b"k", b"aborted", 1)
    end(log, 1, commit=False)
    for now_ms in (NOW_MS, NOW_MS, NOW_MS + 2 * RETENTION_MS, NOW_MS + 4 * RETENTION_MS):
        compact_all(log, now_ms)
        assert layout(log)[:2] == [(1, False, 0), (2, True, 1)]
    write(log, 1, b"k", b"kept", 2)
    end(log, 1, commit=True)
    for passed in range(6, 12, 2):
        compact_all(log, NOW_MS + passed * RETENTION_MS)
    assert [each for each in layout(log) if each[0] <= 2] == []


def test_a_log_with_emptied_batches_opens_as_it_was(opened: Opened) -> None:
    log = opened(**COMPACTED)
    write(log, 1, b"k", b"aborted", 0)
    end(log, 1, commit=False)
    log.append_marker(EndMarker(2, 3, True, 0), now_ms=NOW_MS)
    for passed in range(4):
        compact_all(log, NOW_MS + 2 * passed * RETENTION_MS)
    before = layout(log)
    assert (2, True, 0) in before
    again = opened(**COMPACTED)
    assert layout(again) == before
    assert again.last_stable_offset == again.log_end_offset


def test_a_tombstone_stays_its_time_from_the_first_pass_on_however_old_it_is(opened: Opened) -> None:
    log = opened(**COMPACTED)
    append(log, batch_of([(b"k", b"1")]))
    append(log, batch_of([(b"k", None), (b"other", b"1")], timestamp=1))
    for now_ms, count in ((NOW_MS, 2), (NOW_MS + RETENTION_MS - 1, 2), (NOW_MS + RETENTION_MS, 1)):
        compact_all(log, now_ms)
        assert [each for each in layout(log) if each[0] == 1] == [(1, False, count)]
    # Timestamps are what they were, though they count from the horizon.
    (batch,) = [each for each in batches(log) if each.base_offset == 1]
    assert batch.max_timestamp == 2
    records = list(_kernel.RecordReader("t", 0, log.read(0, 1 << 20, at_least_one=True)))
    assert [(each.key, each.timestamp) for each in records if each.offset == 2] == [(b"other", 2)]


@dataclass
class Model:
    """What a plain reading of the rules says: transactions as lists of records, and how each ended."""

    open: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    decided: dict[int, tuple[int, list[int]]] = field(default_factory=dict[int, tuple[int, list[int]]])
    """By the offset of its marker: the producer, and the offsets of its records."""
    values: dict[int, tuple[bytes, bytes | None]] = field(
        default_factory=dict[int, tuple[bytes, bytes | None]]
    )
    """Committed records by offset."""
    written: dict[int, tuple[bytes, bytes | None]] = field(
        default_factory=dict[int, tuple[bytes, bytes | None]]
    )
    first_seen_empty: dict[int, int] = field(default_factory=dict[int, int])
    """When a pass first began without any batch of a marker's transaction."""

    def newest(self) -> dict[bytes, bytes | None]:
        return {key: value for _, (key, value) in sorted(self.values.items())}


STEPS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 3), st.sampled_from([b"a", b"b", b"c"]), st.booleans()),
    st.tuples(st.just("end"), st.integers(1, 3), st.just(b""), st.booleans()),
    st.tuples(
        st.just("compact"), st.sampled_from([0, RETENTION_MS // 2, RETENTION_MS]), st.just(b""), st.just(0)
    ),
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEPS, max_size=40))
def test_committed_records_are_those_of_a_plain_model_and_markers_outlast_their_data(
    steps: list[tuple[str, int, bytes, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = open_log(Path(folder) / "t-0", **COMPACTED)  # pyright: ignore
        play(log, steps)
        log.abandon()


def play(log: PartitionLog, steps: list[tuple[str, int, bytes, bool]]) -> None:
    model, now_ms, sequences = Model(), NOW_MS, defaultdict[int, int](int)
    for kind, number, key, flag in steps:
        if kind == "write":
            value = b"%d" % log.log_end_offset if flag else None
            offset = write(log, number, key, value, sequences[number])
            sequences[number] += 1
            model.open[number].append(offset)
            model.written[offset] = (key, value)
        elif kind == "end" and model.open[number]:
            offsets = model.open.pop(number)
            model.decided[log.log_end_offset] = (number, offsets)
            if flag:
                model.values.update((offset, model.written[offset]) for offset in offsets)
            end(log, number, commit=flag)
        elif kind == "compact":
            now_ms += number
            compact_and_check(log, model, now_ms)
    for number in [number for number, offsets in model.open.items() if offsets]:
        model.decided[log.log_end_offset] = (number, model.open.pop(number))
        end(log, number, commit=False)
    # A tombstone's time, and then that of the marker behind it.
    for _ in range(6):
        now_ms += RETENTION_MS
        compact_and_check(log, model, now_ms)
    there = {batch.base_offset for batch in batches(log)}
    for marker, (_, offsets) in model.decided.items():
        assert marker not in there or there & set(offsets), f"marker {marker} has outlived its transaction"


def compact_and_check(log: PartitionLog, model: Model, now_ms: int) -> None:
    before = {batch.base_offset for batch in batches(log)}
    for marker, (_, offsets) in model.decided.items():
        if not before & set(offsets):
            model.first_seen_empty.setdefault(marker, now_ms)
    compact_all(log, now_ms)
    there = {batch.base_offset: batch for batch in batches(log)}
    newest: dict[bytes, bytes | None] = {}
    for record in records_of(log):
        if record.offset in model.values:
            assert (record.key, record.value) == model.values[record.offset]
            newest[record.key or b""] = record.value
    expected = model.newest()
    assert {key: value for key, value in newest.items() if value is not None} == {
        key: value for key, value in expected.items() if value is not None
    }
    for marker, (_, offsets) in model.decided.items():
        if there.keys() & set(offsets):
            assert marker in there, f"marker {marker} is gone before the records of its transaction"
        elif marker not in there:
            assert now_ms >= model.first_seen_empty[marker] + RETENTION_MS
