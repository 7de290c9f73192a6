"""A transactional id's state, and what each step makes of it (KIP-98, KIP-360, KIP-890).

Owns the rules on epochs and states; every step gives a new state or refuses. Must not know storage, time or
requests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from barnabas.broker_errors import (
    ConcurrentTransactionsError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    ProducerFencedError,
)
from barnabas.types import TopicPartition

NO_EPOCH = NO_PRODUCER_ID = -1
# The greatest epoch is kept for fencing whoever has the one before.
LAST_EPOCH = (1 << 15) - 2
VERSION_WITH_EPOCH_BUMPS = 2
"""In which every end of a transaction begins a new epoch (KIP-890)."""


class TransactionStatus(Enum):
    """Kafka's numbers and names of the states."""

    EMPTY = 0, "Empty"
    ONGOING = 1, "Ongoing"
    PREPARE_COMMIT = 2, "PrepareCommit"
    PREPARE_ABORT = 3, "PrepareAbort"
    COMPLETE_COMMIT = 4, "CompleteCommit"
    COMPLETE_ABORT = 5, "CompleteAbort"
    DEAD = 6, "Dead"
    PREPARE_EPOCH_FENCE = 7, "PrepareEpochFence"

    def __init__(self, number: int, title: str) -> None:
        self.number = number
        self.title = title


