"""One open consumer as librdkafka has it: the core beneath, what is subscribed to, and who is called back.

Owns the waiting of poll and consume, the assignment as the program sees it, and the callbacks of rebalances.
Its messages are in `session_messages`, its commits in `session_commits`. The arguments and exceptions of the
public methods are `consumer`'s.

In the core a group's assignment is in force before the program hears of it. Here it is the program's, or done
in its place after the callback: `assignment` is what the program sees, and the core's partitions follow it.
"""
# The constants of KafkaError and the methods of MessagePoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from barnabas import background
from barnabas._kernel import Message, MessagePoller
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.cluster.observed import Observed
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS, ConsumerCore
from barnabas.client.consume.failures import Failure
from barnabas.client.consume.partition_state import StartingPoint
from barnabas.client.groups.subscription import ListenerCall, RebalanceListener
from barnabas.compat.librdkafka.cluster.reaching import reach_cluster
from barnabas.compat.librdkafka.config.consumer_setup import ConsumerSetup
from barnabas.compat.librdkafka.consume.consumer_events import (
    failure_message,
    overdue_message,
    unavailable_message,
)
from barnabas.compat.librdkafka.consume.session_commits import (
    COMMIT_TIMEOUT_MS,
    CommitCallback,
    SessionCommits,
)
from barnabas.compat.librdkafka.consume.session_messages import BegunAt, SessionMessages, ShownNames
from barnabas.compat.librdkafka.consume.stored_offsets import StoredOffsets
from barnabas.compat.librdkafka.values.constants import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
)
from barnabas.compat.librdkafka.values.errors import KafkaError
from barnabas.compat.librdkafka.values.posix_patterns import any_of, topics_pattern
from barnabas.errors import ImpossibleOffsetError
from barnabas.events import Event, PollIntervalExceeded
from barnabas.loop_thread import loop_thread
from barnabas.sync.poll_session import Look, run_poll
from barnabas.sync.reader_loans import attending, watch_progress
from barnabas.sync.waiting import PollWaiting, direct_fetches
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition
from barnabas.values import frozen

T = TypeVar("T")

OFFSET_TAIL_BASE = -2000
"""An offset of this minus n is n records before the end."""
# Between two looks of one thread for what another may have taken its notice of.
LONGEST_WAIT_SECONDS = 1.0
UNKNOWN_RETRY_SECONDS = 1.0
_STARTING_POINTS: dict[int, StartingPoint] = {OFFSET_BEGINNING: "earliest", OFFSET_END: "latest"}

PartitionsCallback = Callable[[list[TopicPartition]], object]


@frozen
class Assigned:
    """What a partition was assigned with: where to begin (an offset or a logical one) and a note."""

    offset: int
    metadata: str | None = None
    leader_epoch: int | None = None


