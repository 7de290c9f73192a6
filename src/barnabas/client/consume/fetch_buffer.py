"""What was fetched and not yet returned to the caller, and where each partition stands.

Owns positions, pauses and the queues of decoded readers of the assigned partitions. It is where two threads
meet: the event loop's appends what it fetched, the caller's takes records, so a poll that finds data never
crosses over to the loop. Knows nothing of brokers, requests or groups.

Invariants: a position moves only when records are returned; what was fetched for an older epoch of a
partition (before a seek, or before the partition was given away) is dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from barnabas import _kernel
from barnabas._kernel import ArrowRecords, BatchOpeners, FrameRoom, Record, RecordReader
from barnabas.client.consume.partition_state import (
    NO_END_OFFSET,
    Failure,
    GivenBack,
    PartitionEnd,
    PartitionState,
    Reader,
    StartingPoint,
)
from barnabas.errors import BarnabasError, CorruptBatchError, MisuseError
from barnabas.types import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import FetchCredit

# Columns much larger than the processor's cache take twice as long to make, record for record.
ARROW_BATCH_BYTES = 4 << 20
# What is decompressed much ahead of its turn has left the processor's cache when it comes.
OPENED_AHEAD_BYTES = 4 << 20

# Less of the queue than this part is not fetched by itself: memory would be in many pieces, of all sizes.
LEAST_SHARE_OF_ROOM = 4


class FetchBuffer:
    """The assigned partitions. Thread safe, but only one thread at a time may take records."""

    def __init__(
        self,
        queued_max_bytes: int,
        *,
        on_data: Callable[[], None],
        on_room: Callable[[], None],
        on_lookup: Callable[[], None],
    ) -> None:
        """`on_data` is called when there is something new to take, `on_room` when there is something new to
        fetch (room in the queue, or a position), `on_lookup` when a position has to be looked up."""
        self._queued_max_bytes = queued_max_bytes
        self._on_data = on_data
        self._on_room = on_room
        self._on_lookup = on_lookup
        self._frame_room = FrameRoom(queued_max_bytes * 13 // 8)
        """Also for the frame that is being read, and for those kept by what another partition has in them."""
        self.least_room = max(1, queued_max_bytes // LEAST_SHARE_OF_ROOM)
        self._openers = BatchOpeners(min(queued_max_bytes, OPENED_AHEAD_BYTES))
        self._lock = threading.Lock()
        self._states: dict[TopicPartition, PartitionState] = {}
        self._queue: deque[PartitionState] = deque()
        self._failures: deque[Failure] = deque()
        self._next_epoch = 0
        self._partition_bytes = queued_max_bytes
        self._lacks_room = False
        self._has_end_offsets = False
        self._poll = 0
        self._ends: dict[TopicPartition, int] = {}
        self.is_held = False
        """Nothing is fetched at present, whatever room there is."""
        self.on_made_again: Callable[[list[TopicPartition]], object] = lambda _: None
        """Is called, in the thread that takes, with partitions of a topic that was made again, when all that
        was fetched of the old one is taken."""
        self.on_stopped: Callable[[TopicPartition, int], object] = lambda partition, position: None
        """Is called, on any thread, with a partition that stops after an error, and its position."""
        self._lacks_topics = False

    # The assignment.

    @property
    def paused(self) -> list[TopicPartition]:
        return [state.partition for state in self.states() if state.is_paused]

    @property
    def assignment(self) -> list[TopicPartition]:
        return list(self._states)

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions to read from now on, from where was committed. Those that are there already stay."""
        with self._lock:
            for partition in partitions:
                if partition not in self._states:
                    self._states[partition] = PartitionState(partition, self._new_epoch())
            self._divide()
        self._on_lookup()

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Forgets partitions and what was fetched of them."""
        removed: list[PartitionState] = []
        with self._lock:
            for partition in partitions:
                state = self._states.pop(partition, None)
                if state is not None:
                    self._forget(state)
                    self._drop_failures(partition)
                    removed.append(state)
            self._divide()
        self._tell_of_less(removed)

    def state(self, partition: TopicPartition) -> PartitionState:
        """Raises: MisuseError where the partition is not assigned."""
        state = self._states.get(partition)
        if state is None:
            raise MisuseError(
                f"{partition} is not assigned to this consumer: assign or subscribe to it first"
            )
        return state

    def states(self) -> list[PartitionState]:
        with self._lock:
            return list(self._states.values())

    # Positions.

    def position(self, partition: TopicPartition) -> int | None:
        """The offset of the next record, from any thread; None where it has to be found first.

        Raises: MisuseError where the partition is not assigned.
        """
        with self._lock:
            state = self.state(partition)
            return state.position if state.has_position else None

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """The next record to return. What was fetched from another position is dropped."""
        state = self.state(partition)
        with self._lock:
            is_there = state.has_position and state.position == offset and state.next_topic_id is None
            if is_there and not state.is_stopped:
                return
            self._enter_next_topic(state)
            self._move(state, offset, leader_epoch)
            self._drop_failures(partition)
        self._on_room()

    def seek_to(self, partition: TopicPartition, starting_point: StartingPoint) -> None:
        """The position is to be looked up before anything is fetched."""
        state = self.state(partition)
        with self._lock:
            self._enter_next_topic(state)
            self._forget(state)
            self._drop_failures(partition)
            state.starting_point = starting_point
            state.is_stopped = False
        self._on_lookup()
        self._tell_of_less([state])

    def out_of_range(self, state: PartitionState, epoch: int) -> None:
        """The position is not in the partition (any more)."""
        with self._lock:
            # What was fetched before is taken first; then another fetch tells whether this is still so.
            if not self._is_current(state, epoch) or state.readers:
                return
            self._forget(state)
            state.starting_point = "reset"
        self._on_lookup()

    def made_again(self, states: Sequence[PartitionState], topic_id: UUID) -> None:
        """Their topic was deleted, and another one has its name: nothing more is fetched from where they
        stand. When all that was fetched is taken, the next take has the positions looked up anew."""
        with self._lock:
            for state in states:
                if self._states.get(state.partition) is state:
                    # What is under way may be of either topic, where brokers go by names.
                    state.epoch = self._new_epoch()
                    state.next_topic_id = topic_id
                    self._lacks_topics = True
        self._on_data()
        self._tell_of_less(states)

    def _begin_anew(self) -> None:
        """In the thread that takes: what it has taken it may yet give back."""
        with self._lock:
            waiting = [state for state in self._states.values() if state.next_topic_id is not None]
            begun = [state for state in waiting if not state.readers]
            self._lacks_topics = len(begun) < len(waiting)
            for state in begun:
                self._forget(state)
                self._enter_next_topic(state)
                state.starting_point = "made again"
                state.is_stopped = False
        if begun:
            self.on_made_again([state.partition for state in begun])
            self._on_lookup()

    def forget_topic_ids(self) -> None:
        """They are not known: the next look at metadata tells them."""
        for state in self.states():
            state.topic_id = None

    def topic_ids(self) -> dict[TopicPartition, UUID]:
        """Of the topics that positions are in: where one was made again, some may still be in the old one.
        For a commit they are asked for before the positions: brokers refuse a new position with an old id,
        and would take an old one with a new id."""
        with self._lock:
            return {
                state.partition: state.topic_id
                for state in self._states.values()
                if state.topic_id is not None
            }

    def truncated(
        self,
        state: PartitionState,
        epoch: int,
        end_offset: int,
        leader_epoch: int,
        error: BarnabasError | None,
    ) -> bool:
        """The log ends, with `leader_epoch`, at `end_offset` (-1: nobody knows where), before what was read.
        Goes on there, or stops with `error`. False where that is for another fetch to tell."""
        with self._lock:
            if not self._is_current(state, epoch) or state.readers:
                return False
            if error is None and end_offset >= 0:
                self._move(state, end_offset, leader_epoch)
            elif error is None:
                self._forget(state)
                state.starting_point = "reset"
            else:
                state.is_stopped = True
                self._failures.append(Failure(error, state.partition, state.position))
        if error is not None:
            self._on_data()
            self.on_stopped(state.partition, state.position)
        elif state.has_position:
            self._on_room()
        else:
            self._on_lookup()
        self._tell_of_less([state])
        return True

    def forget_leader_epoch(self, state: PartitionState, epoch: int) -> None:
        """Has the next fetch not checked against what was fetched before."""
        with self._lock:
            if self._is_current(state, epoch):
                state.fetch_leader_epoch = -1

    def found_position(self, state: PartitionState, epoch: int, offset: int, leader_epoch: int = -1) -> None:
        """The outcome of a look-up that began at `epoch`; too late for a state that changed since."""
        with self._lock:
            if not self._is_current(state, epoch) or state.has_position:
                return
            self._move(state, offset, leader_epoch)
        self._on_room()

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit stores: the next offset of each partition that has a position."""
        with self._lock:
            return {
                state.partition: OffsetAndMetadata(
                    state.position, "", None if state.leader_epoch < 0 else state.leader_epoch
                )
                for state in self._states.values()
                if state.has_position
            }

    def begin_poll(self) -> None:
        """What was returned before is handled: the caller asks for more. In the caller's thread."""
        self._poll += 1

    def note_handled(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """The caller has got so far with what the last poll returned: it commits this."""
        with self._lock:
            for partition, offset in offsets.items():
                state = self._states.get(partition)
                if state is not None and offset.offset > state.handled_position:
                    leader_epoch = -1 if offset.leader_epoch is None else offset.leader_epoch
                    state.handled_position, state.handled_leader_epoch = offset.offset, leader_epoch

    def take_back(self) -> None:
        """What the last poll returned, and the caller has not handled, is to be read again: the poll was
        interrupted, or the caller was while it worked on that."""
        with self._lock:
            for state in self._states.values():
                if not state.has_position:
                    continue
                position, leader_epoch = state.position, state.leader_epoch
                if state.returned_by == self._poll and state.handled_position < position:
                    position, leader_epoch = state.handled_position, state.handled_leader_epoch
                if state.is_stopped:
                    state.position, state.leader_epoch = position, leader_epoch
                elif position < state.position or self._is_read_ahead(state):
                    self._move(state, position, leader_epoch)
        self._on_room()

    def awaiting_position(self) -> list[PartitionState]:
        with self._lock:
            return [s for s in self._states.values() if not s.has_position and not s.is_stopped]

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Takes nothing from these partitions, but keeps what was fetched of them."""
        states = [self.state(partition) for partition in partitions]
        with self._lock:
            for state in states:
                state.is_paused = True
                self._unqueue(state)
        self._tell_of_less(states)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        states = [self.state(partition) for partition in partitions]
        with self._lock:
            for state in states:
                state.is_paused = False
                self._enqueue(state)
        self._on_data()
        self._on_room()

    # The fetcher's side.

    def room(self) -> int:
        """Bytes that may be fetched now; 0 while that would only be a small part of what an answer may bring.
        What cannot be taken at present, of a partition that is paused or read to its end offset, does not
        keep the others from being read."""
        with self._lock:
            queued = sum(state.queued_bytes for state in self._queue if state.position < state.end_offset)
            room = self._queued_max_bytes - queued
            self._lacks_room = room < self.least_room
        return 0 if self._lacks_room else room

    def wants_more(self, state: PartitionState) -> bool:
        """Whether there is a position to fetch from and room for what comes."""
        return self.is_read(state) and state.queued_bytes < self._partition_bytes

    def is_read(self, state: PartitionState) -> bool:
        """Whether there is a position to fetch from, and nothing but room may be missing."""
        return (
            state.has_position
            and not self.is_held
            and not state.is_paused
            and not state.is_stopped
            and state.next_topic_id is None
            and state.fetch_offset < state.end_offset
        )

    def is_full(self, state: PartitionState) -> bool:
        """Whether nothing is fetched from the partition since its share of the queue is full."""
        return self.is_read(state) and state.queued_bytes >= self._partition_bytes

    @property
    def partition_bytes(self) -> int:
        """Each partition's share of the queue."""
        return self._partition_bytes

    def open_credit(
        self, states: Sequence[PartitionState], make: Callable[[list[int], int], FetchCredit]
    ) -> FetchCredit:
        """For someone who fetches these partitions without asking for room: learns of all that is taken.
        `make` gets the bytes that are queued of each, and the share that each may have."""
        with self._lock:
            credit = make([state.queued_bytes for state in states], self._partition_bytes)
            for place, state in enumerate(states):
                state.credit, state.credit_place = credit, place
        return credit

    def close_credit(self, states: Iterable[PartitionState], credit: FetchCredit) -> None:
        with self._lock:
            for state in states:
                if state.credit is credit:
                    state.credit = None

    def release(self) -> None:
        """Ends `is_held`."""
        self.is_held = False
        self._on_room()

    def append(
        self,
        state: PartitionState,
        epoch: int,
        fetch_offset: int,
        reader: RecordReader,
        size: int,
        next_fetch_offset: int,
        next_leader_epoch: int = -1,
    ) -> None:
        """`size` bytes were fetched from `fetch_offset` on; the fetch was made at `epoch`. The last record in
        them has `next_leader_epoch`."""
        if self.take_in(state, epoch, fetch_offset, reader, size, next_fetch_offset, next_leader_epoch):
            self._on_data()

    def take_in(
        self,
        state: PartitionState,
        epoch: int,
        fetch_offset: int,
        reader: RecordReader,
        size: int,
        next_fetch_offset: int,
        next_leader_epoch: int,
    ) -> bool:
        """As `append`, for a caller that sees for itself that there is something new, if it was taken."""
        with self._lock:
            if not self._is_current(state, epoch) or state.fetch_offset != fetch_offset:
                return False
            self._openers.open_ahead(reader)
            state.readers.append((reader, size))
            state.queued_bytes += size
            state.fetched_bytes += size
            state.highest_known_offset = max(
                state.highest_known_offset, state.high_watermark, next_fetch_offset
            )
            state.fetch_offset = next_fetch_offset
            state.fetch_leader_epoch = next_leader_epoch
            self._enqueue(state)
        return True

    def mark_end(self, state: PartitionState, epoch: int, offset: int) -> None:
        """There is nothing at `offset`, which is to be fetched next. Once for each such place."""
        with self._lock:
            if not self._is_current(state, epoch) or state.fetch_offset != offset:
                return
            if state.marked_end == offset:
                return
            state.marked_end = offset
            state.readers.append((PartitionEnd(offset), 0))
            self._enqueue(state)
        self._on_data()

    def fail(self, state: PartitionState, epoch: int, error: BarnabasError) -> None:
        """Nothing more is fetched of this partition until a seek or `try_again`, and the next take raises the
        error, once. What was fetched before can still be taken."""
        with self._lock:
            if not self._is_current(state, epoch):
                return
            state.is_stopped = True
            self._note_failure(state, error)
        self._on_data()
        self.on_stopped(state.partition, state.position)

    def refused(self, state: PartitionState, epoch: int, error: BarnabasError) -> None:
        """The next take raises the error, and fetching goes on."""
        with self._lock:
            if not self._is_current(state, epoch):
                return
            self._note_failure(state, error)
        self._on_data()

    def _note_failure(self, state: PartitionState, error: BarnabasError) -> None:
        """One that happens over and over while nobody takes is kept once."""
        for failure in self._failures:
            if failure.partition == state.partition and type(failure.error) is type(error):
                return
        self._failures.append(Failure(error, state.partition, state.position))

    def _drop_failures(self, partition: TopicPartition) -> None:
        """They are of a position that it does not have any more."""
        if self._failures:
            self._failures = deque(each for each in self._failures if each.partition != partition)

    def try_again(self, partition: TopicPartition) -> None:
        """Has a partition that stopped after an error, and was not sought in since, go on where it stands."""
        with self._lock:
            state = self._states.get(partition)
            if state is None or not state.is_stopped:
                return
            if state.has_position:
                self._move(state, state.position, state.leader_epoch)
            state.is_stopped = False
        if state.has_position:
            self._on_room()
        else:
            self._on_lookup()

    def raise_later(self, error: BarnabasError) -> None:
        """The next take raises an error that concerns no partition in particular. One that happens over and
        over while nobody takes is kept once."""
        with self._lock:
            known = [failure.error for failure in self._failures]
            if any(type(other) is type(error) and str(other) == str(error) for other in known):
                return
            self._failures.append(Failure(error))
        self._on_data()

    # The caller's side.

    @property
    def has_data(self) -> bool:
        """Whether a take would give or raise something, apart from transactions that were aborted."""
        if self._failures:
            return True
        if self._lacks_topics and any(s.next_topic_id is not None and not s.readers for s in self.states()):
            return True
        return any(state.position < state.end_offset for state in tuple(self._queue))

    @property
    def has_ends(self) -> bool:
        return bool(self._ends)

    def take_ends(self) -> dict[TopicPartition, int]:
        """The ends that takes have come to since the last call, behind all that they gave."""
        with self._lock:
            ends, self._ends = self._ends, {}
        return ends

    def take(self, max_records: int) -> list[Record]:
        """Up to `max_records` records of partitions that are not paused; empty if there are none now. Stops
        at the end of a partition.

        Raises: what the fetcher failed with; CorruptBatchError of a partition that then stops.
        """
        if self._lacks_topics:
            self._begin_anew()
        self.raise_error()
        records: list[Record] = []
        while (missing := max_records - len(records)) > 0 and self._queue:
            state = self._queue[0]
            reader = state.readers[0][0]
            if isinstance(reader, PartitionEnd):
                self._pass_end(state)
                break
            try:
                taken = reader.take(missing)
            except CorruptBatchError as error:
                self._stop_at(state, reader, error)
                if records:
                    break
                self.raise_error()
                continue
            state.returned_records += len(taken)
            self._returned(state, reader, is_exhausted=not taken or reader.remaining_bytes == 0)
            if records:
                records += taken
            else:
                records = taken
        return records

    def lend(self) -> tuple[PartitionState, RecordReader] | None:
        """The reader that is next, for someone who takes from it elsewhere and says so to `settle`. It keeps
        its place. None where there is nothing now, or the end of a partition came, which `take_ends` tells.
        """
        if self._lacks_topics:
            self._begin_anew()
        while self._queue:
            state = self._queue[0]
            reader = state.readers[0][0]
            if isinstance(reader, RecordReader):
                return state, reader
            if isinstance(reader, PartitionEnd):
                self._pass_end(state)
                return None
            # Records that were objects already do not become others: they are fetched again.
            self._rewind(state)
        return None

    def settle(
        self, state: PartitionState, reader: RecordReader, taken: int, *, is_exhausted: bool = False
    ) -> None:
        """`taken` records were taken from a lent reader, which has no more (`is_exhausted`, where that
        cannot be told from its bytes)."""
        if self._is_first(state, reader):
            state.returned_records += taken
            self._returned(state, reader, is_exhausted=is_exhausted or reader.remaining_bytes == 0)

    def stop(self, state: PartitionState, reader: RecordReader, error: CorruptBatchError) -> None:
        """A reader that is lent cannot go on: the next take raises the error, and the partition stops."""
        if self._is_first(state, reader):
            self._stop_at(state, reader, error)

    def _is_first(self, state: PartitionState, reader: RecordReader) -> bool:
        with self._lock:
            return bool(state.readers) and state.readers[0][0] is reader

    def take_arrow(self, max_records: int, *, headers: bool) -> ArrowRecords:
        """Like `take`, as columns, and not beyond what `set_end_offsets` says."""
        if self._lacks_topics:
            self._begin_anew()
        self.raise_error()
        chosen = self._choose_readers()
        try:
            records = _kernel.take_arrow(
                [reader for _, reader in chosen],
                max_records,
                headers=headers,
                end_offsets=[state.end_offset for state, _ in chosen],
                max_bytes=ARROW_BATCH_BYTES,
                openers=self._openers,
            )
        except CorruptBatchError as error:
            for state, reader in chosen:
                if state.partition == (error.topic, error.partition) and reader.remaining_bytes:
                    self._stop_at(state, reader, error)
                    break
            self.raise_error()
            raise
        # Readers are taken from in their order: behind one that is not exhausted none has moved.
        for state, reader in chosen:
            if state.readers and state.readers[0][0] is reader:
                state.returned_records += max(0, reader.next_offset - state.position)
                self._returned(state, reader, is_exhausted=reader.remaining_bytes == 0)
        for state in tuple(self._queue):
            self._pass_end(state)
        return records

    def _choose_readers(self) -> list[tuple[PartitionState, RecordReader]]:
        with self._lock:
            queue = [state for state in self._queue if state.position < state.end_offset]
            readers = [(state, reader) for state in queue for reader, _ in state.readers]
        chosen: list[tuple[PartitionState, RecordReader]] = []
        ended: set[TopicPartition] = set()
        for state, reader in readers:
            if isinstance(reader, PartitionEnd):
                # What was fetched after the end was reached is for the next take.
                ended.add(state.partition)
            elif isinstance(reader, RecordReader):
                if state.partition not in ended:
                    chosen.append((state, reader))
            else:
                # Records that were objects already do not become columns: they are fetched again.
                self._rewind(state)
                return self._choose_readers()
        return chosen

    def give_back(self, records: Sequence[Record], in_hand: Record | None) -> None:
        """Records that the last poll took but nobody has seen, in their order: their positions move back. Of
        what came before them only `in_hand` is not handled."""
        by_partition: dict[TopicPartition, list[Record]] = {}
        for record in records:
            by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        with self._lock:
            for partition, unused in by_partition.items():
                state = self._states.get(partition)
                if state is not None and not state.is_stopped:
                    end = self._ends.get(partition, -1)
                    if end > unused[-1].offset:
                        del self._ends[partition]
                        state.readers.appendleft((PartitionEnd(end), 0))
                    state.readers.appendleft((GivenBack(unused), 0))
                    state.position = unused[0].offset
                    self._enqueue(state)
            for state in self._states.values():
                if state.returned_by == self._poll:
                    state.handled_position, state.handled_leader_epoch = state.position, state.leader_epoch
            state = self._states.get(TopicPartition(in_hand.topic, in_hand.partition)) if in_hand else None
            if in_hand is not None and state is not None and in_hand.offset < state.position:
                state.handled_position = in_hand.offset

    def _rewind(self, state: PartitionState) -> None:
        with self._lock:
            self._move(state, state.position, state.leader_epoch)
        self._on_room()

    def _returned(self, state: PartitionState, reader: Reader, *, is_exhausted: bool) -> None:
        next_offset, leader_epoch = reader.next_offset, reader.last_leader_epoch
        with self._lock:
            if state.returned_by != self._poll:
                state.handled_position, state.handled_leader_epoch = state.position, state.leader_epoch
                state.returned_by = self._poll
            # Both at once: a commit on the loop's thread takes them as one.
            state.position = max(state.position, next_offset)
            if leader_epoch >= 0:
                state.leader_epoch = leader_epoch
            if not is_exhausted:
                return
            _, size = state.readers.popleft()
            was_full = state.queued_bytes >= self._partition_bytes
            state.queued_bytes -= size
            has_room = was_full and state.queued_bytes < self._partition_bytes
            if state.credit is not None:
                state.credit.was_taken(state.credit_place, size)
                has_room = False
            # The other partitions have their turn before this one's next fetch.
            self._unqueue(state)
            self._enqueue(state)
        if has_room:
            self._on_room()
        else:
            self._tell_of_room()

    def _pass_end(self, state: PartitionState) -> None:
        """Notes the end that comes next in a partition's queue, if one does."""
        with self._lock:
            reader = state.readers[0][0] if state.readers else None
            if isinstance(reader, PartitionEnd):
                state.readers.popleft()
                self._ends[state.partition] = reader.offset
                self._unqueue(state)
                self._enqueue(state)

    def _tell_of_less(self, states: Iterable[PartitionState]) -> None:
        """Nothing is taken of these partitions for now: whoever fetches them within a credit would wait for
        that in vain."""
        if any(state.credit is not None for state in states):
            self._on_room()
        else:
            self._tell_of_room()

    def _tell_of_room(self) -> None:
        if self._lacks_room and self.room():
            self._on_room()

    def _stop_at(self, state: PartitionState, reader: Reader, error: CorruptBatchError) -> None:
        with self._lock:
            state.position = max(state.position, reader.next_offset)
            state.is_stopped = True
            self._forget(state)
            self._failures.append(Failure(error, state.partition, state.position))
        self._tell_of_less([state])
        self.on_stopped(state.partition, state.position)

    def raise_error(self) -> None:
        """Raises what the next take would raise, if anything."""
        failure = self.take_failure()
        if failure is not None:
            raise failure.error

    def take_failure(self) -> Failure | None:
        """What the next take would raise, for someone who does not want it raised."""
        if not self._failures:
            return None
        with self._lock:
            return self._failures.popleft() if self._failures else None

    def set_end_offsets(self, end_offsets: Mapping[TopicPartition, int]) -> None:
        """Nothing is wanted from these offsets on, until other ones are set: partitions are not fetched
        beyond, and `take_arrow` stops there."""
        if not end_offsets and not self._has_end_offsets:
            return
        has_changed = False
        for partition, state in self._states.items():
            end_offset = end_offsets.get(partition, NO_END_OFFSET)
            # What the kernel fetches in bulk goes up to the end that it was told.
            has_changed |= end_offset > state.end_offset or (
                end_offset != state.end_offset and state.credit is not None
            )
            state.end_offset = end_offset
        self._has_end_offsets = bool(end_offsets)
        if has_changed:
            self._on_room()

    # With the lock held.

    def _is_current(self, state: PartitionState, epoch: int) -> bool:
        return state.epoch == epoch and self._states.get(state.partition) is state

    def _is_read_ahead(self, state: PartitionState) -> bool:
        """Whether the taker of records was interrupted before the position moved."""
        reader = state.readers[0][0] if state.readers else None
        return isinstance(reader, RecordReader | GivenBack) and reader.next_offset > state.position

    def _new_epoch(self) -> int:
        self._next_epoch += 1
        return self._next_epoch

    def _divide(self) -> None:
        self._partition_bytes = max(1, self._queued_max_bytes // max(1, len(self._states)))

    def _enter_next_topic(self, state: PartitionState) -> None:
        if state.next_topic_id is None:
            return
        state.topic_id, state.next_topic_id = state.next_topic_id, None
        state.returned_by = 0
        state.log_start_offset = state.high_watermark = state.last_stable_offset = -1
        state.highest_known_offset = -1

    def _move(self, state: PartitionState, offset: int, leader_epoch: int) -> None:
        self._forget(state)
        state.starting_point = None
        state.is_stopped = False
        state.position = state.fetch_offset = offset
        state.leader_epoch = state.fetch_leader_epoch = leader_epoch
        state.checked_leader_epoch = -1

    def _forget(self, state: PartitionState) -> None:
        state.epoch = self._new_epoch()
        state.has_backlog = False
        state.readers.clear()
        state.queued_bytes = 0
        state.marked_end = -1
        self._ends.pop(state.partition, None)
        self._unqueue(state)

    def _enqueue(self, state: PartitionState) -> None:
        if state.readers and not state.is_queued and not state.is_paused:
            state.is_queued = True
            self._queue.append(state)

    def _unqueue(self, state: PartitionState) -> None:
        if state.is_queued:
            state.is_queued = False
            self._queue.remove(state)
