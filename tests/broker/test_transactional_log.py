"""What a partition's log knows of transactions: where decided data ends and what was aborted, also after
restarts, crashes and compaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas import _kernel
from barnabas.broker.log.compaction import compact
from barnabas.broker.log.markers import EndMarker, end_marker
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.producers import AbortedSpan, ProducerStates
from barnabas.broker_errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    TransactionCoordinatorFencedError,
)

from .conftest import NOW_MS, KeyValue, append, batch_of, values, values_of

Opened = Callable[..., PartitionLog]


def write(log: PartitionLog, producer_id: int, *records: KeyValue, sequence: int = -1, epoch: int = 0) -> int:
    builder = _kernel.BatchBuilder(max_bytes=1 << 20)
    for key, value in records:
        builder.append(NOW_MS, key, value)
    batch = builder.build(
        producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
    )
    return append(log, batch).base_offset


def end(log: PartitionLog, producer_id: int, *, commit: bool, epoch: int = 0, coordinator: int = 0) -> None:
    log.append_marker(EndMarker(producer_id, epoch, commit, coordinator), now_ms=NOW_MS)


def test_a_marker_says_what_was_written_into_it() -> None:
    for marker in (EndMarker(1 << 40, 32_767, True, 9), EndMarker(0, 0, False, 0)):
        data = marker.to_batch(NOW_MS)
        (batch,) = _kernel.scan_batches(data, check_records=True)
        assert (batch.is_control, batch.is_transactional, batch.base_sequence) == (True, True, -1)
        assert end_marker(batch, data) == marker
        with pytest.raises(ValueError, match="cut short"):
            end_marker(batch, data[:-3])


@pytest.mark.parametrize("is_clean", [True, False])
def test_open_and_aborted_transactions_are_known_after_a_restart(
    opened: Opened, log_directory: Path, is_clean: bool
) -> None:
    log = opened(segment_bytes=300)
    write(log, 1, *values("a"))
    write(log, 2, *values("b"))
    end(log, 1, commit=False)
    for number in range(8):
        append(log, batch_of(values(f"filler {number}")))
    write(log, 3, *values("c"), sequence=0)
    end(log, 3, commit=True, coordinator=4)
    assert log.last_stable_offset == 1
    known = AbortedSpan(1, 0, 2, 1)
    assert log.aborted_in(0, log.read(0, 1 << 20, at_least_one=True)) == [known]
    assert len(log.segments) > 2
    if is_clean:
        log.close(NOW_MS)
        log.segments.clear()
        again = opened(segment_bytes=300, clean=True, recovery_point=log.recovery_point)
    else:
        again = opened(segment_bytes=300)
    assert (again.last_stable_offset, again.producers.aborted) == (1, [known])
    assert again.producers.by_id[3].coordinator_epoch == 4
    end(again, 2, commit=True)
    assert again.last_stable_offset == again.log_end_offset
    with pytest.raises(OutOfOrderSequenceNumberError):
        write(again, 3, *values("d"), sequence=2)
    with pytest.raises(TransactionCoordinatorFencedError):
        end(again, 3, commit=True, coordinator=3)


def test_decided_data_is_read_up_to_the_first_open_transaction_and_no_further(opened: Opened) -> None:
    log = opened()
    append(log, batch_of(values("a", "b")))
    write(log, 1, *values("open"))
    append(log, batch_of(values("c")))
    before = log.last_stable_offset
    assert before == 2
    assert len(_kernel.scan_batches(log.read(0, 1 << 20, at_least_one=True, before=before))) == 1
    assert log.read(2, 1 << 20, at_least_one=True, before=before) == b""
    assert log.read(4, 1 << 20, at_least_one=True, before=before) == b""


def test_who_has_a_transaction_open_may_not_write_outside_of_it_nor_end_it_in_an_old_epoch(
    opened: Opened,
) -> None:
    log = opened()
    write(log, 1, *values("a"), sequence=0, epoch=3)
    with pytest.raises(InvalidTxnStateError):
        append(log, batch_of(values("b"), producer_id=1, producer_epoch=3, base_sequence=1))
    with pytest.raises(InvalidProducerEpochError):
        end(log, 1, commit=True, epoch=2)
    with pytest.raises(InvalidProducerEpochError):
        log.append_marker(EndMarker(1, 3, True, 0), now_ms=NOW_MS, needs_newer_epoch=True)
    log.append_marker(EndMarker(1, 4, True, 0), now_ms=NOW_MS, needs_newer_epoch=True)
    with pytest.raises(OutOfOrderSequenceNumberError):
        write(log, 1, *values("c"), sequence=1, epoch=4)
    assert write(log, 1, *values("c"), sequence=0, epoch=4) == 2


def test_compaction_takes_aborted_records_away_and_lets_them_replace_nothing(opened: Opened) -> None:
    log = opened(compacts=True, min_cleanable_dirty_ratio=0.0)
    write(log, 1, (b"k", b"committed"), (b"other", b"1"))
    end(log, 1, commit=True)
    write(log, 1, (b"k", b"aborted"))
    end(log, 1, commit=False)
    log.roll()
    write(log, 1, (b"other", b"open"))
    log.roll()
    append(log, batch_of([(b"last", b"1")]))
    assert compact(log, NOW_MS)
    # What is open, and all behind it, stays as it is.
    assert log.first_dirty_offset == 5
    assert values_of(log) == ["committed", "1", "open", "1"]
    assert not compact(log, NOW_MS)
    end(log, 1, commit=True)
    log.roll()
    append(log, batch_of([(b"last", b"2")]))
    assert compact(log, NOW_MS)
    assert values_of(log) == ["committed", "open", "1", "2"]


def test_an_open_transaction_is_not_forgotten_for_its_age_and_an_aborted_one_with_its_records(
    opened: Opened,
) -> None:
    log = opened()
    write(log, 1, *values("a"))
    end(log, 1, commit=False)
    write(log, 2, *values("b"))
    log.producers.expire(NOW_MS + 1)
    assert set(log.producers.by_id) == {2}
    log.delete_records_before(2)
    assert log.producers.aborted == []
    log.delete_records_before(3)
    assert log.last_stable_offset == 3


def test_snapshots_of_the_release_before_are_read() -> None:
    rows = [[9, 2, NOW_MS, [[0, 1, 10, 11, NOW_MS]]]]
    states = ProducerStates.from_bytes(json.dumps({"version": 1, "producers": rows}).encode())
    assert (states.by_id[9].epoch, states.by_id[9].last_sequence) == (2, 1)
    assert states.first_unstable_offset is None
