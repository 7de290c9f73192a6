"""The messages of one open consumer: what is lent to its poller, what was taken of it, and events among them.

Owns the loan of a reader to the kernel's `MessagePoller`, and the order of messages and events. Its lock is
held by who lends, takes, and changes what is lent.
"""

# The methods of MessagePoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Container

from barnabas._kernel import Message, MessagePoller, RecordReader
from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.client.consume.failures import Failure
from barnabas.client.consume.partition_state import PartitionState
from barnabas.compat.librdkafka.consume.consumer_events import end_message
from barnabas.compat.librdkafka.consume.stored_offsets import HandedOut, StoredOffsets
from barnabas.errors import CorruptBatchError
from barnabas.types import TopicPartition
from barnabas.values import frozen

BegunAt = dict[TopicPartition, tuple[int, int]]
"""The offset of the first message that was taken of each partition, with the buffer's epoch."""


@frozen
class ShownNames:
    """What topics are called to the program, where that is not what they are called in Kafka."""

    topic: Callable[[str], str]
    event: Callable[[Message], Message]
    """Gives a message that stands for an event the program's names."""


class SessionMessages:
    """`poller` gives the poller, None once the program has forgotten it; `assigned` the partitions that the
    program has. `on_failure` hears of what cannot be read, and may have an event arrive."""

    def __init__(
        self,
        core: ConsumerCore,
        offsets: StoredOffsets,
        *,
        poller: Callable[[], MessagePoller | None],
        assigned: Callable[[], Container[TopicPartition]],
        on_failure: Callable[[Failure], None],
        shown_names: ShownNames | None,
    ) -> None:
        self._client = core.client
        self._partitions, self._buffer = core.partitions, core.buffer
        self._offsets = offsets
        self._poller_of = poller
        self._assigned = assigned
        self._on_failure = on_failure
        self._shown_names = shown_names
        self.lock = threading.RLock()
        self.arrived: deque[Message] = deque()
        """Events, and messages that were taken and given to nobody."""
        self._lent: tuple[int, PartitionState, int] | None = None
        """The number of the poller's loan, what it is of, and the buffer's epoch of that."""

    @property
    def _poller(self) -> MessagePoller:
        """For calls that the poller itself makes."""
        poller = self._poller_of()
        assert poller is not None
        return poller

    def take_one(self) -> Message | None:
        with self.lock:
            while True:
                try:
                    message = self._poller._next_message()
                except CorruptBatchError as error:
                    self._stop_lent(error)
                    continue
                if message is not None:
                    return message
                self.take_back(is_exhausted=True)
                if self.arrived:
                    return self._next_arrived()
                if not self._lend_next():
                    return None

    def take_many(self, messages: list[Message], limit: int, begun_at: BegunAt) -> None:
        with self.lock:
            self.take_back()
            while (missing := limit - len(messages)) > 0:
                if self.arrived:
                    messages.append(self._next_arrived())
                    continue
                lent = self._next_reader()
                if lent is None:
                    if self.arrived:
                        continue
                    return
                state, reader = lent
                epoch = state.epoch
                try:
                    taken = reader.take_messages(missing)
                except CorruptBatchError as error:
                    self._buffer.stop(state, reader, error)
                    continue
                if taken:
                    begun_at.setdefault(state.partition, (taken[0].offset() or 0, epoch))
                    next_offset: int = (taken[-1].offset() or 0) + 1
                    self._was_read(state, epoch, next_offset, reader.last_leader_epoch)
                    messages += taken
                else:
                    self._was_exhausted(state, epoch, reader)
                self._buffer.settle(state, reader, len(taken), is_exhausted=not taken)

    def unread(self, messages: list[Message], begun_at: BegunAt) -> None:
        """Nobody was given what was taken: it is read again, and not committed as read until then."""
        with self.lock:
            again: set[tuple[str, int]] = set()
            for partition, (offset, epoch) in begun_at.items():
                is_here = partition in self._assigned() and partition in self._partitions.assignment
                # A callback may have sought another place.
                if is_here and self._partitions.state(partition).epoch == epoch:
                    self._offsets.was_unread(partition, offset)
                    self._partitions.seek(partition, offset)
                    shown = self._shown_names
                    topic = partition.topic if shown is None else shown.topic(partition.topic)
                    again.add((topic, partition.partition))
            # Events, and what was committed as read when its partition was given up.
            left = [m for m in messages if (m.topic(), m.partition()) not in again]
            self.arrived.extendleft(reversed(left))

    def _next_reader(self) -> tuple[PartitionState, RecordReader] | None:
        """What is to be read next. None where that is an event, which has arrived, or nothing."""
        if (failure := self._partitions.failures.take()) is not None:
            self._on_failure(failure)
            return None
        lent = self._buffer.lend()
        if lent is not None and lent[0].partition not in self._assigned():
            # The group has given it; the program takes it over in a poll of another thread.
            return None
        if lent is not None and self._shown_names is not None:
            lent[1].show_topic(self._shown_names.topic(lent[1].topic))
        if lent is None and self._buffer.has_ends:
            for partition, offset in self._buffer.take_ends().items():
                self.arrived.append(self._end_message(partition, offset))
        return lent

    def _next_arrived(self) -> Message:
        event = self.arrived.popleft()
        return event if self._shown_names is None else self._shown_names.event(event)

    def _lend_next(self) -> bool:
        """Whether there is a next reader or an event."""
        lent = self._next_reader()
        if lent is None:
            return bool(self.arrived)
        state, reader = lent
        epoch = state.epoch
        self._lent = self._poller._lend(reader), state, epoch
        return True

    def settle(self) -> None:
        """Counts what single polls have given: positions and stored offsets are exact from here on."""
        with self.lock:
            self.take_back()

    def take_back(self, *, is_exhausted: bool = False) -> RecordReader | None:
        """The reader that was lent, if one was."""
        loan, lent = self._poller._take_back(), self._lent
        self._lent = None
        if loan is None or lent is None:
            return None
        _, reader, taken, next_offset, leader_epoch = loan
        _, state, epoch = lent
        if is_exhausted:
            self._was_exhausted(state, epoch, reader)
        elif taken:
            self._was_read(state, epoch, next_offset, leader_epoch)
        self._buffer.settle(state, reader, taken, is_exhausted=is_exhausted)
        return reader

    def _was_read(self, state: PartitionState, epoch: int, next_offset: int, leader_epoch: int) -> None:
        handed_out = HandedOut(state.partition, next_offset, leader_epoch, epoch, state.highest_known_offset)
        self._offsets.was_read(handed_out)

    def _was_exhausted(self, state: PartitionState, epoch: int, reader: RecordReader) -> None:
        """Behind the last message there may be markers of transactions, which count as read."""
        if reader.next_offset > state.position:
            self._was_read(state, epoch, reader.next_offset, reader.last_leader_epoch)

    def _stop_lent(self, error: CorruptBatchError) -> None:
        lent = self._lent
        reader = self.take_back()
        if lent is not None and reader is not None:
            self._buffer.stop(lent[1], reader, error)

    def handed_out(self) -> HandedOut | None:
        """How far single polls have come with what is lent, without waiting for the thread that polls."""
        poller, lent = self._poller_of(), self._lent
        progress = None if poller is None else poller._progress
        if progress is None or lent is None or progress[0] != lent[0]:
            return None
        _, _, next_offset, leader_epoch = progress
        _, state, epoch = lent
        return HandedOut(state.partition, next_offset, leader_epoch, epoch, state.highest_known_offset)

    def _end_message(self, partition: TopicPartition, offset: int) -> Message:
        metadata = self._client.metadata
        return end_message(partition, offset, self._partitions.state(partition).high_watermark, metadata)
