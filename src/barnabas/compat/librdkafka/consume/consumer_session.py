"""One open consumer as librdkafka has it: the core beneath, what it hands out, and who is told of what.

Owns the waiting of poll and consume, the assignment as the program sees it, the callbacks of rebalances, and
commits of stored offsets, automatic ones included. The arguments and exceptions of the public methods are
`consumer`'s.

In the core a group's assignment is in force before the program hears of it. Here it is the program's, or done
in its place after the callback: `assignment` is what the program sees, and the core's buffer follows it.
"""
# The constants of KafkaError and the methods of MessagePoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from barnabas import background
from barnabas._kernel import Message, MessagePoller, RecordReader
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.cluster.observed import Observed
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS, ConsumerCore
from barnabas.client.consume.partition_state import Failure, PartitionState, StartingPoint
from barnabas.client.groups.offsets import commit_offsets
from barnabas.client.groups.subscription import ListenerCall, RebalanceListener
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.ask.reach import reach_cluster
from barnabas.compat.librdkafka.config.consumer_setup import ConsumerSetup
from barnabas.compat.librdkafka.consume.consumer_events import (
    end_message,
    failure_message,
    overdue_message,
    unavailable_message,
)
from barnabas.compat.librdkafka.consume.stored_offsets import HandedOut, StoredOffsets
from barnabas.compat.librdkafka.values.constants import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
)
from barnabas.compat.librdkafka.values.errors import KafkaError, kafka_error_of
from barnabas.compat.librdkafka.values.posix_patterns import any_of, topics_pattern
from barnabas.errors import BarnabasError, CorruptBatchError, ImpossibleOffsetError
from barnabas.events import Event, PollIntervalExceeded
from barnabas.loop_thread import loop_thread
from barnabas.sync.poll_session import Look, run_poll
from barnabas.sync.waiting import PollWaiting, direct_fetches
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition
from barnabas.values import frozen

T = TypeVar("T")

OFFSET_TAIL_BASE = -2000
"""An offset of this minus n is n records before the end."""
# Between two looks of one thread for what another may have taken its notice of.
LONGEST_WAIT_SECONDS = 1.0
# How often max.poll.interval.ms is looked after, as in librdkafka.
PROGRESS_SECONDS = 0.5
COMMIT_TIMEOUT_MS = 60_000
LEAVE_COMMIT_TIMEOUT_MS = 10_000
UNKNOWN_RETRY_SECONDS = 1.0
_STARTING_POINTS: dict[int, StartingPoint] = {OFFSET_BEGINNING: "earliest", OFFSET_END: "latest"}

PartitionsCallback = Callable[[list[TopicPartition]], object]
Told = tuple[TopicPartition, ...]
CommitCallback = Callable[[KafkaError | None, Told, Mapping[TopicPartition, OffsetAndMetadata]], object]
"""With the partitions to tell of, and the offsets of those of them that were committed."""
BegunAt = dict[TopicPartition, tuple[int, int]]
"""The offset of the first message that was taken of each partition, with the buffer's epoch."""


@frozen
class ShownNames:
    """What topics are called to the program, where that is not what they are called in Kafka."""

    topic: Callable[[str], str]
    event: Callable[[Message], Message]
    """Gives a message that stands for an event the program's names."""


@frozen
class Assigned:
    """What a partition was assigned with: where to begin (an offset or a logical one) and a note."""

    offset: int
    metadata: str | None = None
    leader_epoch: int | None = None


