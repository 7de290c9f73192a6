"""The messages of a SimpleConsumer between start and stop: what is lent to its poller, how far each partition
was consumed, and which errors a program hears of.
"""
# The methods of PartitionPoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from barnabas._kernel import PartitionPoller, RecordReader
from barnabas.broker_errors import OffsetOutOfRangeError
from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.client.consume.failures import Failure
from barnabas.client.consume.partition_state import PartitionState
from barnabas.compat.pykafka._produce.failures import failure_of, is_of_connection
from barnabas.errors import CorruptBatchError
from barnabas.sync.reader_loans import Lent, ReaderLoans, Returned

RETRY_SECONDS = 0.5


class HeldOffset:
    """How far a partition was consumed: what is known of ended loans, and of one that goes on.

    Any thread may ask. A loan ends, and an offset is set, under the lock, so that whoever asks meanwhile
    gets what was before or what is after.
    """

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._offset = -1
        self.topic_id: UUID | None = None
        """Of the topic that it was lent from; None since it was set."""
        self._loan: int | None = None
        self._poller_of: Callable[[], PartitionPoller | None] = _nobody

    def get(self) -> int:
        with self._lock:
            poller = None if self._loan is None else self._poller_of()
            progress = None if poller is None else poller._progress
            if progress is not None and progress[0] == self._loan:
                self._offset = progress[2] - 1
            return self._offset

    def set(self, offset: int) -> None:
        """While nothing is lent."""
        with self._lock:
            self._offset = offset
            self.topic_id = None

    def lent(self, loan: int, poller_of: Callable[[], PartitionPoller | None], topic_id: UUID | None) -> None:
        with self._lock:
            self._poller_of = poller_of
            self._loan = loan
            self.topic_id = topic_id

    def take_back(self, poller: PartitionPoller) -> Returned | None:
        """Ends the loan."""
        with self._lock:
            self._loan = None
            returned = poller._take_back()
            if returned is not None and returned[2]:
                self._offset = returned[3] - 1
            return returned


def _nobody() -> None:
    return None


class OutOfRange(Exception):
    """The partition of this number has nothing at its position."""

    def __init__(self, partition_id: int) -> None:
        super().__init__(partition_id)
        self.partition_id = partition_id


class MessageLoans(ReaderLoans[PartitionPoller]):
    """For the thread whose turn it is. `held`: of each partition, by number, of one topic."""

    def __init__(
        self,
        core: ConsumerCore,
        poller_of: Callable[[], PartitionPoller | None],
        held: Mapping[int, HeldOffset],
    ) -> None:
        super().__init__(core, poller_of)
        self._held = held

    @property
    def is_lent(self) -> bool:
        return self._lent is not None

    def next_lent(self) -> Any | None:
        """The next message of what is lent already, if there is any. A corrupt batch is met again by `next`.
        Raises: what the deserializer raises."""
        poller = self._poller_of()
        if self._lent is None or poller is None:
            return None
        try:
            return poller._next_lent()
        except CorruptBatchError:
            return None

    def _lend(self, poller: PartitionPoller, state: PartitionState, reader: RecordReader) -> int:
        loan = super()._lend(poller, state, reader)
        self._held[state.partition.partition].lent(loan, self._poller_of, state.topic_id)
        return loan

    def _returned(self, poller: PartitionPoller, lent: Lent) -> Returned | None:
        """A thread that asks how far the partition was consumed must not see an ended loan uncounted."""
        return self._held[lent[1].partition.partition].take_back(poller)

    def _error_of(self, failure: Failure) -> BaseException | None:
        """None for what the original asks again for."""
        error, partition = failure.error, failure.partition
        if partition is not None:
            if isinstance(error, OffsetOutOfRangeError):
                return OutOfRange(partition.partition)
            self._try_again_later(partition, RETRY_SECONDS)
        if is_of_connection(error):
            return None
        return failure_of(error)
