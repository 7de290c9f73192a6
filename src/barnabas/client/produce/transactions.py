"""The state of a producer's transactions: which calls are allowed, and what an error means (KIP-98, KIP-890).

Owns the states, the partitions of the open transaction and the first error in it. Does no I/O, and must not
know requests, batches or how anybody waits.

    UNINITIALIZED -> INITIALIZING -> READY -> IN_TRANSACTION -> COMMITTING or ABORTING -> READY
    IN_TRANSACTION, COMMITTING -> ABORTABLE_ERROR -> ABORTING
    COMMITTING -> UNINITIALIZED, where somebody else ends the transaction
    every state -> FATAL_ERROR
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from enum import Enum

from barnabas.broker_errors import (
    ClusterAuthorizationFailedError,
    InvalidProducerIdMappingError,
    ProducerFencedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
)
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.errors import (
    BarnabasError,
    BrokerError,
    NoCommonVersionError,
    TransactionFailedError,
    TransactionStateError,
)
from barnabas.types import TopicPartition
from barnabas.values import frozen

FATAL_ERRORS = (
    ClusterAuthorizationFailedError,
    InvalidProducerIdMappingError,
    NoCommonVersionError,
    ProducerFencedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
)
"""A batch that fails with one of these ends the producer; with any other, only the transaction."""


class State(Enum):
    UNINITIALIZED = "not initialized"
    INITIALIZING = "being initialized"
    READY = "initialized, and not in a transaction"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "in a transaction that failed"
    FATAL_ERROR = "unusable"


_NEXT_CALL = {
    State.UNINITIALIZED: "call init_transactions first",
    State.INITIALIZING: "call init_transactions again, to wait until it is done",
    State.READY: "call begin_transaction first",
    State.IN_TRANSACTION: "commit or abort the open transaction first",
    State.COMMITTING: "call commit_transaction again, to wait until it is done",
    State.ABORTING: "call abort_transaction again, to wait until it is done",
}


@frozen
class FailedBatch:
    """The batch that a transaction failed with. `base_sequence` None: it was never sent."""

    partition: TopicPartition
    record_count: int
    leader_id: int
    producer_id: int
    producer_epoch: int
    base_sequence: int | None
    is_added: bool = True
    """Whether the coordinator knew the partition as one of the transaction's before. In version 2 its first
    batch makes it one."""


@frozen
class RefusedOffsets:
    """The latest answer to a group's offsets that did not take them all into the open transaction."""

    error: BrokerError
    """That of them which decides."""
    codes: dict[TopicPartition, int]
    """Of the partitions that were refused."""
    coordinator: str
    """Who answered, as host:port/node id."""
    answer_time_ms: float


