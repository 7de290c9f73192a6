"""What was fetched and not yet returned to the caller.

Owns the queues of decoded readers of the assigned partitions, and how much may be in them. It is where two
threads meet: the event loop's appends what it fetched, the caller's takes records, so a poll that finds data
never crosses over to the loop. Positions are in `SubscriptionState`, which it tells what was returned, and
whose moves it follows. Knows nothing of brokers, requests or groups.

Invariant: what was fetched for an older epoch of a partition (before a seek, or before the partition was
given away) is dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from barnabas import _kernel
from barnabas._kernel import ArrowRecords, BatchOpeners, FrameRoom, Record, RecordReader
from barnabas.client.consume.fetch_queue import FetchPlace, FetchQueue, GivenBack, PartitionEnd, Reader
from barnabas.client.consume.partition_state import PartitionState
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.errors import CorruptBatchError
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import FetchCredit

# Columns much larger than the processor's cache take twice as long to make, record for record.
ARROW_BATCH_BYTES = 4 << 20
# What is decompressed much ahead of its turn has left the processor's cache when it comes.
OPENED_AHEAD_BYTES = 4 << 20

# Less of the queue than this part is not fetched by itself: memory would be in many pieces, of all sizes.
LEAST_SHARE_OF_ROOM = 4


class FetchBuffer:
    """Of the partitions of `subscription`. Thread safe, but only one thread at a time may take records."""

    def __init__(
        self,
        subscription: SubscriptionState,
        queued_max_bytes: int,
        *,
        on_data: Callable[[], None],
        on_room: Callable[[], None],
    ) -> None:
        """`on_data` is called when there is something new to take, `on_room` when there is room to fetch."""
        self._subscription = subscription
        self._queued_max_bytes = queued_max_bytes
        self._on_data = on_data
        self._on_room = on_room
        self._frame_room = FrameRoom(queued_max_bytes * 13 // 8)
        """Also for the frame that is being read, and for those kept by what another partition has in them."""
        self.least_room = max(1, queued_max_bytes // LEAST_SHARE_OF_ROOM)
        self._openers = BatchOpeners(min(queued_max_bytes, OPENED_AHEAD_BYTES))
        self._lock = subscription.lock
        self._queues: dict[TopicPartition, FetchQueue] = {}
        self._turns: deque[FetchQueue] = deque()
        """What can be taken from at present."""
        self._partition_bytes = queued_max_bytes
        self._lacks_room = False
        self._ends: dict[TopicPartition, int] = {}
        self.is_held = False
        """Nothing is fetched at present, whatever room there is."""
        subscription.prefetched = self

    # The fetcher's side.

    def queues(self) -> list[FetchQueue]:
        """Of all assigned partitions."""
        with self._lock:
            return list(self._queues.values())

    def room(self) -> int:
        """Bytes that may be fetched now; 0 while that would only be a small part of what an answer may bring.
        What cannot be taken at present, of a partition that is paused or read to its end offset, does not
        keep the others from being read."""
        with self._lock:
            queued = sum(
                queue.queued_bytes for queue in self._turns if queue.state.position < queue.state.end_offset
            )
            room = self._queued_max_bytes - queued
            self._lacks_room = room < self.least_room
        return 0 if self._lacks_room else room

    def wants_more(self, queue: FetchQueue) -> bool:
        """Whether there is a position to fetch from and room for what comes."""
        return self.is_read(queue) and queue.queued_bytes < self._partition_bytes

    def place_of(self, queue: FetchQueue) -> FetchPlace | None:
        """Where to fetch from, None while nothing more is wanted. A seek in another thread comes before this
        or after it."""
        with self._lock:
            if not self.wants_more(queue):
                return None
            return FetchPlace(queue.state.epoch, queue.fetch_offset, queue.fetch_leader_epoch)

    def is_read(self, queue: FetchQueue) -> bool:
        """Whether there is a position to fetch from, and nothing but room may be missing."""
        state = queue.state
        return state.is_fetchable and not self.is_held and queue.fetch_offset < state.end_offset

    def is_full(self, queue: FetchQueue) -> bool:
        """Whether nothing is fetched from the partition since its share of the queue is full."""
        return self.is_read(queue) and queue.queued_bytes >= self._partition_bytes

    @property
    def partition_bytes(self) -> int:
        """Each partition's share of the queue."""
        return self._partition_bytes

    def open_credit(
        self, queues: Sequence[FetchQueue], make: Callable[[list[int], int], FetchCredit]
    ) -> FetchCredit:
        """For someone who fetches these partitions without asking for room: learns of all that is taken.
        `make` gets the bytes that are queued of each, and the share that each may have."""
        with self._lock:
            credit = make([queue.queued_bytes for queue in queues], self._partition_bytes)
            for place, queue in enumerate(queues):
                queue.credit, queue.credit_place = credit, place
        return credit

    def close_credit(self, queues: Iterable[FetchQueue], credit: FetchCredit) -> None:
        with self._lock:
            for queue in queues:
                if queue.credit is credit:
                    queue.credit = None

    def release(self) -> None:
        """Ends `is_held`."""
        self.is_held = False
        self._on_room()

    def append(
        self,
        queue: FetchQueue,
        epoch: int,
        fetch_offset: int,
        reader: RecordReader,
        size: int,
        next_fetch_offset: int,
        next_leader_epoch: int = -1,
    ) -> None:
        """`size` bytes were fetched from `fetch_offset` on; the fetch was made at `epoch`. The last record in
        them has `next_leader_epoch`."""
        if self.take_in(queue, epoch, fetch_offset, reader, size, next_fetch_offset, next_leader_epoch):
            self._on_data()

    def take_in(
        self,
        queue: FetchQueue,
        epoch: int,
        fetch_offset: int,
        reader: RecordReader,
        size: int,
        next_fetch_offset: int,
        next_leader_epoch: int,
    ) -> bool:
        """As `append`, for a caller that sees for itself that there is something new, if it was taken."""
        state = queue.state
        with self._lock:
            if not self._subscription.is_current(state, epoch) or queue.fetch_offset != fetch_offset:
                return False
            self._openers.open_ahead(reader)
            queue.readers.append((reader, size))
            queue.queued_bytes += size
            queue.fetched_bytes += size
            state.highest_known_offset = max(
                state.highest_known_offset, state.high_watermark, next_fetch_offset
            )
            queue.fetch_offset = next_fetch_offset
            queue.fetch_leader_epoch = next_leader_epoch
            self._enqueue(queue)
        return True

    def mark_end(self, queue: FetchQueue, epoch: int, offset: int) -> None:
        """There is nothing at `offset`, which is to be fetched next. Once for each such place."""
        with self._lock:
            if not self._subscription.is_current(queue.state, epoch) or queue.fetch_offset != offset:
                return
            if queue.marked_end == offset:
                return
            queue.marked_end = offset
            queue.readers.append((PartitionEnd(offset), 0))
            self._enqueue(queue)
        self._on_data()

    def forget_leader_epoch(self, queue: FetchQueue, epoch: int) -> None:
        """Has the next fetch not checked against what was fetched before."""
        with self._lock:
            if self._subscription.is_current(queue.state, epoch):
                queue.fetch_leader_epoch = -1

    # The caller's side.

    @property
    def has_data(self) -> bool:
        """Whether a take would give or raise something, apart from transactions that were aborted."""
        subscription = self._subscription
        if subscription.failures.waiting:
            return True
        if subscription.awaits_topics and subscription.may_enter_next_topic():
            return True
        return any(queue.state.position < queue.state.end_offset for queue in tuple(self._turns))

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
        subscription = self._subscription
        if subscription.awaits_topics:
            subscription.enter_next_topics()
        if subscription.failures.waiting:
            subscription.failures.raise_next()
        records: list[Record] = []
        while (missing := max_records - len(records)) > 0 and self._turns:
            queue = self._turns[0]
            reader = queue.readers[0][0]
            if isinstance(reader, PartitionEnd):
                self._pass_end(queue)
                break
            try:
                taken = reader.take(missing)
            except CorruptBatchError as error:
                subscription.stop_at(queue.state, reader.next_offset, error)
                if records:
                    break
                subscription.failures.raise_next()
                continue
            queue.state.returned_records += len(taken)
            self._returned(queue, reader, is_exhausted=not taken or reader.remaining_bytes == 0)
            if records:
                records += taken
            else:
                records = taken
        return records

    def lend(self) -> tuple[PartitionState, RecordReader] | None:
        """The reader that is next, for someone who takes from it elsewhere and says so to `settle`. It keeps
        its place. None where there is nothing now, or the end of a partition came, which `take_ends` tells.
        """
        subscription = self._subscription
        if subscription.awaits_topics:
            subscription.enter_next_topics()
        while self._turns:
            queue = self._turns[0]
            reader = queue.readers[0][0]
            if isinstance(reader, RecordReader):
                return queue.state, reader
            if isinstance(reader, PartitionEnd):
                self._pass_end(queue)
                return None
            # Records that were objects already do not become others: they are fetched again.
            subscription.read_again(queue.state)
        return None

    def settle(
        self, state: PartitionState, reader: RecordReader, taken: int, *, is_exhausted: bool = False
    ) -> None:
        """`taken` records were taken from a lent reader, which has no more (`is_exhausted`, where that
        cannot be told from its bytes)."""
        queue = self._queue_with(state, reader)
        if queue is not None:
            state.returned_records += taken
            self._returned(queue, reader, is_exhausted=is_exhausted or reader.remaining_bytes == 0)

    def stop(self, state: PartitionState, reader: RecordReader, error: CorruptBatchError) -> None:
        """A reader that is lent cannot go on: the next take raises the error, and the partition stops."""
        if self._queue_with(state, reader) is not None:
            self._subscription.stop_at(state, reader.next_offset, error)

    def _queue_with(self, state: PartitionState, reader: RecordReader) -> FetchQueue | None:
        """The partition's queue, while this reader is first in it."""
        with self._lock:
            queue = self._queue_of(state)
            is_first = queue is not None and bool(queue.readers) and queue.readers[0][0] is reader
        return queue if is_first else None

    def take_arrow(self, max_records: int, *, headers: bool) -> ArrowRecords:
        """Like `take`, as columns, and not beyond what `set_end_offsets` says."""
        subscription = self._subscription
        if subscription.awaits_topics:
            subscription.enter_next_topics()
        if subscription.failures.waiting:
            subscription.failures.raise_next()
        chosen = self._choose_readers()
        try:
            records = _kernel.take_arrow(
                [reader for _, reader in chosen],
                max_records,
                headers=headers,
                end_offsets=[queue.state.end_offset for queue, _ in chosen],
                max_bytes=ARROW_BATCH_BYTES,
                openers=self._openers,
            )
        except CorruptBatchError as error:
            for queue, reader in chosen:
                if queue.partition == (error.topic, error.partition) and reader.remaining_bytes:
                    subscription.stop_at(queue.state, reader.next_offset, error)
                    break
            subscription.failures.raise_next()
            raise
        # Readers are taken from in their order: behind one that is not exhausted none has moved.
        for queue, reader in chosen:
            if queue.readers and queue.readers[0][0] is reader:
                queue.state.returned_records += max(0, reader.next_offset - queue.state.position)
                self._returned(queue, reader, is_exhausted=reader.remaining_bytes == 0)
        for queue in tuple(self._turns):
            self._pass_end(queue)
        return records

    def _choose_readers(self) -> list[tuple[FetchQueue, RecordReader]]:
        with self._lock:
            queues = [queue for queue in self._turns if queue.state.position < queue.state.end_offset]
            readers = [(queue, reader) for queue in queues for reader, _ in queue.readers]
        chosen: list[tuple[FetchQueue, RecordReader]] = []
        ended: set[TopicPartition] = set()
        for queue, reader in readers:
            if isinstance(reader, PartitionEnd):
                # What was fetched after the end was reached is for the next take.
                ended.add(queue.partition)
            elif isinstance(reader, RecordReader):
                if queue.partition not in ended:
                    chosen.append((queue, reader))
            else:
                # Records that were objects already do not become columns: they are fetched again.
                self._subscription.read_again(queue.state)
                return self._choose_readers()
        return chosen

    def give_back(self, records: Sequence[Record], in_hand: Record | None) -> None:
        """Records that the last poll took but nobody has seen, in their order: their positions move back. Of
        what came before them only `in_hand` is not handled."""
        by_partition: dict[TopicPartition, list[Record]] = {}
        for record in records:
            by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        positions: list[tuple[PartitionState, int]] = []
        with self._lock:
            for partition, unused in by_partition.items():
                queue = self._queues.get(partition)
                if queue is not None and not queue.state.is_stopped:
                    end = self._ends.get(partition, -1)
                    if end > unused[-1].offset:
                        del self._ends[partition]
                        queue.readers.appendleft((PartitionEnd(end), 0))
                    queue.readers.appendleft((GivenBack(unused), 0))
                    positions.append((queue.state, unused[0].offset))
                    self._enqueue(queue)
            self._subscription.given_back(positions, in_hand)

    def _returned(self, queue: FetchQueue, reader: Reader, *, is_exhausted: bool) -> None:
        next_offset, leader_epoch = reader.next_offset, reader.last_leader_epoch
        with self._lock:
            self._subscription.returned(queue.state, next_offset, leader_epoch)
            if not is_exhausted:
                return
            _, size = queue.readers.popleft()
            was_full = queue.queued_bytes >= self._partition_bytes
            queue.queued_bytes -= size
            has_room = was_full and queue.queued_bytes < self._partition_bytes
            if queue.credit is not None:
                queue.credit.was_taken(queue.credit_place, size)
                has_room = False
            # The other partitions have their turn before this one's next fetch.
            self._unqueue(queue)
            self._enqueue(queue)
        if has_room:
            self._on_room()
        else:
            self._tell_of_room()

    def _pass_end(self, queue: FetchQueue) -> None:
        """Notes the end that comes next in a partition's queue, if one does."""
        with self._lock:
            reader = queue.readers[0][0] if queue.readers else None
            if isinstance(reader, PartitionEnd):
                queue.readers.popleft()
                self._ends[queue.partition] = reader.offset
                self._unqueue(queue)
                self._enqueue(queue)

    def _tell_of_room(self) -> None:
        if self._lacks_room and self.room():
            self._on_room()

    # What follows from the partitions' states (see `Prefetched`).

    def less_is_taken(self, states: Iterable[PartitionState]) -> None:
        """Whoever fetches these partitions within a credit would wait for that in vain."""
        queues = [self._queue_of(state) for state in states]
        if any(queue is not None and queue.credit is not None for queue in queues):
            self._on_room()
        else:
            self._tell_of_room()

    def begin(self, state: PartitionState) -> None:
        self._queues[state.partition] = FetchQueue(state)
        self._divide()

    def end(self, state: PartitionState) -> None:
        del self._queues[state.partition]
        self._divide()

    def drop(self, state: PartitionState) -> None:
        queue = self._queue_of(state)
        if queue is not None:
            queue.drop()
            self._ends.pop(queue.partition, None)
            self._unqueue(queue)

    def restart(self, state: PartitionState) -> None:
        self.drop(state)
        queue = self._queue_of(state)
        if queue is not None:
            queue.fetch_from_position()

    def follow_pause(self, state: PartitionState) -> None:
        queue = self._queue_of(state)
        if queue is None:
            return
        if state.is_paused:
            self._unqueue(queue)
        else:
            self._enqueue(queue)

    def has_some(self, state: PartitionState) -> bool:
        queue = self._queue_of(state)
        return queue is not None and bool(queue.readers)

    def is_read_ahead(self, state: PartitionState) -> bool:
        queue = self._queue_of(state)
        return queue is not None and queue.is_read_ahead

    # With the lock held.

    def _queue_of(self, state: PartitionState) -> FetchQueue | None:
        """None where it is not assigned any more, or anew."""
        queue = self._queues.get(state.partition)
        return queue if queue is not None and queue.state is state else None

    def _divide(self) -> None:
        self._partition_bytes = max(1, self._queued_max_bytes // max(1, len(self._queues)))

    def _enqueue(self, queue: FetchQueue) -> None:
        if queue.readers and not queue.has_turn and not queue.state.is_paused:
            queue.has_turn = True
            self._turns.append(queue)

    def _unqueue(self, queue: FetchQueue) -> None:
        if queue.has_turn:
            queue.has_turn = False
            self._turns.remove(queue)
