"""Lending to a poller, and what counts when the loan ends, with no broker and no facade."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas._kernel import BatchBuilder, Message, MessagePoller, RecordReader
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.client.consume.failures import Failure
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.errors import BarnabasError, CorruptBatchError
from barnabas.sync.reader_loans import ReaderLoans, attending
from barnabas.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Loans(ReaderLoans[MessagePoller]):
    """Of partitions at offset 0. Raises all but UnknownTopicOrPartitionError."""

    def __init__(self, *assigned: TopicPartition) -> None:
        self.partitions = SubscriptionState(on_data=_nothing, on_room=_nothing, on_lookup=_nothing)
        self.buffer = FetchBuffer(self.partitions, 1 << 20, on_data=_nothing, on_room=_nothing)
        self.held = [MessagePoller()]
        core: Any = SimpleNamespace(partitions=self.partitions, buffer=self.buffer)
        super().__init__(core, lambda: self.held[0] if self.held else None)
        self.partitions.add(assigned)
        for partition in assigned:
            self.partitions.seek(partition, 0)

    def _error_of(self, failure: Failure) -> BarnabasError | None:
        return None if isinstance(failure.error, UnknownTopicOrPartitionError) else failure.error

    def fetched(self, partition: TopicPartition, data: bytes, end: int) -> None:
        queue = next(each for each in self.buffer.queues() if each.partition == partition)
        reader = RecordReader(*partition, data, fetch_offset=queue.fetch_offset)
        self.buffer.append(queue, queue.state.epoch, queue.fetch_offset, reader, len(data), end)

    def position(self, partition: TopicPartition) -> int | None:
        return self.partitions.position(partition)


def _nothing() -> None:
    """For callbacks."""


def batch(start: int, end: int) -> bytes:
    builder = BatchBuilder()
    for offset in range(start, end):
        assert builder.append(0, None, b"%d" % offset)
    return builder.build(base_offset=start, leader_epoch=3)


def places(next_message: Callable[[], Message | None]) -> list[tuple[int | None, int | None]]:
    """Partition and offset of messages until there is none."""
    return [(message.partition(), message.offset()) for message in iter(next_message, None)]


def test_what_the_poller_handed_out_counts_when_the_loan_ends() -> None:
    loans = Loans(A)
    loans.fetched(A, batch(0, 5), 5)
    first = loans.next()
    assert first is not None
    assert first.offset() == 0
    assert [loans.poller._next_lent() is not None for _ in range(2)] == [True, True]
    assert loans.position(A) == 0
    assert loans.take_back() is not None
    assert loans.position(A) == 3
    assert loans.take_back() is None
    assert places(loans.next) == [(0, 3), (0, 4)]
    assert loans.position(A) == 5


def test_one_reader_is_lent_after_the_other() -> None:
    loans = Loans(A, B)
    loans.fetched(A, batch(0, 2), 2)
    loans.fetched(B, batch(0, 1), 1)
    assert places(loans.next) == [(0, 0), (0, 1), (1, 0)]
    assert (loans.position(A), loans.position(B)) == (2, 1)


def test_a_corrupt_batch_is_raised_behind_the_records_before_it_and_stops_its_partition_alone() -> None:
    loans = Loans(A, B)
    corrupt = bytearray(batch(2, 4))
    corrupt[-1] ^= 1
    loans.fetched(A, batch(0, 2) + bytes(corrupt), 4)
    loans.fetched(B, batch(0, 1), 1)
    assert [message.offset() for _ in range(2) if (message := loans.next())] == [0, 1]
    loans.take_back()
    assert loans.position(A) == 2
    with pytest.raises(CorruptBatchError):
        loans.next()
    assert places(loans.next) == [(1, 0)]


def test_a_failure_comes_before_the_next_loan_and_one_that_is_not_shown_holds_up_nothing() -> None:
    loans = Loans(A)
    loans.fetched(A, batch(0, 1), 1)
    loans.partitions.failures.add(Failure(UnknownTopicOrPartitionError("not shown"), B))
    loans.partitions.failures.add(Failure(BarnabasError("shown")))
    with pytest.raises(BarnabasError, match=r"^shown$"):
        loans.next()
    assert places(loans.next) == [(0, 0)]


def test_a_seek_after_the_loan_was_taken_back_is_not_undone_by_it() -> None:
    loans = Loans(A)
    loans.fetched(A, batch(0, 5), 5)
    assert loans.next() is not None
    loans.take_back()
    loans.partitions.seek(A, 4)
    assert loans.next() is None
    assert loans.position(A) == 4


def test_a_loan_of_before_a_seek_counts_nothing() -> None:
    loans = Loans(A)
    loans.fetched(A, batch(0, 5), 5)
    assert loans.next() is not None
    loans.partitions.seek(A, 4)
    loans.take_back()
    assert loans.position(A) == 4


def test_whoever_waits_is_woken_also_when_the_program_has_forgotten_its_poller() -> None:
    loans = Loans(A)
    woken: list[str] = []
    attend = attending(lambda: loans.held[0] if loans.held else None, lambda: woken.append("woken"))
    attend()
    loans.held.clear()
    attend()
    assert woken == ["woken", "woken"]
    assert loans.take_back() is None
