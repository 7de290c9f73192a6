"""What is lent of a consumer's fetch buffer to a poller of the kernel, which hands records out one by one: a
thread that finds its next record there runs no Python for it.

Owns the loan: it lends the reader that is next, takes it back, and has the buffer count what was handed out.
Positions are exact while nothing is lent, so whoever looks at them, or moves them, takes the loan back first.
A facade overrides what is its own: which errors a program sees, what comes before the next reader, what else
counts when a loan ends. Knows nothing of groups or commits, or of who waits.
"""
# The methods of Poller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from barnabas._kernel import Poller, RecordReader
from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.client.consume.failures import Failure
from barnabas.client.consume.partition_state import PartitionState
from barnabas.errors import CorruptBatchError
from barnabas.loop_thread import loop_thread
from barnabas.types import TopicPartition

P = TypeVar("P", bound=Poller)

# How often it is looked whether a program goes on that only takes what is lent.
PROGRESS_SECONDS = 0.5

Lent = tuple[int, PartitionState, int]
"""The number of the poller's loan, what it is of, and the epoch of that."""
Returned = tuple[int, RecordReader, int, int, int]
"""See `Poller._take_back`."""


class ReaderLoans(Generic[P]):
    """For one thread at a time. `poller_of` gives the poller, None once the program has forgotten it."""

    def __init__(self, core: ConsumerCore, poller_of: Callable[[], P | None]) -> None:
        self._loop = loop_thread()
        self._partitions, self._buffer = core.partitions, core.buffer
        self._poller_of = poller_of
        self._lent: Lent | None = None

    @property
    def poller(self) -> P:
        """For calls that the poller itself makes."""
        poller = self._poller_of()
        assert poller is not None
        return poller

    def next(self) -> Any | None:
        """The next record that is at hand, with those behind it lent. Raises: what the poller raises, but for
        CorruptBatchError, which is a failure of the partition; what `_next_reader` raises."""
        poller = self._poller_of()
        while poller is not None:
            if self._lent is None:
                found = self._next_reader()
                if found is None:
                    return None
                self._lend(poller, *found)
            try:
                record = poller._next_lent()
            except CorruptBatchError as error:
                self._stop(error)
                continue
            if record is not None:
                return record
            self.take_back(is_exhausted=True)
        return None

    def _stop(self, error: CorruptBatchError) -> None:
        lent = self._lent
        reader = self.take_back()
        if lent is not None and reader is not None:
            self._buffer.stop(lent[1], reader, error)

    def _next_reader(self) -> tuple[PartitionState, RecordReader] | None:
        """What is to be lent next, if there is anything. Raises: what a program is to see of failures."""
        failures = self._partitions.failures
        while failures.waiting and (failure := failures.take()) is not None:
            error = self._error_of(failure)
            if error is not None:
                raise error
        return self._buffer.lend()

    def _lend(self, poller: P, state: PartitionState, reader: RecordReader) -> int:
        """The number of the loan."""
        epoch = state.epoch
        # Before as well: Ctrl-C may come in between.
        self._lent = 0, state, epoch
        loan = poller._lend(reader)
        self._lent = loan, state, epoch
        return loan

    def _error_of(self, failure: Failure) -> BaseException | None:
        """What is to be raised of it; None where the facade has dealt with it."""
        raise NotImplementedError

    def _try_again_later(self, partition: TopicPartition, seconds: float) -> None:
        """Has a partition that stopped after an error go on then."""
        loop, go_on = self._loop, partial(self._partitions.try_again, partition)
        loop.call(lambda: loop.loop.call_later(seconds, go_on))

    def take_back(self, *, is_exhausted: bool = False) -> RecordReader | None:
        """Ends the loan and counts it: its reader, if there was one. `is_exhausted`: it has no more."""
        lent, poller = self._lent, self._poller_of()
        if lent is None or poller is None:
            return None
        returned = self._returned(poller, lent)
        # Not before: Ctrl-C may come in between.
        self._lent = None
        if returned is None:
            return None
        _, reader, taken, _, _ = returned
        state = lent[1]
        position = state.position
        if taken or is_exhausted:
            self._buffer.settle(state, reader, taken, is_exhausted=is_exhausted)
        self._note(lent, returned, position, is_exhausted)
        return reader

    def _returned(self, poller: P, lent: Lent) -> Returned | None:
        return poller._take_back()

    def _note(self, lent: Lent, returned: Returned, position: int, is_exhausted: bool) -> None:
        """What else counts of a loan that ended, and that began at `position` or before."""


def attending(poller_of: Callable[[], Poller | None], wake: Callable[[], None]) -> Callable[[], None]:
    """Has a consumer look at what came up: the poller's next call goes to its subclass, and `wake` wakes who
    waits. Any thread; does not keep the poller alive."""

    def attend() -> None:
        poller = poller_of()
        if poller is not None:
            poller._attend()
        wake()

    return attend


async def watch_progress(
    core: ConsumerCore, poller_of: Callable[[], Poller | None], *, attends: bool = False
) -> None:
    """Records that the kernel hands out alone leave no other trace. `attends`: the poller is to attend then,
    for instance to commits that are due."""
    seen = 0
    while not core.is_closed:
        await asyncio.sleep(PROGRESS_SECONDS)
        poller = poller_of()
        if poller is None:
            return
        if poller._handed_out != seen:
            seen = poller._handed_out
            core.note_progress()
            if attends:
                poller._attend()
        del poller
