from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from barnabas import TopicPartition
from barnabas.broker_errors import (
    InvalidProducerEpochError,
    MessageTooLargeError,
    ProducerFencedError,
    TransactionalIdAuthorizationFailedError,
)
from barnabas.client.produce.transactions import FailedBatch, State, Transactions
from barnabas.errors import KafkaTimeoutError, TransactionFailedError, TransactionStateError

PARTITION = TopicPartition("topic", 0)
SENT = FailedBatch(PARTITION, record_count=1, leader_id=1, producer_id=7, producer_epoch=0, base_sequence=0)
UNSENT = replace(SENT, base_sequence=None)


def make(state: State = State.IN_TRANSACTION, *, is_version_2: bool = True) -> Transactions:
    transactions = Transactions("id")
    transactions.is_version_2 = is_version_2
    transactions.can_bump_epoch = True
    transactions.state = state
    return transactions


CALLS: dict[str, Callable[[Transactions], Any]] = {
    "init_transactions": lambda t: t.begin_initializing(),
    "begin_transaction": lambda t: t.begin(),
    "send": lambda t: t.check_open("send"),
    "commit_transaction": lambda t: t.begin_committing(),
    "abort_transaction": lambda t: t.begin_aborting(),
}
ALLOWED = {
    ("init_transactions", State.UNINITIALIZED),
    ("begin_transaction", State.READY),
    ("send", State.IN_TRANSACTION),
    ("commit_transaction", State.IN_TRANSACTION),
    ("abort_transaction", State.IN_TRANSACTION),
    ("abort_transaction", State.ABORTABLE_ERROR),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("state", State)
def test_a_call_in_a_state_that_does_not_allow_it_changes_nothing_and_says_so(
    call: str, state: State
) -> None:
    transactions = make(state)
    if state in (State.ABORTABLE_ERROR, State.FATAL_ERROR):
        transactions.error = ProducerFencedError("fenced")
    if (call, state) in ALLOWED:
        CALLS[call](transactions)
        return
    expected = {State.ABORTABLE_ERROR: TransactionFailedError, State.FATAL_ERROR: ProducerFencedError}
    with pytest.raises(expected.get(state, TransactionStateError)) as caught:
        CALLS[call](transactions)
    assert transactions.state is state
    if isinstance(caught.value, TransactionStateError):
        assert call in str(caught.value)
        assert "'id'" in str(caught.value)


def test_a_failed_batch_leaves_only_the_abort_and_the_first_error_counts() -> None:
    transactions = make()
    transactions.batch_failed(MessageTooLargeError("first"), SENT)
    transactions.batch_failed(KafkaTimeoutError("second"), SENT)
    with pytest.raises(TransactionFailedError, match=r"abort_transaction.*first") as caught:
        transactions.begin_committing()
    assert isinstance(caught.value.__cause__, MessageTooLargeError)
    transactions.begin_aborting()
    transactions.ended()
    transactions.begin()
    assert transactions.state is State.IN_TRANSACTION


def test_an_epoch_that_is_too_old_ends_the_transaction_only_since_the_abort_tells_who_is_fenced() -> None:
    transactions = make()
    transactions.batch_failed(InvalidProducerEpochError(), SENT)
    assert transactions.state is State.ABORTABLE_ERROR


@pytest.mark.parametrize("error", [ProducerFencedError("a"), TransactionalIdAuthorizationFailedError("a")])
def test_a_fatal_error_stays_and_is_raised_anew_by_every_call(error: Any) -> None:
    transactions = make()
    transactions.batch_failed(error, SENT)
    transactions.failed(KafkaTimeoutError("later"))
    raised = []
    for call in CALLS.values():
        with pytest.raises(type(error), match="a") as caught:
            call(transactions)
        raised.append(caught.value)
    assert len({id(each) for each in raised}) == len(CALLS)
    transactions.ended()
    assert transactions.state is State.FATAL_ERROR


def test_in_version_1_a_partition_has_to_wait_until_the_coordinator_knows_of_it() -> None:
    transactions = make(is_version_2=False)
    changes: list[set[TopicPartition]] = []
    transactions.on_change = lambda: changes.append(set(transactions.unregistered))
    assert not transactions.may_send(PARTITION)
    assert not transactions.may_send(PARTITION)
    assert changes == [{PARTITION}]
    assert not transactions.is_begun
    transactions.registered({PARTITION})
    assert transactions.may_send(PARTITION)
    assert transactions.is_begun


def test_in_version_2_a_partition_may_be_written_to_at_once() -> None:
    transactions = make()
    assert transactions.may_send(PARTITION)
    assert transactions.is_begun


@pytest.mark.parametrize("state", sorted(set(State) - {State.IN_TRANSACTION, State.COMMITTING}, key=str))
def test_nothing_new_leaves_outside_of_a_transaction(state: State) -> None:
    assert not make(state).may_send(PARTITION)


def test_in_version_1_a_lost_sequence_needs_a_new_epoch() -> None:
    transactions = make(is_version_2=False)
    transactions.batch_failed(KafkaTimeoutError(), UNSENT)
    assert not transactions.needs_epoch_bump
    transactions.batch_failed(KafkaTimeoutError(), SENT)
    assert transactions.needs_epoch_bump


def test_a_lost_sequence_ends_the_producer_where_brokers_give_no_new_epoch() -> None:
    transactions = make(is_version_2=False)
    transactions.can_bump_epoch = False
    transactions.batch_failed(MessageTooLargeError(), SENT)
    assert transactions.state is State.FATAL_ERROR


def test_an_error_while_aborting_does_not_stop_the_abort() -> None:
    transactions = make(State.ABORTING)
    transactions.batch_failed(KafkaTimeoutError(), SENT)
    assert transactions.state is State.ABORTING


def test_more_errors_may_end_the_producer_than_those_that_do_in_java() -> None:
    for errors, expected in (((), State.ABORTABLE_ERROR), ((InvalidProducerEpochError,), State.FATAL_ERROR)):
        transactions = make()
        transactions.fatal_errors += errors
        transactions.batch_failed(InvalidProducerEpochError("fenced"), SENT)
        assert (transactions.state, transactions.failed_batch) == (expected, SENT)


def test_an_abort_that_fails_is_not_blamed_on_the_batch_that_made_it_necessary() -> None:
    transactions = make()
    transactions.batch_failed(MessageTooLargeError("too large"), SENT)
    transactions.begin_aborting()
    transactions.failed_for_good(ProducerFencedError("fenced"))
    assert transactions.failed_batch is None
