from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas._kernel import RecordReader

Batch = Callable[..., bytes]


@pytest.fixture(scope="session")
def log(batch: Batch, control_batch: Batch) -> bytes:
    """Two producers with transactions, one of them aborting its first, and one without any."""

    def data(offset: int, producer_id: int, value: bytes, *, transactional: bool = True) -> bytes:
        return batch(
            [(1, None, value), (1, None, value)],
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=transactional,
        )

    return b"".join(
        [
            data(0, 1, b"aborted"),
            data(2, 2, b"committed"),
            data(4, -1, b"plain", transactional=False),
            data(6, 1, b"aborted"),
            control_batch(8, 1, commit=False),
            data(9, 1, b"committed"),
            control_batch(11, 2, commit=True),
            control_batch(12, 1, commit=True),
        ]
    )


def test_read_committed_leaves_out_aborted_records_only(log: bytes) -> None:
    reader = RecordReader("t", 0, log, aborted=[(1, 0)])
    records = reader.take(100)
    assert [(r.offset, r.value) for r in records] == [
        (2, b"committed"),
        (3, b"committed"),
        (4, b"plain"),
        (5, b"plain"),
        (9, b"committed"),
        (10, b"committed"),
    ]
    assert reader.next_offset == 13
    assert reader.remaining_bytes == 0


def test_read_uncommitted_shows_all_but_control_records(log: bytes) -> None:
    reader = RecordReader("t", 0, log)
    assert [r.offset for r in reader] == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]
    assert reader.next_offset == 13


def test_the_list_of_aborted_transactions_may_come_in_any_order(log: bytes, control_batch: Batch) -> None:
    ended = log[: -len(control_batch(12, 1, commit=True))] + control_batch(12, 1, commit=False)
    reader = RecordReader("t", 0, ended, aborted=[(1, 9), (1, 0)])
    assert [r.offset for r in reader] == [2, 3, 4, 5]


def test_reading_may_begin_inside_an_aborted_transaction(log: bytes) -> None:
    reader = RecordReader("t", 0, log, fetch_offset=7, aborted=[(1, 0)])
    assert [r.offset for r in reader] == [9, 10]


def test_taking_one_by_one_passes_over_everything_skipped(log: bytes) -> None:
    reader = RecordReader("t", 0, log, aborted=[(1, 0)])
    offsets: list[int] = []
    positions: list[int] = []
    while records := reader.take(1):
        offsets += [record.offset for record in records]
        positions.append(reader.next_offset)
    assert offsets == [2, 3, 4, 5, 9, 10]
    assert positions == [3, 4, 5, 6, 10, 11]
    assert reader.next_offset == 13