class Transactions:
    """`on_change` is called after a step that somebody else has to follow up: an error, or a partition that
    the coordinator has to be told of."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self._state = State.UNINITIALIZED
        self.error: BarnabasError | None = None
        """What ended the open transaction, or the producer."""
        self.failed_batch: FailedBatch | None = None
        """The batch that it was, where it was one."""
        self.refused_offsets: RefusedOffsets | None = None
        """Offsets that the open transaction does not have, at least not yet."""
        self.partitions: set[TopicPartition] = set()
        """Partitions of the open transaction that may be written to."""
        self.unregistered: set[TopicPartition] = set()
        """Partitions with records that have to wait until the coordinator knows of them (version 1)."""
        self.is_version_2 = False
        """Whether brokers add partitions by themselves, and each transaction has an epoch (KIP-890)."""
        self.is_begun = False
        """Whether the coordinator may know of the open transaction, so that it has to be told of its end."""
        self.is_uncertain = False
        """Whether it may just as well know of none, as an answer was lost."""
        self.can_bump_epoch = False
        """Whether the coordinator gives a new epoch when it is asked for one (KIP-360)."""
        self.needs_epoch_bump = False
        """Whether sequences have a gap now, so that the next transaction needs a new epoch (version 1)."""
        self.unresolved: set[TopicPartition] = set()
        """Partitions with a batch that was given up, and which the broker may still store (version 1)."""
        self.fatal_errors: tuple[type[BarnabasError], ...] = FATAL_ERRORS
        """A facade may have other ones."""
        self.told: Callable[[BarnabasError, FailedBatch], BarnabasError] = lambda error, batch: error
        """What the records of a batch that failed are told. A facade may have its own words."""
        self.on_change: Callable[[], object] = lambda: None
        self.on_state: Callable[[State, State], object] = lambda previous, state: None
        """Called with each state that is left, and the one that is entered."""

    @property
    def state(self) -> State:
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        previous, self._state = self._state, state
        if previous is not state:
            self.on_state(previous, state)

    # What the user calls

    def begin_initializing(self) -> None:
        self._allow("init_transactions", State.UNINITIALIZED)
        self.state = State.INITIALIZING

    def initialized(self) -> None:
        if self.state is State.INITIALIZING:
            self.state = State.READY

    def not_initialized(self) -> None:
        """It failed for a reason that may pass: it may be tried again."""
        if self.state is State.INITIALIZING:
            self.state = State.UNINITIALIZED

    def begin(self) -> None:
        self._allow("begin_transaction", State.READY)
        self.failed_batch = None
        self.refused_offsets = None
        self.state = State.IN_TRANSACTION

    def begin_committing(self) -> None:
        self._allow("commit_transaction", State.IN_TRANSACTION)
        self.state = State.COMMITTING

    def begin_aborting(self) -> None:
        if self.state is not State.ABORTABLE_ERROR:
            self._allow("abort_transaction", State.IN_TRANSACTION)
        self.state = State.ABORTING
        self.error = None
        self.failed_batch = None
        self.unregistered.clear()

    def ended(self) -> None:
        """The transaction is committed or aborted."""
        if self.state is State.FATAL_ERROR:
            return
        self.state = State.READY
        self.error = None
        self.is_begun = False
        self.is_uncertain = False
        self.partitions.clear()
        self.unregistered.clear()
        self.unresolved.clear()

    def handed_over(self) -> None:
        """Somebody else ends the transaction: only a new initialization makes the producer usable again."""
        self.ended()
        if self.state is State.READY:
            self.state = State.UNINITIALIZED

    def check_open(self, call: str) -> None:
        """Raises: TransactionStateError, TransactionFailedError, or the fatal error, unless in a transaction
        to which more can be added."""
        self._allow(call, State.IN_TRANSACTION)

    @property
    def is_open(self) -> bool:
        """Whether a transaction has begun that is not ended, nor about to be."""
        return self.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR)

    # What the sender meets

    def may_send(self, partition: TopicPartition) -> bool:
        """Whether new batches of this partition may leave. If not for now, `on_change` is called in time."""
        if self.state not in (State.IN_TRANSACTION, State.COMMITTING):
            return False
        if partition in self.partitions:
            return True
        if self.is_version_2:
            self.partitions.add(partition)
            self.is_begun = True
            return True
        if partition not in self.unregistered:
            self.unregistered.add(partition)
            self.on_change()
        return False

    def registered(self, partitions: set[TopicPartition]) -> None:
        """The coordinator knows of these now."""
        self.is_begun = True
        self.unregistered -= partitions
        self.partitions |= partitions

    def failed_by(
        self,
        error: BarnabasError,
        queue: PartitionQueue,
        pending: PendingBatch,
        leader_id: int,
        place: tuple[int, int],
    ) -> BarnabasError:
        """As `batch_failed`; gives the error for those who sent its records. `place`: the producer's id and
        epoch."""
        is_added = not self.is_version_2 or queue.is_known_to_brokers
        batch = FailedBatch(
            queue.partition, pending.record_count, leader_id, *place, pending.sequence, is_added
        )
        self.batch_failed(error, batch)
        return self.told(error, batch)

    def batch_failed(self, error: BarnabasError, batch: FailedBatch) -> None:
        """A batch of the transaction is given up. If it was sent, the broker may lack its sequence."""
        if self.error is None:
            self.failed_batch = batch
        if batch.base_sequence is not None and not self.is_version_2:
            self.needs_epoch_bump = True
            self.unresolved.add(batch.partition)
            if not self.can_bump_epoch:
                self.failed_for_good(error, batch)
                return
        if isinstance(error, self.fatal_errors):
            self.failed_for_good(error, batch)
        else:
            self.failed(error)

    def give_up_offsets(self) -> None:
        """Offsets that were refused for a reason that may pass are not waited for any longer. On the event
        loop."""
        if self.refused_offsets is not None:
            self.failed(self.refused_offsets.error)

    # Errors

    def failed(self, error: BarnabasError) -> None:
        """The open transaction can only be aborted from now on. The first error counts."""
        if self.state in (State.IN_TRANSACTION, State.COMMITTING):
            self.error = error
            self.state = State.ABORTABLE_ERROR
            self.on_change()

    def abort_failed(self, error: BarnabasError) -> None:
        """The abort was refused for a reason that may pass: it may be called again."""
        if self.state is State.ABORTING:
            self.error = error
            self.state = State.ABORTABLE_ERROR

    def failed_for_good(self, error: BarnabasError, batch: FailedBatch | None = None) -> None:
        """The producer can do nothing more, for a batch's sake if one is given. The first error counts."""
        if self.state is not State.FATAL_ERROR:
            self.error = error
            self.state = State.FATAL_ERROR
            self.failed_batch = batch
            self.on_change()

    def raise_error(self) -> None:
        """Raises what a caller meets in the present state, if that is an error."""
        if self.error is None:
            return
        if self.state is State.FATAL_ERROR:
            raise _again(self.error) from self.error
        if self.state is State.ABORTABLE_ERROR:
            raise TransactionFailedError(
                f"the transaction of {self.transactional_id!r} has failed and has to be aborted (call "
                f"abort_transaction): {self.error}"
            ) from self.error

    def _allow(self, call: str, state: State) -> None:
        if self.state is state:
            return
        self.raise_error()
        raise TransactionStateError(
            f"{call}: the producer {self.transactional_id!r} is {self.state.value}: "
            f"{_NEXT_CALL.get(self.state, 'make a new one')}"
        )


def _again(error: BarnabasError) -> BarnabasError:
    """The same error, to be raised once more: an exception keeps the traceback of where it was raised."""
    if isinstance(error, BrokerError):
        return copy(error)
    return type(error)(str(error))
