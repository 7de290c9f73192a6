"""Where the reader of each assigned partition stands: positions, pauses, resets and errors.

Owns what is assigned, as Kafka's class of this name. Both threads of a consumer use it: the caller's takes
records and seeks, the event loop's assigns partitions and finds positions. Knows nothing of brokers,
requests or groups, and of what was fetched only that it has to follow (`Prefetched`).

Invariants: a position moves only when records are returned, or when somebody says where to go on. Then the
epoch of the partition changes, and what was fetched or looked up for an older one counts no more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from barnabas._kernel import Record
from barnabas.client.consume.failures import Failure, Failures
from barnabas.client.consume.partition_state import NO_END_OFFSET, PartitionState, StartingPoint
from barnabas.errors import BarnabasError, MisuseError
from barnabas.types import OffsetAndMetadata, TopicPartition


class Prefetched(Protocol):
    """What was fetched of the assigned partitions. All but `less_is_taken` is called with the lock held."""

    def begin(self, state: PartitionState) -> None:
        """It is assigned."""
        ...

    def end(self, state: PartitionState) -> None:
        """It is not assigned any more."""
        ...

    def drop(self, state: PartitionState) -> None:
        """What was fetched of it is not wanted any more."""
        ...

    def restart(self, state: PartitionState) -> None:
        """As `drop`, and fetching goes on at its position."""
        ...

    def follow_pause(self, state: PartitionState) -> None:
        """It was paused or resumed."""
        ...

    def has_some(self, state: PartitionState) -> bool:
        """Whether something that was fetched of it waits to be taken."""
        ...

    def is_read_ahead(self, state: PartitionState) -> bool:
        """Whether the taker of records was interrupted before the position moved."""
        ...

    def less_is_taken(self, states: Iterable[PartitionState]) -> None:
        """Nothing is taken of these partitions for now."""
        ...


class SubscriptionState:
    """The assigned partitions. Thread safe."""

    prefetched: Prefetched
    """The fetch buffer, which sets this before anything is assigned."""

    def __init__(
        self, *, on_data: Callable[[], None], on_room: Callable[[], None], on_lookup: Callable[[], None]
    ) -> None:
        """`on_data` is called when there is something new to take, `on_room` when there is a position to
        fetch from, `on_lookup` when a position has to be looked up."""
        self._on_data = on_data
        self._on_room = on_room
        self._on_lookup = on_lookup
        self.lock = threading.Lock()
        """For this and the fetch buffer: a position changes together with what was fetched from there."""
        self.failures = Failures(on_data)
        self._states: dict[TopicPartition, PartitionState] = {}
        self._last_epoch = 0
        self._poll = 0
        self._has_end_offsets = False
        self.awaits_topics = False
        """Whether a partition goes on in a topic that was made again, when all of the old one is taken."""
        self.on_made_again: Callable[[list[TopicPartition]], object] = lambda _: None
        """Is called, in the thread that takes, with partitions of a topic that was made again, when all that
        was fetched of the old one is taken."""
        self.on_stopped: Callable[[TopicPartition, int], object] = lambda partition, position: None
        """Is called, on any thread, with a partition that stops after an error, and its position."""

    # The assignment.

    @property
    def assignment(self) -> list[TopicPartition]:
        return list(self._states)

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions to read from now on, from where was committed. Those that are there already stay."""
        with self.lock:
            for partition in partitions:
                if partition not in self._states:
                    state = PartitionState(partition, self._new_epoch())
                    # First, as an exception of a signal's handler may come at any line.
                    self.prefetched.begin(state)
                    self._states[partition] = state
        self._on_lookup()

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Forgets partitions and what was fetched of them."""
        is_less = False
        with self.lock:
            for partition in partitions:
                state = self._states.get(partition)
                if state is not None:
                    self._look_up(state, "committed")
                    self.failures.drop(partition)
                    del self._states[partition]
                    self.prefetched.end(state)
                    is_less = True
        if is_less:
            # Whoever fetches them, or waits for the room that they took, has to look.
            self._on_room()

    def state(self, partition: TopicPartition) -> PartitionState:
        """Raises: MisuseError where the partition is not assigned."""
        state = self._states.get(partition)
        if state is None:
            raise MisuseError(
                f"{partition} is not assigned to this consumer: assign or subscribe to it first"
            )
        return state

    def states(self) -> list[PartitionState]:
        with self.lock:
            return list(self._states.values())

    # Positions.

    def position(self, partition: TopicPartition) -> int | None:
        """The offset of the next record, from any thread; None where it has to be found first.

        Raises: MisuseError where the partition is not assigned.
        """
        with self.lock:
            state = self.state(partition)
            return state.position if state.has_position else None

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit stores: the next offset of each partition that has a position."""
        with self.lock:
            return {
                state.partition: OffsetAndMetadata(
                    state.position, "", None if state.leader_epoch < 0 else state.leader_epoch
                )
                for state in self._states.values()
                if state.has_position
            }

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """The next record to return. What was fetched from another position is dropped."""
        state = self.state(partition)
        with self.lock:
            is_there = state.has_position and state.position == offset and state.next_topic_id is None
            if is_there and not state.is_stopped and leader_epoch <= state.leader_epoch:
                return
            state.enter_next_topic()
            self._move(state, offset, leader_epoch)
            self.failures.drop(partition)
        self._on_room()

    def seek_to(self, partition: TopicPartition, starting_point: StartingPoint) -> None:
        """The position is to be looked up before anything is fetched."""
        state = self.state(partition)
        with self.lock:
            state.enter_next_topic()
            self._look_up(state, starting_point)
            self.failures.drop(partition)
        self._on_lookup()
        self.prefetched.less_is_taken([state])

    def awaiting_position(self) -> list[PartitionState]:
        with self.lock:
            return [s for s in self._states.values() if not s.has_position and not s.is_stopped]

    def found_position(self, state: PartitionState, epoch: int, offset: int, leader_epoch: int = -1) -> None:
        """The outcome of a look-up that began at `epoch`; too late for a state that changed since."""
        with self.lock:
            if not self.is_current(state, epoch) or state.has_position:
                return
            self._move(state, offset, leader_epoch)
        self._on_room()

    def out_of_range(self, state: PartitionState, epoch: int) -> None:
        """The position is not in the partition (any more)."""
        with self.lock:
            # What was fetched before is taken first; then another fetch tells whether this is still so.
            if not self.is_current(state, epoch) or self.prefetched.has_some(state):
                return
            self._drop(state)
            state.starting_point = "reset"
        self._on_lookup()

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
        with self.lock:
            if not self.is_current(state, epoch) or self.prefetched.has_some(state):
                return False
            if error is None and end_offset >= 0:
                self._move(state, end_offset, leader_epoch)
            elif error is None:
                self._drop(state)
                state.starting_point = "reset"
            else:
                state.is_stopped = True
                self.failures.add(Failure(error, state.partition, state.position))
        if error is not None:
            self._on_data()
            self.on_stopped(state.partition, state.position)
        elif state.has_position:
            self._on_room()
        else:
            self._on_lookup()
        self.prefetched.less_is_taken([state])
        return True

    # Topics that were made again.

    def made_again(self, states: Sequence[PartitionState], topic_id: UUID) -> None:
        """Their topic was deleted, and another one has its name: nothing more is fetched from where they
        stand. When all that was fetched is taken, the next take has the positions looked up anew."""
        with self.lock:
            for state in states:
                if self._states.get(state.partition) is state:
                    # What is under way may be of either topic, where brokers go by names.
                    state.epoch = self._new_epoch()
                    state.next_topic_id = topic_id
                    self.awaits_topics = True
        self._on_data()
        self.prefetched.less_is_taken(states)

    def enter_next_topics(self) -> None:
        """In the thread that takes: what it has taken it may yet give back."""
        with self.lock:
            waiting = [state for state in self._states.values() if state.next_topic_id is not None]
            begun = [state for state in waiting if not self.prefetched.has_some(state)]
            self.awaits_topics = len(begun) < len(waiting)
            for state in begun:
                state.enter_next_topic()
                self._look_up(state, "made again")
        if begun:
            self.on_made_again([state.partition for state in begun])
            self._on_lookup()

    def may_enter_next_topic(self) -> bool:
        """Whether `enter_next_topics` would have a position looked up."""
        return any(s.next_topic_id is not None and not self.prefetched.has_some(s) for s in self.states())

    def topic_ids(self) -> dict[TopicPartition, UUID]:
        """Of the topics that positions are in: where one was made again, some may still be in the old one.
        For a commit they are asked for before the positions: brokers refuse a new position with an old id,
        and would take an old one with a new id."""
        with self.lock:
            return {
                state.partition: state.topic_id
                for state in self._states.values()
                if state.topic_id is not None
            }

    def forget_topic_ids(self) -> None:
        """They are not known: the next look at metadata tells them."""
        for state in self.states():
            state.topic_id = None

    # What the caller takes and handles.

    def begin_poll(self) -> None:
        """What was returned before is handled: the caller asks for more. In the caller's thread."""
        self._poll += 1

    def note_handled(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """The caller has got so far with what the last poll returned: it commits this."""
        with self.lock:
            for partition, offset in offsets.items():
                state = self._states.get(partition)
                if state is not None and offset.offset > state.handled_position:
                    leader_epoch = -1 if offset.leader_epoch is None else offset.leader_epoch
                    state.handled_position, state.handled_leader_epoch = offset.offset, leader_epoch

    def take_back(self) -> None:
        """What the last poll returned, and the caller has not handled, is to be read again: the poll was
        interrupted, or the caller was while it worked on that."""
        with self.lock:
            for state in self._states.values():
                if not state.has_position:
                    continue
                position, leader_epoch = state.position, state.leader_epoch
                if state.returned_by == self._poll and state.handled_position < position:
                    position, leader_epoch = state.handled_position, state.handled_leader_epoch
                if state.is_stopped:
                    state.position, state.leader_epoch = position, leader_epoch
                elif position < state.position or self.prefetched.is_read_ahead(state):
                    self._move(state, position, leader_epoch)
        self._on_room()

    def read_again(self, state: PartitionState) -> None:
        """What was fetched behind the position cannot be taken: it is fetched once more."""
        with self.lock:
            self._move(state, state.position, state.leader_epoch)
        self._on_room()

    @property
    def paused(self) -> list[TopicPartition]:
        return [state.partition for state in self.states() if state.is_paused]

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Takes nothing from these partitions, but keeps what was fetched of them."""
        states = [self.state(partition) for partition in partitions]
        with self.lock:
            for state in states:
                state.is_paused = True
                self.prefetched.follow_pause(state)
        self.prefetched.less_is_taken(states)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        states = [self.state(partition) for partition in partitions]
        with self.lock:
            for state in states:
                state.is_paused = False
                self.prefetched.follow_pause(state)
        self._on_data()
        self._on_room()

    def set_end_offsets(self, end_offsets: Mapping[TopicPartition, int]) -> None:
        """Nothing is wanted from these offsets on, until other ones are set: partitions are not fetched
        beyond, and columns stop there."""
        if not end_offsets and not self._has_end_offsets:
            return
        is_more = False
        less: list[PartitionState] = []
        for partition, state in self._states.items():
            end_offset = end_offsets.get(partition, NO_END_OFFSET)
            is_more |= end_offset > state.end_offset
            if end_offset < state.end_offset:
                less.append(state)
            state.end_offset = end_offset
        self._has_end_offsets = bool(end_offsets)
        if is_more:
            self._on_room()
        elif less:
            self.prefetched.less_is_taken(less)

    # Errors.

    def fail(self, state: PartitionState, epoch: int, error: BarnabasError) -> None:
        """Nothing more is fetched of this partition until a seek or `try_again`, and the next take raises the
        error, once. What was fetched before can still be taken."""
        with self.lock:
            if not self.is_current(state, epoch):
                return
            state.is_stopped = True
            self.failures.add_once(Failure(error, state.partition, state.position))
        self._on_data()
        self.on_stopped(state.partition, state.position)

    def refused(self, state: PartitionState, epoch: int, error: BarnabasError) -> None:
        """The next take raises the error, and fetching goes on."""
        with self.lock:
            if not self.is_current(state, epoch):
                return
            self.failures.add_once(Failure(error, state.partition, state.position))
        self._on_data()

    def stop_at(self, state: PartitionState, offset: int, error: BarnabasError) -> None:
        """What was fetched cannot be read from this offset on: the partition stops there, and the next take
        raises the error."""
        with self.lock:
            state.position = max(state.position, offset)
            state.is_stopped = True
            self._drop(state)
            self.failures.add(Failure(error, state.partition, state.position))
        self.prefetched.less_is_taken([state])
        self.on_stopped(state.partition, state.position)

    def try_again(self, partition: TopicPartition) -> None:
        """Has a partition that stopped after an error, and was not sought in since, go on where it stands."""
        with self.lock:
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

    # With the lock held.

    def is_current(self, state: PartitionState, epoch: int) -> bool:
        """Whether what began at `epoch` of the partition still has its meaning."""
        return state.epoch == epoch and self._states.get(state.partition) is state

    def returned(self, state: PartitionState, next_offset: int, leader_epoch: int) -> None:
        """The caller has the records before `next_offset`; the last has `leader_epoch` (-1: not known)."""
        if state.returned_by != self._poll:
            state.handled_position, state.handled_leader_epoch = state.position, state.leader_epoch
            state.returned_by = self._poll
        # Both at once: a commit on the loop's thread takes them as one.
        state.position = max(state.position, next_offset)
        if leader_epoch >= 0:
            state.leader_epoch = leader_epoch

    def given_back(self, positions: Iterable[tuple[PartitionState, int]], in_hand: Record | None) -> None:
        """Of what the last poll returned nobody has seen what follows these positions. Of what came before
        them only `in_hand` is not handled."""
        for state, position in positions:
            state.position = position
        for state in self._states.values():
            if state.returned_by == self._poll:
                state.handled_position, state.handled_leader_epoch = state.position, state.leader_epoch
        state = self._states.get(TopicPartition(in_hand.topic, in_hand.partition)) if in_hand else None
        if in_hand is not None and state is not None and in_hand.offset < state.position:
            state.handled_position = in_hand.offset

    def _new_epoch(self) -> int:
        self._last_epoch += 1
        return self._last_epoch

    def _move(self, state: PartitionState, offset: int, leader_epoch: int) -> None:
        state.epoch = self._new_epoch()
        state.starting_point = None
        state.is_stopped = False
        state.position = offset
        state.leader_epoch = leader_epoch
        self.prefetched.restart(state)

    def _look_up(self, state: PartitionState, starting_point: StartingPoint) -> None:
        self._drop(state)
        state.starting_point = starting_point
        state.is_stopped = False

    def _drop(self, state: PartitionState) -> None:
        state.epoch = self._new_epoch()
        self.prefetched.drop(state)
