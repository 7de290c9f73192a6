"""How far a poller has come with what it was lent, as another thread sees it."""

from __future__ import annotations

import threading

import pytest

from barnabas._kernel import BatchBuilder, MessagePoller, RecordReader

LARGE = bytes(64 << 20)


def batch_of(values: list[bytes], base_offset: int, leader_epoch: int, compression: str = "none") -> bytes:
    builder = BatchBuilder(compression=compression, max_bytes=1 << 30)
    for value in values:
        assert builder.append(0, None, value)
    return builder.build(base_offset=base_offset, leader_epoch=leader_epoch)


def test_progress_is_that_of_the_present_loan_alone() -> None:
    poller = MessagePoller()
    assert poller._progress is None
    first = poller._lend(RecordReader("a", 0, batch_of([b"x", b"y"], 10, 3)))
    assert poller._progress is None
    poller._next_lent()
    assert poller._progress == (first, 1, 11, 3)
    poller._next_lent()
    assert poller._progress == (first, 2, 12, 3)
    second = poller._lend(RecordReader("b", 1, batch_of([b"z"], 70, 4)))
    assert poller._progress is None
    poller._next_lent()
    assert poller._progress == (second, 1, 71, 4)
    loan = poller._take_back()
    assert loan is not None
    assert (loan[0], *loan[2:]) == (second, 1, 71, 4)
    assert poller._progress is None
    assert poller._take_back() is None
    assert first != second


@pytest.mark.timeout(60)
def test_progress_is_told_while_another_thread_decodes() -> None:
    small, large = batch_of([b"x"], 10, 3), batch_of([LARGE] * 4, 11, 3, "zstd")
    poller = MessagePoller()
    loan = poller._lend(RecordReader("a", 0, small + large))
    poller._next_lent()
    is_over = threading.Event()

    def decode() -> None:
        poller._next_lent()
        is_over.set()

    decoding = threading.Thread(target=decode)
    decoding.start()
    progress = poller._progress
    was_over = is_over.is_set()
    decoding.join()
    assert (progress, was_over) == ((loan, 1, 11, 3), False)
    assert poller._progress == (loan, 2, 12, 3)