class ConsumerSession(Observed):
    """`poller` hands out what is at hand; see `MessagePoller`. `on_commit` is called, while a poll runs,
    after each commit that nobody waits for, automatic ones included. It has over forty methods, as
    librdkafka's consumer does that much with its subscription and its assignment."""

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
        self._serve = serve
        self._loop = loop_thread()
        self._waiting = PollWaiting()
        self.wake = attending(self._poller_of, self._waiting.wake)
        """Has polls look again. Any thread."""
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
        self.was_member = False
        """Whether a group has given it an assignment."""
        self._tasks: list[asyncio.Task[None]] = []

        async def make_core() -> ConsumerCore:
            return ConsumerCore(
                self.config,
                notify=self.wake,
                direct_fetches=direct_fetches(self._waiting),
            )

        self.core = self._loop.run(make_core(), what="consumer")
        self._client = self.core.client
        self.messages = SessionMessages(
            self.core,
            self.offsets,
            poller=self._poller_of,
            assigned=lambda: self.assignment,
            on_failure=self._note_failure,
            shown_names=shown_names,
        )
        self.commits = SessionCommits(
            self.core,
            self.offsets,
            on_commit=on_commit,
            assigned=lambda: self.assignment,
            handed_out=self.messages.handed_out,
            wake=self.wake,
        )
        if setup.topic_blacklist:
            self._client.hide_topics(any_of(setup.topic_blacklist))
        self._partitions, self._buffer = self.core.partitions, self.core.buffer
        self._partitions.on_made_again = self.offsets.forget
        self._client.events.add(self._listen)
        self._client.add_metadata_listener(self._on_metadata)

    def start(self) -> None:
        """Reaches for the cluster. What it tells of that is heard by those that listen already."""
        self._loop.call(self._start_tasks)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run(work, what="consumer")

    # Messages

    def next_message(self, timeout: float | None) -> Message | None:
        """`timeout` in seconds, None without end."""
        return self._wait(self.messages.take_one, timeout)

    def next_messages(self, limit: int, timeout: float | None) -> list[Message]:
        """Up to `limit` messages; waits for all of them. Where a callback raises meanwhile, the next call
        gives them."""
        messages: list[Message] = []
        begun_at: BegunAt = {}

        def take() -> bool | None:
            self.messages.take_many(messages, limit, begun_at)
            return len(messages) >= limit or None

        try:
            self._wait(take, timeout)
        except BaseException:
            self.messages.unread(messages, begun_at)
            raise
        return messages

    def _wait(self, take: Callable[[], T | None], timeout: float | None) -> T | None:
        core = self.core

        def look() -> T | Literal[Look.WAIT]:
            poller = self.messages.poller
            poller._attended()
            self._serve()
            if self._is_overdue:
                # The program hears of it before it hears that its partitions are lost.
                self._is_overdue = False
                poller._attend()
            else:
                self._run_callbacks()
            taken = None if core.rebalances.is_holding else take()
            return Look.WAIT if taken is None else taken

        return run_poll(core, self._waiting, look, timeout=timeout, longest_wait=LONGEST_WAIT_SECONDS)

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
            self.messages.arrived.append(message)

    def _try_again(self, partition: TopicPartition) -> None:
        assigned = self.assignment.get(partition)
        if assigned is None or self.core.is_closed:
            return
        offset = assigned.offset
        if offset >= 0:
            self._move(partition, offset, assigned.leader_epoch)
        else:
            self._partitions.seek_to(partition, _STARTING_POINTS.get(offset, "committed"))

    def _listen(self, event: Event) -> None:
        if isinstance(event, PollIntervalExceeded):
            self.messages.arrived.appendleft(overdue_message(event))
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
                self.messages.arrived.append(unavailable_message(topic, code))
                self.wake()

    # Subscriptions

    def subscribe(self, topics: list[str], callbacks: RebalanceListener) -> None:
        """Names, and regular expressions, which begin with ^. Raises: BarnabasError."""
        self.messages.settle()
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
        self.messages.settle()
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
            self.messages.settle()
            call = self.run(core.advance())
            if call is not None:
                call.run()
        self.commits.serve()

    @property
    def is_cooperative(self) -> bool:
        """Whether the group moves partitions one by one."""
        return self.core.rebalances.is_cooperative

    @property
    def is_eager(self) -> bool:
        """Whether this is a member of a group that moves all partitions at once."""
        return self.was_member and self.core.subscription.is_automatic and not self.is_cooperative

    def _on_assigned(self, partitions: list[TopicPartition]) -> None:
        if not partitions and not self.was_member and self.config.group_protocol == "consumer":
            # The broker has not chosen yet: no change, so librdkafka tells of nothing.
            return
        self.was_member = True
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
        self._partitions.pause(self._paused.intersection(partitions))

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
        self.messages.settle()
        self._known_topics.update(partition.topic for partition in offsets)
        for partition, assigned in offsets.items():
            if assigned.offset == OFFSET_INVALID:
                assigned = replace(assigned, offset=OFFSET_STORED)
            self.assignment[partition] = assigned
            if self._is_telling and assigned.offset == OFFSET_STORED:
                self._begins_after_callback.add(partition)
        core, partitions = self.core, self._partitions

        async def add() -> None:
            core.client.add_topics({partition.topic for partition in offsets})
            if not core.subscription.is_automatic:
                core.subscription.is_by_hand = True
            # What the group assigned and the program left out is not read.
            partitions.remove([p for p in partitions.assignment if p not in self.assignment])
            partitions.add(offsets)
            partitions.pause(self._paused.intersection(offsets))

        self.run(add())
        for partition, assigned in offsets.items():
            if assigned.offset not in (OFFSET_INVALID, OFFSET_STORED):
                target = self._target(partition, assigned.offset)
                self._move(partition, target, assigned.leader_epoch if assigned.offset >= 0 else None)

    def _unassign(self, partitions: list[TopicPartition]) -> None:
        """Gives partitions up, after committing what is stored of them."""
        self.messages.settle()
        if self._commits_automatically:
            self.commits.commit_before_leaving(partitions)
        self._forget(partitions)

    def _forget(self, partitions: list[TopicPartition]) -> None:
        # Nothing is lent of them between the two: it would be stored for whoever gets them next.
        with self.messages.lock:
            self.messages.take_back()
            for partition in partitions:
                self.assignment.pop(partition, None)
            self.offsets.forget(partitions)
            self._partitions.remove(partitions)

    def is_begun(self, partition: TopicPartition) -> bool:
        """Whether an assigned partition is read already, or about to be: not while it is to be found out what
        the group committed."""
        if partition in self._begins_after_callback or partition not in self._partitions.assignment:
            return False
        return self._partitions.state(partition).starting_point != "committed"

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int | None = None) -> None:
        target = self._target(partition, offset)
        with self.messages.lock:
            self.messages.take_back()
            self.offsets.was_sought(partition)
            self._move(partition, target, leader_epoch if offset >= 0 else None)

    def _target(self, partition: TopicPartition, offset: int) -> int | StartingPoint:
        """Where an offset of librdkafka's, logical or not, leads."""
        if offset >= 0:
            return offset
        if offset <= OFFSET_TAIL_BASE:
            ends = self.run(self.core.lookups.watermarks(partition, self.config.default_api_timeout_ms))
            return max(ends.low, ends.high - (OFFSET_TAIL_BASE - offset))
        return _STARTING_POINTS.get(offset, "reset")

    def _move(
        self, partition: TopicPartition, target: int | StartingPoint, leader_epoch: int | None = None
    ) -> None:
        if isinstance(target, int):
            self._partitions.seek(partition, target, -1 if leader_epoch is None else leader_epoch)
        else:
            self._partitions.seek_to(partition, target)

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
            state = self._partitions.state(partition)
            if state.high_watermark >= 0:
                return state.log_start_offset, state.high_watermark
        return OFFSET_INVALID, OFFSET_INVALID

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self.messages.settle()
        # librdkafka has no place to note it for others, such as those of on_assign before assign().
        self._paused.update(p for p in partitions if self.knows(p.topic))
        self._partitions.pause([p for p in partitions if p in self.assignment])

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)
        self._partitions.resume([p for p in partitions if p in self.assignment])

    def _start_tasks(self) -> None:
        start = self._client.in_background
        self._tasks.append(
            start(watch_progress(self.core, self._poller_of), "watching whether the program polls")
        )
        self._tasks.append(start(reach_cluster(self._client), "reaching for the cluster"))
        interval_ms = self.config.auto_commit_interval_ms
        if self._commits_automatically and interval_ms > 0:
            keep_committing = self.commits.keep_committing(interval_ms)
            self._tasks.append(start(keep_committing, "committing automatically"))

    def _tell_fault(self, error: ImpossibleOffsetError) -> None:
        """Any thread."""
        what = f"client {self.config.client_id}: storing an offset"
        self._loop.call(partial(background.tell, what, error, self._client.tell_fault))

    def _stop_tasks(self) -> None:
        while self._tasks:
            self._tasks.pop().cancel()

    # The end

    def due(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is stored of all assigned partitions and not committed."""
        self.messages.settle()
        return self.offsets.due(self.assignment)

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
            self.commits.serve()
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
