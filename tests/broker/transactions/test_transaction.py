"""The rules on epochs and states that take too many requests to reach through a broker."""

from __future__ import annotations

import pytest

from barnabas.broker.transactions.transaction import LAST_EPOCH, TransactionMetadata, TransactionStatus
from barnabas.broker_errors import ProducerFencedError
from barnabas.types import TopicPartition

OLD_ID, NEW_ID, NOW_MS = 7, 8, 1000


def metadata(epoch: int, status: TransactionStatus = TransactionStatus.ONGOING) -> TransactionMetadata:
    return TransactionMetadata(
        transactional_id="t",
        producer_id=OLD_ID,
        producer_epoch=epoch,
        timeout_ms=1,
        status=status,
        partitions=frozenset({TopicPartition("topic", 0)}),
        updated_ms=0,
    )


def test_a_producer_whose_epochs_are_used_up_gets_a_new_id_and_is_known_when_it_asks_again() -> None:
    used_up = metadata(LAST_EPOCH, TransactionStatus.COMPLETE_COMMIT)
    assert used_up.is_epoch_exhausted
    begun = used_up.begun(1, LAST_EPOCH, NOW_MS, NEW_ID)
    assert (begun.producer_id, begun.producer_epoch, begun.last_epoch) == (NEW_ID, 0, LAST_EPOCH)
    begun.check_beginner((OLD_ID, LAST_EPOCH))
    assert begun.begun(1, LAST_EPOCH, NOW_MS, None).producer_epoch == 0
    with pytest.raises(ProducerFencedError):
        begun.check_beginner((OLD_ID, LAST_EPOCH - 1))


def test_an_end_in_the_last_epoch_gives_a_new_id_and_may_be_asked_for_again() -> None:
    prepared = metadata(LAST_EPOCH).prepared(commit=True, version=2, next_producer_id=NEW_ID, now_ms=NOW_MS)
    # The marker fences with an epoch that no producer ever has.
    assert (prepared.producer_id, prepared.producer_epoch) == (OLD_ID, LAST_EPOCH + 1)
    completed = prepared.completed(NOW_MS)
    assert (completed.producer_id, completed.producer_epoch) == (NEW_ID, 0)
    assert (completed.status, completed.partitions) == (TransactionStatus.COMPLETE_COMMIT, frozenset())
    assert completed.is_retried_end(OLD_ID, LAST_EPOCH)
    assert not completed.check_end(commit=True, is_retry=True, bumps_epochs=True)
    assert not completed.is_retried_end(OLD_ID, LAST_EPOCH - 1)


def test_an_abort_that_nobody_asked_for_fences_in_the_first_protocol_in_an_epoch_of_its_own() -> None:
    fenced = metadata(3).fenced()
    prepared = fenced.prepared(commit=False, version=0, next_producer_id=-1, now_ms=NOW_MS)
    assert (prepared.producer_epoch, prepared.completed(NOW_MS).producer_epoch) == (4, 4)