class ConsumerSession(Observed):
    """`poller` hands out what is at hand; see `MessagePoller`. `on_commit` is called, while a poll runs,
    after each commit that nobody waits for, automatic ones included."""

    def __init__(
        self,
        poller: MessagePoller,
        setup: ConsumerSetup,
        *,
        on_commit: CommitCallback | None,
        serve: Callable[[], object],
        shown_names: ShownNames | None = None,
    ) -> None:
        """`serve` runs the callbacks of the client that are due. Without `shown_names` the program hears
        Kafka's."""
        self.config = setup.config
        self.offsets = StoredOffsets(
            stores_automatically=setup.stores_automatically,
            is_assigned=lambda partition: partition in self.assignment,
            on_fault=self._tell_fault,
        )
        self._commits_automatically = setup.commits_automatically
        self.assignment: dict[TopicPartition, Assigned] = {}
        """The partitions read."""
        # A consumer that the program has forgotten is not kept by what runs for it.
        self._poller_of = weakref.ref(poller)
        self._on_commit = on_commit
        self._serve = serve
        self._shown_names = shown_names
        self._loop = loop_thread()
        self._waiting = PollWaiting()
        self._taking = threading.RLock()
        self._lent: tuple[int, PartitionState, int] | None = None
        """The number of the poller's loan, what it is of, and the buffer's epoch of that."""
        self._arrived: deque[Message] = deque()
        self._finished: deque[Callable[[], object]] = deque()
        self._known_topics: set[str] = set()
        # Callbacks that closing runs may end the assignment in either way.
        self.is_closing = False
        self._paused: set[TopicPartition] = set()
        """Also while they are not assigned, as in librdkafka."""
        self._unavailable: set[str] = set()
        self._wanted: dict[str, re.Pattern[str] | None] = {}
        """What is subscribed to, with patterns where the cluster's topics are searched for it."""
        self._is_leaving = False
        self._is_overdue = False
        self._callbacks = RebalanceListener()
        self._was_assigned_by_callback = False
        self._is_telling = False
        self._begins_after_callback: set[TopicPartition] = set()
        """Assigned in the callback that runs, to be read from where the group committed."""
        self._was_member = False
        self._tasks: list[asyncio.Task[None]] = []

        async def make_core() -> ConsumerCore:
            return ConsumerCore(
                self.config,
                notify=self.wake,
                direct_fetches=direct_fetches(self._waiting),
            )

        self.core = self._loop.run(make_core(), what="consumer")
        self._client = self.core.client
        if setup.topic_blacklist:
            self._client.hide_topics(any_of(setup.topic_blacklist))
        self._buffer = self.core.buffer
        self._buffer.on_made_again = self.offsets.forget
        self._client.events.add(self._listen)
        self._client.add_metadata_listener(self._on_metadata)

    def start(self) -> None:
        """Reaches for the cluster. What it tells of that is heard by those that listen already."""
        self._loop.call(self._start_tasks)

    @property
    def _poller(self) -> MessagePoller:
        """For calls that the poller itself makes."""
        poller = self._poller_of()
        assert poller is not None
        return poller

    def wake(self) -> None:
        """Has polls look again. Any thread."""
        poller = self._poller_of()
        if poller is not None:
            poller._attend()
        self._waiting.wake()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work, what="consumer")

    # Messages

    def next_message(self, timeout: float | None) -> Message | None:
        """`timeout` in seconds, None without end."""
        return self._wait(self._take_one, timeout)

    def next_messages(self, limit: int, timeout: float | None) -> list[Message]:
        """Up to `limit` messages; waits for all of them. Where a callback raises meanwhile, the next call
        gives them."""
        messages: list[Message] = []
        begun_at: BegunAt = {}

        def take() -> bool | None:
            self._take_many(messages, limit, begun_at)
            return len(messages) >= limit or None

        try:
            self._wait(take, timeout)
        except BaseException:
            self._unread(messages, begun_at)
            raise
        return messages

    def _wait(self, take: Callable[[], T | None], timeout: float | None) -> T | None:
        core = self.core

        def look() -> T | Literal[Look.WAIT]:
            self._poller._attended()
            self._serve()
            if self._is_overdue:
                # The program hears of it before it hears that its partitions are lost.
                self._is_overdue = False
                self._poller._attend()
            else:
                self._run_callbacks()
            taken = None if core.is_holding else take()
            return Look.WAIT if taken is None else taken

        return run_poll(core, self._waiting, look, timeout=timeout, longest_wait=LONGEST_WAIT_SECONDS)

    def _take_one(self) -> Message | None:
        with self._taking:
            while True:
                try:
                    message = self._poller._next_message()
                except CorruptBatchError as error:
                    self._stop_lent(error)
                    continue
                if message is not None:
                    return message
                self._take_back(is_exhausted=True)
                if self._arrived:
                    return self._next_arrived()
                if not self._lend_next():
                    return None

    def _take_many(self, messages: list[Message], limit: int, begun_at: BegunAt) -> None:
        with self._taking:
            self._take_back()
            while (missing := limit - len(messages)) > 0:
                if self._arrived:
                    messages.append(self._next_arrived())
                    continue
                lent = self._next_reader()
                if lent is None:
                    if self._arrived:
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

    def _unread(self, messages: list[Message], begun_at: BegunAt) -> None:
        """Nobody was given what was taken: it is read again, and not committed as read until then."""
        with self._taking:
            again: set[tuple[str, int]] = set()
            for partition, (offset, epoch) in begun_at.items():
                is_here = partition in self.assignment and partition in self._buffer.assignment
                # A callback may have sought another place.
                if is_here and self._buffer.state(partition).epoch == epoch:
                    self.offsets.was_unread(partition, offset)
                    self._move(partition, offset)
                    shown = self._shown_names
                    topic = partition.topic if shown is None else shown.topic(partition.topic)
                    again.add((topic, partition.partition))
            # Events, and what was committed as read when its partition was given up.
            left = [m for m in messages if (m.topic(), m.partition()) not in again]
            self._arrived.extendleft(reversed(left))

    def _next_reader(self) -> tuple[PartitionState, RecordReader] | None:
        """What is to be read next. None where that is an event, which has arrived, or nothing."""
        failure = self._buffer.take_failure()
        if failure is not None:
            self._note_failure(failure)
            return None
        lent = self._buffer.lend()
        if lent is not None and lent[0].partition not in self.assignment:
            # The group has given it; the program takes it over in a poll of another thread.
            return None
        if lent is not None and self._shown_names is not None:
            lent[1].show_topic(self._shown_names.topic(lent[1].topic))
        if lent is None and self._buffer.has_ends:
            for partition, offset in self._buffer.take_ends().items():
                self._arrived.append(self._end_message(partition, offset))
        return lent

    def _next_arrived(self) -> Message:
        event = self._arrived.popleft()
        return event if self._shown_names is None else self._shown_names.event(event)

    def _lend_next(self) -> bool:
        """Whether there is a next reader or an event."""
        lent = self._next_reader()
        if lent is None:
            return bool(self._arrived)
        state, reader = lent
        epoch = state.epoch
        self._lent = self._poller._lend(reader), state, epoch
        return True

    def settle(self) -> None:
        """Counts what single polls have given: positions and stored offsets are exact from here on."""
        with self._taking:
            self._take_back()

    def _take_back(self, *, is_exhausted: bool = False) -> RecordReader | None:
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
        self.offsets.was_read(handed_out)

    def _was_exhausted(self, state: PartitionState, epoch: int, reader: RecordReader) -> None:
        """Behind the last message there may be markers of transactions, which count as read."""
        if reader.next_offset > state.position:
            self._was_read(state, epoch, reader.next_offset, reader.last_leader_epoch)

    def _stop_lent(self, error: CorruptBatchError) -> None:
        lent = self._lent
        reader = self._take_back()
        if lent is not None and reader is not None:
            self._buffer.stop(lent[1], reader, error)

    def _handed_out(self) -> HandedOut | None:
        """How far single polls have come with what is lent, without waiting for the thread that polls."""
        poller, lent = self._poller_of(), self._lent
        progress = None if poller is None else poller._progress
        if progress is None or lent is None or progress[0] != lent[0]:
            return None
        _, _, next_offset, leader_epoch = progress
        _, state, epoch = lent
        return HandedOut(state.partition, next_offset, leader_epoch, epoch, state.highest_known_offset)

    # Events

    def _note_failure(self, failure: Failure) -> None:
        partition = failure.partition
        if partition is not None and isinstance(failure.error, UnknownTopicOrPartitionError):
            # It may be made yet; librdkafka says nothing of it for long.
            loop = self._loop
            loop.call(lambda: loop.loop.call_later(UNKNOWN_RETRY_SECONDS, self._try_again, partition))
            return
        protocol = self.config.group_protocol
        message = failure_message(failure, self._client.metadata, group_protocol=protocol)
        if message is not None:
            self._arrived.append(message)

    def _try_again(self, partition: TopicPartition) -> None:
        assigned = self.assignment.get(partition)
        if assigned is None or self.core.is_closed:
            return
        offset = assigned.offset
        if offset >= 0:
            self._buffer.seek(partition, offset)
        else:
            self._buffer.seek_to(partition, _STARTING_POINTS.get(offset, "committed"))

    def _end_message(self, partition: TopicPartition, offset: int) -> Message:
        metadata = self._client.metadata
        return end_message(partition, offset, self._buffer.state(partition).high_watermark, metadata)

    def _listen(self, event: Event) -> None:
        if isinstance(event, PollIntervalExceeded):
            self._arrived.appendleft(overdue_message(event))
            self._is_overdue = True
            self.wake()

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        """Tells of what is subscribed to and not there: once, until it is."""
        for topic, pattern in self._wanted.items():
            if pattern is None and topic in metadata.topic_errors:
                code = metadata.topic_errors[topic]
            elif pattern is not None and not metadata.topics:
                # An answer to what was asked before the subscription, for no topics.
                continue
            elif pattern is not None and not any(pattern.fullmatch(name) for name in metadata.topics):
                code = KafkaError.UNKNOWN_TOPIC_OR_PART
            else:
                self._unavailable.discard(topic)
                continue
            if topic not in self._unavailable:
                self._unavailable.add(topic)
                self._arrived.append(unavailable_message(topic, code))
                self.wake()

    # Subscriptions

    def subscribe(self, topics: list[str], callbacks: RebalanceListener) -> None:
        """Names, and regular expressions, which begin with ^. Raises: BarnabasError."""
        self.settle()
        self._is_leaving = False
        if not self.core.subscription.is_automatic:
            self._unassign(list(self.assignment))
        self._callbacks = callbacks
        has_pattern = any(topic.startswith("^") for topic in topics)
        pattern = topics_pattern(topics) if has_pattern else None
        self._wanted = {topic: topics_pattern([topic]) if has_pattern else None for topic in sorted(topics)}
        self._unavailable.clear()
        listener = RebalanceListener(self._on_assigned, self._on_revoked, self._on_lost)
        core = self.core

        async def subscribe() -> None:
            subscription = core.subscription
            subscription.is_by_hand = False
            before = subscription.wish
            core.subscribe(None if pattern else topics, pattern, listener)
            if subscription.wish == before and self.is_eager:
                # librdkafka joins anew even so, where all partitions move at once.
                core.enforce_rebalance("subscribe() was called again")

        self.run(subscribe())

    def unsubscribe(self) -> None:
        """Leaves the group: now, or, where the program wants to be told before, in the next poll."""
        self._wanted = {}
        if self.core.subscription.is_automatic:
            self._is_leaving = True
            if not self.assignment or self._callbacks.on_revoked is None:
                self._leave("the consumer unsubscribed")
            else:
                self.wake()

    def _leave(self, reason: str, timeout_ms: float = CLOSE_TIMEOUT_MS) -> None:
        self._is_leaving = False
        self.settle()
        core = self.core

        def next_step() -> Coroutine[Any, Any, ListenerCall | None]:
            return core.next_giving_up_step(reason, commit=False, timeout_ms=timeout_ms)

        while call := self.run(next_step()):
            call.run()
        self._unassign(list(self.assignment))

    # Rebalances, in the thread that polls

    def _run_callbacks(self) -> None:
        core = self.core
        if self._is_leaving:
            self._leave("the consumer unsubscribed")
        while core.needs_attention:
            self.settle()
            call = self.run(core.advance())
            if call is not None:
                call.run()
        self.serve_commits()

    def serve_commits(self) -> None:
        """Tells of commits that are done."""
        finished = self.core.commits.take_finished()
        # One that raises leaves the others for the next time.
        self._finished.extendleft(partial(*each) for each in reversed(finished))
        while self._finished:
            self._finished.popleft()()

    @property
    def is_cooperative(self) -> bool:
        """Whether the group moves partitions one by one."""
        return self.core.is_cooperative

    @property
    def is_eager(self) -> bool:
        """Whether this is a member of a group that moves all partitions at once."""
        return self._was_member and self.core.subscription.is_automatic and not self.core.is_cooperative

    def _on_assigned(self, partitions: list[TopicPartition]) -> None:
        if not partitions and not self._was_member and self.config.group_protocol == "consumer":
            # The broker has not chosen yet: no change, so librdkafka tells of nothing.
            return
        self._was_member = True
        self._tell(self._callbacks.on_assigned, partitions, lambda: self._take_over(partitions))

    def _on_revoked(self, partitions: list[TopicPartition]) -> None:
        self._tell(self._callbacks.on_revoked, partitions, lambda: self._unassign(partitions))

    def _on_lost(self, partitions: list[TopicPartition]) -> None:
        self._tell(
            self._callbacks.on_lost or self._callbacks.on_revoked,
            partitions,
            lambda: self._forget(partitions),
        )

    def _tell(
        self,
        callback: PartitionsCallback | None,
        partitions: list[TopicPartition],
        otherwise: Callable[[], None],
    ) -> None:
        """Calls back; does what is to be done with the partitions unless the program did."""
        self._was_assigned_by_callback = False
        self._is_telling = True
        try:
            if callback is not None:
                callback(partitions)
        finally:
            self._is_telling = False
            self._begins_after_callback.clear()
            if not self._was_assigned_by_callback:
                otherwise()

    def _take_over(self, partitions: list[TopicPartition]) -> None:
        wanted = dict.fromkeys(partitions, Assigned(OFFSET_STORED))
        self._known_topics.update(partition.topic for partition in wanted)
        if self.is_cooperative:
            self.assignment |= wanted
        else:
            self.assignment = wanted
        self._buffer.pause(self._paused.intersection(partitions))

    # The assignment

    def assign(self, offsets: Mapping[TopicPartition, Assigned]) -> None:
        """Reads exactly these partitions, each from its offset."""
        self._was_assigned_by_callback = True
        if self._is_leaving:
            self._leave("the consumer unsubscribed")
        self._unassign(list(self.assignment))
        self._add(offsets)

    def incremental_assign(self, offsets: Mapping[TopicPartition, Assigned]) -> None:
        self._was_assigned_by_callback = True
        self._add(offsets)

    def unassign(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        self._was_assigned_by_callback = True
        self._unassign(list(self.assignment if partitions is None else partitions))

    def _add(self, offsets: Mapping[TopicPartition, Assigned]) -> None:
        self.settle()
        self._known_topics.update(partition.topic for partition in offsets)
        for partition, assigned in offsets.items():
            if assigned.offset == OFFSET_INVALID:
                assigned = replace(assigned, offset=OFFSET_STORED)
            self.assignment[partition] = assigned
            if self._is_telling and assigned.offset == OFFSET_STORED:
                self._begins_after_callback.add(partition)
        core, buffer = self.core, self._buffer

        async def add() -> None:
            core.client.add_topics({partition.topic for partition in offsets})
            if not core.subscription.is_automatic:
                core.subscription.is_by_hand = True
            # What the group assigned and the program left out is not read.
            buffer.remove([p for p in buffer.assignment if p not in self.assignment])
            buffer.add(offsets)
            buffer.pause(self._paused.intersection(offsets))

        self.run(add())
        for partition, assigned in offsets.items():
            if assigned.offset not in (OFFSET_INVALID, OFFSET_STORED):
                self._move(partition, self._target(partition, assigned.offset))

    def _unassign(self, partitions: list[TopicPartition]) -> None:
        """Gives partitions up, after committing what is stored of them."""
        self.settle()
        if self._commits_automatically:
            self._commit_before_leaving(partitions)
        self._forget(partitions)

    def _forget(self, partitions: list[TopicPartition]) -> None:
        # Nothing is lent of them between the two: it would be stored for whoever gets them next.
        with self._taking:
            self._take_back()
            for partition in partitions:
                self.assignment.pop(partition, None)
            self.offsets.forget(partitions)
            self._buffer.remove(partitions)

    def is_begun(self, partition: TopicPartition) -> bool:
        """Whether an assigned partition is read already, or about to be: not while it is to be found out what
        the group committed."""
        if partition in self._begins_after_callback or partition not in self._buffer.assignment:
            return False
        return self._buffer.state(partition).starting_point != "committed"

    def seek(self, partition: TopicPartition, offset: int) -> None:
        target = self._target(partition, offset)
        with self._taking:
            self._take_back()
            self.offsets.was_sought(partition)
            self._move(partition, target)

    def _target(self, partition: TopicPartition, offset: int) -> int | StartingPoint:
        """Where an offset of librdkafka's, logical or not, leads."""
        if offset >= 0:
            return offset
        if offset <= OFFSET_TAIL_BASE:
            ends = self.run(self.core.watermarks(partition, self.config.default_api_timeout_ms))
            return max(ends.low, ends.high - (OFFSET_TAIL_BASE - offset))
        return _STARTING_POINTS.get(offset, "reset")

    def _move(self, partition: TopicPartition, target: int | StartingPoint) -> None:
        if isinstance(target, int):
            self._buffer.seek(partition, target)
        else:
            self._buffer.seek_to(partition, target)

    def knows(self, topic: str) -> bool:
        """Whether this consumer has to do, or had, with the topic, or was asked what it keeps of it."""
        return topic in self._known_topics

    def get_to_know(self, topic: str) -> None:
        self._known_topics.add(topic)

    def identity(self) -> GroupIdentity:
        """Who this member is at present."""
        identity = self.core.group_metadata()
        return replace(identity, group_instance_id=self.config.group_instance_id)

    def cached_watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        """As of the last fetch; OFFSET_INVALID where there was none."""
        self.get_to_know(partition.topic)
        if partition in self.assignment:
            state = self._buffer.state(partition)
            if state.high_watermark >= 0:
                return state.log_start_offset, state.high_watermark
        return OFFSET_INVALID, OFFSET_INVALID

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self.settle()
        # librdkafka has no place to note it for others, such as those of on_assign before assign().
        self._paused.update(p for p in partitions if self.knows(p.topic))
        self._buffer.pause([p for p in partitions if p in self.assignment])

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)
        self._buffer.resume([p for p in partitions if p in self.assignment])

    # Commits

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Raises: what the core raises."""
        core = self.core
        if core.subscription.is_automatic and not self._was_member:
            # librdkafka commits on its way into the group, too: brokers take that while the group is empty.
            stranger = GroupIdentity(core.group_metadata().group_id)
            work = commit_offsets(
                core.client, stranger, offsets, timeout_ms=COMMIT_TIMEOUT_MS, retries_unknown=False
            )
        else:
            work = core.commit(offsets, COMMIT_TIMEOUT_MS, retries_unknown=False)
        self.run(work)
        self.offsets.were_committed(offsets)

    def commit_async(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """`on_commit` is told of exactly these."""
        self._loop.call(partial(self._start_commit, dict(offsets), tuple(offsets)))

    def commit_stored_async(self) -> None:
        """`on_commit` is told of all assigned partitions."""
        self.settle()
        assigned = tuple(self.assignment)
        due = self.offsets.due(assigned)
        if due:
            self._loop.call(partial(self._start_commit, due, assigned))
        elif self._on_commit is not None:
            error = KafkaError(KafkaError._NO_OFFSET)
            self._finished.append(partial(self._on_commit, error, assigned, due))
            self.wake()

    def due(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is stored of all assigned partitions and not committed."""
        self.settle()
        return self.offsets.due(self.assignment)

    def _commit_before_leaving(self, partitions: list[TopicPartition]) -> None:
        """What is stored of partitions that are given up, while this member may still commit it."""
        stored = self.offsets.stored(partitions)
        if not stored:
            return
        error: KafkaError | None = None
        try:
            self.run(self.core.commit(stored, LEAVE_COMMIT_TIMEOUT_MS, retries_unknown=False))
        except BarnabasError as raised:
            error = kafka_error_of(raised)
        if self._on_commit is not None:
            self._finished.append(partial(self._on_commit, error, tuple(partitions), stored))
            self.wake()

    def _start_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata], told: Told) -> None:
        """On the event loop."""
        if self.core.is_closed:
            return
        # Until the answer is there it is not committed again.
        self.offsets.were_committed(offsets)
        self.core.commit_async(offsets, partial(self._committed, told))

    def _committed(
        self,
        told: Told,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        error: BarnabasError | None,
    ) -> None:
        if error is not None:
            self.offsets.were_not_committed(offsets)
        if self._on_commit is not None:
            self._on_commit(None if error is None else kafka_error_of(error), told, offsets)

    def _start_tasks(self) -> None:
        start = self._client.in_background
        self._tasks.append(start(self._watch_progress(), "watching whether the program polls"))
        self._tasks.append(start(reach_cluster(self._client), "reaching for the cluster"))
        if self._commits_automatically and self.config.auto_commit_interval_ms > 0:
            self._tasks.append(start(self._keep_committing(), "committing automatically"))

    def _tell_fault(self, error: ImpossibleOffsetError) -> None:
        """Any thread."""
        what = f"client {self.config.client_id}: storing an offset"
        self._loop.call(partial(background.tell, what, error, self._client.tell_fault))

    def _stop_tasks(self) -> None:
        while self._tasks:
            self._tasks.pop().cancel()

    async def _watch_progress(self) -> None:
        """Polls that the kernel serves alone leave no other trace."""
        seen = 0
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            poller = self._poller_of()
            if poller is not None and poller._handed_out != seen:
                seen = poller._handed_out
                self.core.note_progress()
            del poller

    async def _keep_committing(self) -> None:
        interval_seconds = self.config.auto_commit_interval_ms / 1000
        due_at = CLOCK.monotonic() + interval_seconds
        while True:
            await asyncio.sleep(due_at - CLOCK.monotonic())
            # One that was late puts the next ones off no further.
            due_at = max(due_at + interval_seconds, CLOCK.monotonic())
            self.offsets.note(self._handed_out)
            assigned = tuple(self.assignment)
            due = self.offsets.due(assigned)
            if due:
                self._start_commit(due, assigned)

    # The end

    def close(self) -> None:
        """Commits what is stored, runs the callbacks that are due, and leaves the group."""
        self.is_closing = True
        self._loop.call(self._stop_tasks)
        try:
            if self.core.subscription.is_automatic:
                self._leave("the consumer was closed")
            else:
                self._unassign(list(self.assignment))
            self.run(self.core.commits.wait(COMMIT_TIMEOUT_MS))
            self.serve_commits()
        finally:
            self.run(self.core.close())
            self.wake()


def abandon(session: ConsumerSession) -> None:
    """Closes the connections of a consumer that was forgotten, soon. As with librdkafka, its group is not
    told."""
    core, loop = session.core, session._loop

    def begin() -> None:
        session._stop_tasks()
        if not core.is_closed:
            session._tasks.append(core.client.in_background(core.close(), "closing a forgotten consumer"))

    loop.call(begin)
