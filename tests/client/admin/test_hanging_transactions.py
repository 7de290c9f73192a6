"""Which transactions hang, without any broker."""

from __future__ import annotations

from barnabas.client.admin.hanging_transactions import abort_of, open_before, unknown_to
from barnabas.client.admin.types import AbortTransactionSpec, ProducerState, TransactionDescription
from barnabas.types import TopicPartition

PLACE = TopicPartition("flights", 0)


def producer(producer_id: int, *, last_ms: int = 1_000, start: int | None = 5) -> ProducerState:
    return ProducerState(producer_id, 0, 0, last_ms, None, start)


def described(producer_id: int, state: str, *partitions: TopicPartition) -> TransactionDescription:
    return TransactionDescription(f"id-{producer_id}", 1, state, producer_id, 0, 60_000, 900, partitions)


def test_what_has_no_transaction_or_a_newer_record_is_not_open_for_long() -> None:
    states = [producer(1), producer(2, start=None), producer(3, last_ms=2_000)]
    assert open_before(2_000, {PLACE: states}) == [(PLACE, producer(1))]


def test_a_transaction_hangs_unless_its_coordinator_has_it_open_in_that_partition() -> None:
    found = [(PLACE, producer(1)), (PLACE, producer(2)), (PLACE, producer(3))]
    known = [
        described(1, "Ongoing", PLACE),
        described(2, "Ongoing", TopicPartition("flights", 1)),
        described(3, "CompleteAbort", PLACE),
    ]
    assert unknown_to(known, found) == found[1:]


def test_an_abort_names_epoch_0_where_no_coordinator_has_written_yet() -> None:
    assert abort_of(PLACE, producer(7)) == AbortTransactionSpec(PLACE, 7, 0, 0)