PREPARED = (TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """What is known of a transactional id. Times in milliseconds; -1 is none.

    `last_epoch` is the one before, whose owner may have missed the answer that gave it the present one.
    `version` is that of the protocol which the transaction is in.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    timeout_ms: int
    status: TransactionStatus = TransactionStatus.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = -1
    updated_ms: int
    version: int = 0

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= LAST_EPOCH

    @property
    def bumps_epochs(self) -> bool:
        return self.version >= VERSION_WITH_EPOCH_BUMPS

    # Beginning

    def check_beginner(self, expected: tuple[int, int] | None) -> None:
        """Whether the producer that begins anew, and says who it takes itself for, may do so. Raises:
        ProducerFencedError, ConcurrentTransactionsError."""
        if expected is not None and self.producer_epoch != NO_EPOCH:
            producer_id, epoch = expected
            is_retry = producer_id == self.previous_producer_id and epoch >= LAST_EPOCH
            if producer_id != self.producer_id and not is_retry:
                raise self._fenced(f"producer id {producer_id}")
        if self.status in PREPARED:
            raise self._busy()

    def begun(
        self, timeout_ms: int, expected_epoch: int | None, now_ms: int, new_producer_id: int | None
    ) -> TransactionMetadata:
        """For a producer that begins: in the next epoch, or with a new id where epochs are used up. Raises:
        ProducerFencedError."""
        begun = replace(
            self,
            status=TransactionStatus.EMPTY,
            partitions=frozenset[TopicPartition](),
            timeout_ms=timeout_ms,
            next_producer_id=NO_PRODUCER_ID,
            started_ms=-1,
            updated_ms=now_ms,
        )
        if new_producer_id is not None:
            last_epoch = NO_EPOCH if expected_epoch is None else self.producer_epoch
            return replace(
                begun,
                previous_producer_id=self.producer_id,
                producer_id=new_producer_id,
                producer_epoch=0,
                last_epoch=last_epoch,
            )
        if expected_epoch is None:
            return replace(begun, producer_epoch=self.producer_epoch + 1, last_epoch=NO_EPOCH)
        if self.producer_epoch == NO_EPOCH or expected_epoch == self.producer_epoch:
            return replace(begun, producer_epoch=self.producer_epoch + 1, last_epoch=self.producer_epoch)
        if expected_epoch == self.last_epoch:
            return begun
        raise self._fenced(f"epoch {expected_epoch}")

    # Going on

    def check_owner(self, producer_id: int, epoch: int) -> None:
        """Raises: InvalidProducerIdMappingError, ProducerFencedError."""
        if producer_id != self.producer_id:
            raise InvalidProducerIdMappingError(
                f"{self.transactional_id} belongs to producer {self.producer_id}, not {producer_id}"
            )
        if epoch != self.producer_epoch:
            raise self._fenced(f"epoch {epoch}")
        if self.status in PREPARED:
            raise self._busy()

    def with_partitions(
        self, partitions: frozenset[TopicPartition], version: int, now_ms: int
    ) -> TransactionMetadata | None:
        """None if there is nothing new in them."""
        is_ongoing = self.status is TransactionStatus.ONGOING
        if is_ongoing and partitions <= self.partitions:
            return None
        return replace(
            self,
            status=TransactionStatus.ONGOING,
            partitions=self.partitions | partitions,
            started_ms=self.started_ms if is_ongoing else now_ms,
            updated_ms=now_ms,
            version=version,
        )

    # Ending

    def is_retried_end(self, producer_id: int, epoch: int) -> bool:
        """Whether a producer that asks for an end has missed the answer to one that raised its epoch."""
        if not self.bumps_epochs:
            return False
        new_id_was_given = (
            self.previous_producer_id == producer_id and epoch == LAST_EPOCH and self.producer_epoch == 0
        )
        return new_id_was_given or (self.producer_id == producer_id and self.producer_epoch == epoch + 1)

    def check_end(self, *, commit: bool, is_retry: bool, bumps_epochs: bool) -> bool:
        """Whether there is something to end; False where it was ended that way before.

        Raises: InvalidTxnStateError, ProducerFencedError, ConcurrentTransactionsError.
        """
        status = self.status
        wanted = TransactionStatus.COMPLETE_COMMIT if commit else TransactionStatus.COMPLETE_ABORT
        preparing = TransactionStatus.PREPARE_COMMIT if commit else TransactionStatus.PREPARE_ABORT
        if status is TransactionStatus.ONGOING:
            if is_retry:
                raise self._fenced("the epoch before")
            return True
        if status is preparing:
            raise self._busy()
        if is_retry or not bumps_epochs:
            if status is wanted:
                return False
        elif not commit and status not in PREPARED:
            return True
        raise InvalidTxnStateError(
            f"{self.transactional_id} is {status.title}, so that it cannot be "
            f"{'committed' if commit else 'aborted'}"
        )

    def prepared(
        self, *, commit: bool, version: int, next_producer_id: int, now_ms: int
    ) -> TransactionMetadata:
        """With the decision taken; from here on it only goes forward."""
        bumps = version >= VERSION_WITH_EPOCH_BUMPS
        return replace(
            self,
            status=TransactionStatus.PREPARE_COMMIT if commit else TransactionStatus.PREPARE_ABORT,
            next_producer_id=next_producer_id,
            producer_epoch=self.producer_epoch + 1 if bumps else self.producer_epoch,
            last_epoch=self.producer_epoch if bumps else self.last_epoch,
            started_ms=self.started_ms if self.status is TransactionStatus.ONGOING else now_ms,
            updated_ms=now_ms,
            version=version,
        )

    def fenced(self) -> TransactionMetadata:
        """In an epoch that nobody has, for an end that its producer did not ask for."""
        return replace(self, producer_epoch=self.producer_epoch + 1, last_epoch=NO_EPOCH)

    def completed(self, now_ms: int) -> TransactionMetadata:
        """With all markers written."""
        is_commit = self.status is TransactionStatus.PREPARE_COMMIT
        done = replace(
            self,
            status=TransactionStatus.COMPLETE_COMMIT if is_commit else TransactionStatus.COMPLETE_ABORT,
            partitions=frozenset[TopicPartition](),
            updated_ms=now_ms,
        )
        if self.bumps_epochs and self.next_producer_id != NO_PRODUCER_ID:
            return replace(
                done,
                previous_producer_id=self.producer_id,
                producer_id=self.next_producer_id,
                next_producer_id=NO_PRODUCER_ID,
                producer_epoch=0,
            )
        return replace(done, next_producer_id=NO_PRODUCER_ID)

    def _fenced(self, what: str) -> ProducerFencedError:
        return ProducerFencedError(
            f"{self.transactional_id} belongs to producer {self.producer_id} in epoch "
            f"{self.producer_epoch}, not to the one with {what}"
        )

    def _busy(self) -> ConcurrentTransactionsError:
        return ConcurrentTransactionsError(f"the last transaction of {self.transactional_id} is ending")
