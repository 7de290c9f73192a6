"""The messages of one open consumer: what is lent to its poller, what was taken of it, and events among them.

Owns the order of messages and events. Its lock is held by who lends, takes, and changes what is lent.
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
from barnabas.sync.reader_loans import Lent, ReaderLoans, Returned
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


class SessionMessages(ReaderLoans[MessagePoller]):
    """`assigned` gives the partitions that the program has. `on_failure` hears of what cannot be read, and
    may have an event arrive."""

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
        super().__init__(core, poller)
        self._client = core.client
        self._offsets = offsets
        self._assigned = assigned
        self._on_failure = on_failure
        self._shown_names = shown_names
        self.lock = threading.RLock()
        self.arrived: deque[Message] = deque()
        """Events, and messages that were taken and given to nobody."""

    def take_one(self) -> Message | None:
        with self.lock:
            message: Message | None = self.next()
            return self._next_arrived() if message is None and self.arrived else message

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
                epoch, position = state.epoch, state.position
                try:
                    taken = reader.take_messages(missing)
                except CorruptBatchError as error:
                    self._buffer.stop(state, reader, error)
                    continue
                if taken:
                    begun_at.setdefault(state.partition, (taken[0].offset() or 0, epoch))
                    messages += taken
                next_offset = (taken[-1].offset() or 0) + 1 if taken else -1
                returned = 0, reader, len(taken), next_offset, reader.last_leader_epoch
                self._buffer.settle(state, reader, len(taken), is_exhausted=not taken)
                self._note((0, state, epoch), returned, position, not taken)

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
        while not self.arrived and (failure := self._partitions.failures.take()) is not None:
            self._on_failure(failure)
        if self.arrived:
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

    def settle(self) -> None:
        """Counts what single polls have given: positions and stored offsets are exact from here on."""
        with self.lock:
            self.take_back()

    def _note(self, lent: Lent, returned: Returned, position: int, is_exhausted: bool) -> None:
        _, state, epoch = lent
        _, reader, taken, next_offset, leader_epoch = returned
        was_read = taken > 0
        if is_exhausted:
            # Behind the last message there may be markers of transactions, which count as read.
            next_offset, leader_epoch = reader.next_offset, reader.last_leader_epoch
            was_read = next_offset > position
        if was_read:
            known = state.highest_known_offset
            self._offsets.was_read(HandedOut(state.partition, next_offset, leader_epoch, epoch, known))

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
