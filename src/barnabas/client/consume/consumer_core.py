"""What the consumers for asyncio and for plain calls share: the parts of a consumer, put together.

Owns the order of things: when positions are looked up, when partitions change hands and which callbacks are
due, when what is committed. Everything here runs on the event loop unless it says otherwise. Must not know
how a caller waits.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas._kernel import Record
from barnabas.client.arguments import TakenRecords
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.cluster.telemetry_metrics import consumer_metrics
from barnabas.client.cluster.topic_watch import watch_topics
from barnabas.client.consume.consumer_stats import consumer_stats
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.fetcher import Fetcher
from barnabas.client.consume.partition_state import StartingPoint
from barnabas.client.consume.poll_clock import PollClock
from barnabas.client.consume.positions import PositionFinder
from barnabas.client.consume.stopped_partitions import StoppedPartitions
from barnabas.client.deserializing import Deserializing
from barnabas.client.groups.consumer_group import ConsumerProtocolMembership
from barnabas.client.groups.group_observer import GroupObserver
from barnabas.client.groups.membership import GroupMembership, GroupMembershipOperation
from barnabas.client.groups.offset_commits import CommitCallback, OffsetCommits, Offsets
from barnabas.client.groups.offsets import fetch_committed, list_offsets
from barnabas.client.groups.subscription import (
    ListenerCall,
    PartitionsCallback,
    RebalanceListener,
    Subscription,
    compiled_pattern,
)
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, BrokerError, ClosedError, KafkaTimeoutError, MisuseError
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.settings.table import ConsumerConfig
from barnabas.stats import ConsumerStats
from barnabas.time_limits import time_limit
from barnabas.types import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    GroupIdentity,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    PartitionInfo,
    TopicPartition,
    Watermarks,
)
from barnabas.windows import WINDOW_SECONDS

if TYPE_CHECKING:
    from barnabas._kernel import DirectFetches

logger = logging.getLogger("barnabas.client")

CLOSE_TIMEOUT_MS = 30_000


class ConsumerCore:
    """A consumer without its front. The front calls `advance` whenever `needs_attention`, runs the callbacks
    that it gives, and takes records from `buffer` unless `is_holding`."""

    def __init__(
        self,
        config: ConsumerConfig,
        *,
        notify: Callable[[], None],
        direct_fetches: DirectFetches | None = None,
    ) -> None:
        """`notify` is called, on any thread, when a poll that waits should look again. `direct_fetches`: what
        the caller's thread waits with, if that can fetch by itself; `take_in` is to be called after each
        wait."""
        self.config = config
        self.subscription = Subscription()
        self.needs_attention = False
        self.is_holding = False
        """While partitions are about to change hands nothing may be taken, so that what was committed stays
        what was returned."""
        self.is_closed = False
        self._loop = asyncio.get_running_loop()
        self._notify = notify
        self.taken: TakenRecords[Any, Any] = TakenRecords()
        """What the front hands out one by one."""
        self._deserializing = Deserializing.of(config)
        self.client = KafkaClient(config, allow_auto_topic_creation=config.allow_auto_create_topics)
        self.buffer = FetchBuffer(
            config.queued_max_bytes, on_data=notify, on_room=self._wake_fetcher, on_lookup=self._attend
        )
        self._fetcher = Fetcher(self.client, self.buffer, config, direct_fetches)
        self.take_in = self._fetcher.take_in
        self._positions = PositionFinder(self.client, self.buffer, config)
        self._group: GroupMembership | None = None
        if config.group_id is not None:
            self._group = self._make_group(config.group_id)
        self._steps: AsyncGenerator[ListenerCall | None] | None = None
        self._is_giving_up = False
        self._lookup: asyncio.Task[None] | None = None
        self._lookup_failures = 0
        self._topic_watch: asyncio.Task[None] | None = None
        self._knows_pattern = False
        self._next_auto_commit = CLOCK.monotonic() + config.auto_commit_interval_ms / 1000
        self.client.add_metadata_listener(self._on_metadata)
        self.client.add_refusal_listener(self.buffer.raise_later)
        self.group_observer = GroupObserver(config.client_id, config.group_id or "", self.client.events)
        self.commits = OffsetCommits(
            self.client,
            config,
            self.subscription,
            self.group_observer,
            identity=self.group_metadata,
            is_rejoining=lambda: self.is_rejoining,
            on_refused=self._commit_refused,
            on_finished=self._attend,
        )
        self.poll_clock = PollClock()
        self.client.telemetry.measure_with(lambda: consumer_metrics(self.stats()), self._telemetry_resource)

    @property
    def is_rejoining(self) -> bool:
        """Whether an answer to JoinGroup is under way."""
        return self._group is not None and self._group.phase == "joining"

    def go_on_after_errors(self) -> None:
        """See `StoppedPartitions`. On the event loop's thread."""
        StoppedPartitions(self.buffer, self.client.backoff)

    def _commit_refused(self, error: BrokerError) -> None:
        if self._group is not None:
            self._group.commit_refused(error)

    def _make_group(self, group_id: str) -> GroupMembership:
        if self.config.group_protocol == "classic":
            return self._make_classic_group(group_id)
        is_auto = self.config.group_protocol == "auto"
        return ConsumerProtocolMembership(
            self.client,
            self.config,
            group_id,
            on_change=self._group_changed,
            on_error=self.buffer.raise_later,
            progress=self.taken.count,
            on_unsupported=self._use_classic_protocol if is_auto else None,
        )

    def _make_classic_group(self, group_id: str) -> GroupMembership:
        # Here and not above: a Kafka of today needs it only where a program asks for it.
        from barnabas.client.groups.classic_group import ClassicMembership

        return ClassicMembership(
            self.client,
            self.config,
            group_id,
            on_change=self._group_changed,
            on_error=self.buffer.raise_later,
            progress=self.taken.count,
        )

    def _use_classic_protocol(self) -> None:
        """The cluster or the group does not take the consumer protocol."""
        assert self._group is not None
        self._group = self._make_classic_group(self._group.group_id)
        if self.subscription.broker_pattern is not None:
            self.subscription.match_here()
            self.client.track_topics(None)
            self.client.request_metadata_update()
        self._group.request_join()

    # What the caller wants to read

    def subscribe(
        self,
        topics: Iterable[str] | None,
        pattern: str | re.Pattern[str] | None,
        listener: RebalanceListener,
    ) -> None:
        """Raises: MisuseError."""
        self.check_open()
        before = self.subscription.wish
        by_broker = isinstance(self._group, ConsumerProtocolMembership)
        if by_broker and self.config.group_protocol == "auto" and isinstance(pattern, str):
            # It may come to be matched here.
            compiled_pattern(pattern)
        self.subscription.subscribe(topics, pattern, listener, by_broker=by_broker)
        if self.subscription.wish == before:
            return
        self._knows_pattern = False
        self._stop_watch()
        if self.subscription.broker_pattern is not None:
            self.client.track_topics(())
        elif self.subscription.pattern is not None:
            self.client.track_topics(None)
            self.client.request_metadata_update()
        elif self.subscription.topics:
            self.client.track_topics(self.subscription.topics)
            self._watch_topics(self.subscription.topics, self.buffer.raise_later)
        if self._group is None:
            self._attend()
        else:
            self._group.request_join()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Raises: MisuseError."""
        self.check_open()
        self.subscription.assign()
        wanted = dict.fromkeys(partitions)
        for topic, number in wanted:
            if not topic or number < 0:
                raise MisuseError(
                    f"{(topic, number)!r} is not a partition: give (topic, partition number >= 0)"
                )
        topics = {partition.topic for partition in wanted}
        self.client.add_topics(topics)
        # The look-up of positions tells which partitions do not exist.
        self._watch_topics(topics, lambda error: None if error.retriable else self.buffer.raise_later(error))
        self.buffer.remove([p for p in self.buffer.assignment if p not in wanted])
        self.buffer.add(wanted)

    @property
    def subscribed_topics(self) -> set[str]:
        """Of what a broker matches, only the topics of assigned partitions are known."""
        if self.subscription.broker_pattern is not None:
            return {partition.topic for partition in self.buffer.assignment}
        return set(self.subscription.topics)

    def check_reads(self) -> None:
        """Raises: ClosedError; MisuseError where nothing is subscribed to or assigned."""
        self.check_open()
        if self.subscription.is_empty:
            raise MisuseError(
                "this consumer has no topics to read: call subscribe() or assign(), or pass topics=[...]"
            )

    def enforce_rebalance(self, reason: str) -> None:
        """Raises: MisuseError without a group."""
        group = self._check_group("enforce_rebalance()")
        self.check_open()
        if not isinstance(group, ConsumerProtocolMembership):
            group.request_join(reason)
        else:
            logger.warning(
                "enforce_rebalance() has no effect: the broker of a group of the consumer protocol divides "
                "partitions when that is due"
            )

    # What a poll has to do besides taking records

    async def advance(self) -> ListenerCall | None:
        """The next callback that is due; None when there is nothing to do at present but to take records."""
        self.check_open()
        self.needs_attention = False
        goes_on = self._steps is not None
        call = await self._next_step(self._rebalance)
        if goes_on and self._steps is None:
            # What has changed since these steps began, they may have passed by.
            call = await self._next_step(self._rebalance)
        if call is None:
            self._look_up_positions()
        return call

    async def next_giving_up_step(
        self,
        reason: str,
        *,
        commit: bool,
        timeout_ms: float,
        operation: GroupMembershipOperation = "default",
    ) -> ListenerCall | None:
        """Like `advance`, on the way out of the group: None when nothing is assigned any more."""
        if not self._is_giving_up:
            self._is_giving_up = True
            self._steps = None
        call = await self._next_step(
            lambda: self._give_up_all(reason, commit=commit, timeout_ms=timeout_ms, operation=operation)
        )
        self._is_giving_up = call is not None
        return call

    async def _next_step(
        self, begin: Callable[[], AsyncGenerator[ListenerCall | None]]
    ) -> ListenerCall | None:
        if self._steps is None:
            self._steps = begin()
        try:
            call = await anext(self._steps)
        except StopAsyncIteration:
            self._steps = None
            return None
        except BaseException:
            self._steps = None
            self.is_holding = False
            raise
        if call is not None:
            self.needs_attention = True
        return call

    async def _rebalance(self) -> AsyncGenerator[ListenerCall | None]:
        """Callbacks that are due, in order; None where the caller has to come back later."""
        if not self.subscription.is_automatic:
            return
        group = self._group
        if group is None:
            for call in self._take_all_partitions():
                yield call
            return
        if group.is_lost:
            group.is_lost = False
            lost = self.buffer.assignment
            self.group_observer.lost(lost)
            listener = self.subscription.listener
            for call in self._calls(listener.on_lost or listener.on_revoked, lost):
                yield call
            self.buffer.remove(lost)
        if group.phase == "assigned":
            assigned = group.take_assignment()
            owned = self.buffer.assignment
            revoked = sorted(set(owned) - set(assigned))
            if revoked:
                async for step in self._revoke(revoked):
                    yield step
            if self._is_gone(group):
                self._attend()
                return
            added = sorted(set(assigned) - set(owned))
            self.buffer.add(added)
            self.group_observer.assigned(added)
            group.assignment_taken(self.buffer.assignment, revoked)
            if self.subscription.listener.on_assigned is not None:
                yield ListenerCall(self.subscription.listener.on_assigned, added)
        if group.needs_join and group.phase != "joining" and self._knows_topics:
            owned = self.buffer.assignment
            kept: list[TopicPartition] = []
            if group.is_cooperative:
                kept = [p for p in owned if self.subscription.takes(p.topic)]
            revoked = sorted(set(owned) - set(kept))
            if revoked:
                async for step in self._revoke(revoked):
                    yield step
            if self._is_gone(group):
                self._attend()
                return
            self.group_observer.joins()
            group.start_join(self.subscription, kept)

    def _is_gone(self, group: GroupMembership) -> bool:
        """Whether membership ended while callbacks ran."""
        return group.is_lost or group is not self._group

    def _take_all_partitions(self) -> list[ListenerCall]:
        """Without a group a subscription means every partition of its topics."""
        metadata, listener = self.client.metadata, self.subscription.listener
        wanted = [
            TopicPartition(topic, info.partition)
            for topic in sorted(self.subscription.topics)
            for info in metadata.partitions_for(topic)
        ]
        owned = self.buffer.assignment
        added = [p for p in wanted if p not in owned]
        removed = [p for p in owned if p.topic not in self.subscription.topics]
        calls = self._calls(listener.on_revoked, removed) + self._calls(listener.on_assigned, added)
        self.buffer.remove(removed)
        if added:
            self.buffer.add(added)
        return calls

    async def _revoke(self, partitions: list[TopicPartition]) -> AsyncGenerator[ListenerCall | None]:
        """Commits what was returned, tells the caller, and forgets the partitions."""
        self.is_holding = True
        try:
            if self.commits_automatically:
                timeout_ms = self.config.default_api_timeout_ms
                commit = self._commit_positions(timeout_ms, is_last=True)
                commit.add_done_callback(lambda _: self._attend())
                while not commit.done():
                    yield None
            self.group_observer.revoked(partitions)
            for call in self._calls(self.subscription.listener.on_revoked, partitions):
                yield call
            self.buffer.remove(partitions)
        finally:
            self.is_holding = False

    async def _give_up_all(
        self, reason: str, *, commit: bool, timeout_ms: float, operation: GroupMembershipOperation
    ) -> AsyncGenerator[ListenerCall | None]:
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        group = self._group
        self.is_holding = True
        try:
            if commit and self.commits_automatically:
                await asyncio.wait([self._commit_positions(timeout_ms, is_last=True)])
            await self.commits.wait(max(0, deadline - CLOCK.monotonic()) * 1000)
            if self.subscription.is_automatic and group is not None:
                listener = self.subscription.listener
                if gone := self.buffer.assignment:
                    (self.group_observer.lost if group.is_lost else self.group_observer.revoked)(gone)
                on_gone = (listener.on_lost if group.is_lost else None) or listener.on_revoked
                for call in self._calls(on_gone, self.buffer.assignment):
                    yield call
                remaining_ms = max(0, deadline - CLOCK.monotonic()) * 1000
                await group.leave(reason, remaining_ms, operation)
            self.buffer.remove(self.buffer.assignment)
            self._stop_watch()
            self.subscription.clear()
        finally:
            self.is_holding = False

    def _calls(
        self, callback: PartitionsCallback | None, partitions: list[TopicPartition]
    ) -> list[ListenerCall]:
        return [ListenerCall(callback, partitions)] if callback is not None and partitions else []

    @property
    def is_cooperative(self) -> bool:
        """Whether the group moves partitions one by one, and the caller keeps the others meanwhile."""
        return self._group is not None and self.subscription.is_automatic and self._group.is_cooperative

    @property
    def _knows_topics(self) -> bool:
        return self.subscription.pattern is None or self._knows_pattern

    def _attend(self) -> None:
        self.needs_attention = True
        self._notify()

    def _group_changed(self) -> None:
        group = self._group
        if group is not None and group.is_overdue:
            self.buffer.is_held = True
            if group.polls.overdue_in_ms() > 0:
                # A poll began meanwhile, and may not have seen it.
                self._release(group)
            else:
                self._join_without_caller(group)
        self._attend()

    def _join_without_caller(self, group: GroupMembership) -> None:
        """A caller that is overdue does not keep the group waiting where it can keep all that it has."""
        if (
            group.needs_join
            and group.phase == "member"
            and not group.is_lost
            and group.is_cooperative
            and self._steps is None
            and self._knows_topics
            and all(self.subscription.takes(p.topic) for p in self.buffer.assignment)
        ):
            self.group_observer.joins()
            group.start_join(self.subscription, self.buffer.assignment)

    def _release(self, group: GroupMembership) -> None:
        """The caller of a group that it kept waiting polls again. Any thread."""
        group.is_overdue = False
        self.buffer.release()

    def _wake_fetcher(self) -> None:
        # The caller's thread may outlive the loop.
        if not self.is_closed:
            self._loop.call_soon_threadsafe(self._fetcher.wake)

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        subscription = self.subscription
        if self._group is None:
            if subscription.is_automatic:
                subscription.topics |= self._matches(metadata)
                self._attend()
        elif subscription.pattern is not None:
            matches = self._matches(metadata)
            if not self._knows_pattern or matches != subscription.topics:
                self._knows_pattern = True
                subscription.topics = matches
                self._group.request_join()
                self._attend()

    def _matches(self, metadata: ClusterMetadata) -> frozenset[str]:
        """The topics that the pattern takes; Kafka's own where the settings say so."""
        takes_all = not self.config.exclude_internal_topics
        return self.subscription.matches(
            [t.name for t in metadata.topic_metadata.values() if takes_all or not t.is_internal]
        )

    def _watch_topics(self, topics: Iterable[str], on_error: Callable[[BarnabasError], object]) -> None:
        self._stop_watch()
        names = sorted(topics)
        if names:
            watching = watch_topics(self.client, names, on_error)
            self._topic_watch = self.client.in_background(watching, "watching for topics")

    def _stop_watch(self) -> None:
        if self._topic_watch is not None:
            self._topic_watch.cancel()
            self._topic_watch = None

    # Positions

    def _look_up_positions(self) -> None:
        if self._lookup is None and self.buffer.awaiting_position():
            self._lookup = self.client.in_background(self._find_positions(), "finding positions")

    async def _find_positions(self) -> None:
        try:
            while states := self.buffer.awaiting_position():
                await self._positions.find(states, self.config.default_api_timeout_ms)
            self._lookup_failures = 0
        except BarnabasError as error:
            self.buffer.raise_later(error)
            # A caller that goes on polling asks again.
            self._lookup_failures += 1
            await asyncio.sleep(self.client.backoff.delay_ms(self._lookup_failures) / 1000)
            self._attend()
        finally:
            self._lookup = None
            self._notify()

    def seek_to(self, partitions: Iterable[TopicPartition], starting_point: StartingPoint) -> None:
        """Raises: MisuseError where a partition is not assigned."""
        for partition in partitions or self.buffer.assignment:
            self.buffer.seek_to(partition, starting_point)

    async def position(self, partition: TopicPartition, timeout_ms: float) -> int:
        """Raises: MisuseError, KafkaTimeoutError, and what the look-up raises."""
        state = self.buffer.state(partition)
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        while not state.has_position:
            remaining = deadline - CLOCK.monotonic()
            if remaining <= 0:
                default_ms = self.config.default_api_timeout_ms
                limit = time_limit(timeout_ms, "default_api_timeout_ms", default_ms)
                raise KafkaTimeoutError(f"no position of {partition} within {limit}")
            if state.is_stopped:
                self.buffer.raise_error()
                raise MisuseError(f"{partition} has stopped after an error and has no position: seek first")
            if self._lookup is None:
                self._lookup = self.client.in_background(self._find_positions(), "finding positions")
            await asyncio.wait([self._lookup], timeout=remaining)
        return state.position

    # Commits

    @property
    def commits_automatically(self) -> bool:
        return self._group is not None and self.config.enable_auto_commit

    def poll_began(self) -> None:
        """To be called in the caller's thread when a poll begins: what earlier ones returned is done with."""
        self.poll_clock.began()
        self.buffer.begin_poll()
        if self._group is None:
            return
        self._group.polls.began()
        if self.buffer.is_held:
            self._release(self._group)
        if self.config.enable_auto_commit and CLOCK.monotonic() >= self._next_auto_commit:
            self._next_auto_commit = CLOCK.monotonic() + self.config.auto_commit_interval_ms / 1000
            topic_ids, positions = self.buffer.topic_ids(), self.buffer.positions()
            if positions:
                timeout_ms = self.config.default_api_timeout_ms
                self._loop.call_soon_threadsafe(
                    lambda: self.commits.start(positions, timeout_ms, topic_ids=topic_ids)
                )

    def give_back(self) -> None:
        """What was taken but not handed out is to be read again: positions are exact from here on. In the
        caller's thread."""
        in_hand, unused = self.taken.in_hand, self.taken.rest()
        if in_hand is not None or unused:
            self.buffer.give_back(unused, in_hand)
            self.taken.clear()

    def take_back(self) -> None:
        """As `give_back`, with all that the caller has not handled: of one that was interrupted. In its
        thread, or when it is no more."""
        self.give_back()
        self.buffer.take_back()

    def prepared(self, records: list[Record]) -> list[Record[Any, Any]]:
        """What the deserializers and interceptors make of records just taken. To be called in the caller's
        thread."""
        if self._deserializing is not None:
            records = self._deserializing.records(records)
        for interceptor in self.config.interceptors:
            try:
                records = interceptor.on_consume(records)
            except Exception:
                logger.exception("on_consume of interceptor %r failed", interceptor)
        return records

    def poll_ended(self) -> None:
        self.poll_clock.ended()
        if self._group is not None:
            self._group.polls.ended()

    def note_progress(self) -> None:
        """The caller works through what a poll gave, and is not overdue."""
        if self._group is not None:
            self._group.polls.note_progress()

    async def commit(
        self, offsets: Offsets | None, timeout_ms: float, *, retries_unknown: bool = True
    ) -> None:
        """`retries_unknown`: see `commit_offsets`. Raises: MisuseError, and what `commit_offsets` raises."""
        self._check_group("commit()")
        self.check_open()
        topic_ids = self.buffer.topic_ids()
        offsets = self.buffer.positions() if offsets is None else offsets
        self.buffer.note_handled(offsets)
        await self.commits.commit(offsets, timeout_ms, topic_ids=topic_ids, retries_unknown=retries_unknown)

    def commit_async(self, offsets: Offsets | None, on_commit: CommitCallback | None) -> None:
        """`on_commit` waits in `commits.take_finished`. Raises: MisuseError."""
        self._check_group("commit_async()")
        self.check_open()
        topic_ids = self.buffer.topic_ids()
        offsets = self.buffer.positions() if offsets is None else dict(offsets)
        self.buffer.note_handled(offsets)
        timeout_ms = self.config.default_api_timeout_ms
        self.commits.start(offsets, timeout_ms, on_commit, topic_ids=topic_ids)

    def _commit_positions(self, timeout_ms: float, *, is_last: bool) -> asyncio.Task[None]:
        topic_ids, positions = self.buffer.topic_ids(), self.buffer.positions()
        return self.commits.start(positions, timeout_ms, topic_ids=topic_ids, is_last=is_last)

    def group_metadata(self) -> GroupIdentity:
        """Who this member is at present. Raises: MisuseError without a group."""
        group = self._check_group("group_metadata()")
        if not self.subscription.is_automatic:
            return GroupIdentity(group.group_id)
        return group.identity

    async def committed(
        self, partitions: Iterable[TopicPartition] | None, timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """See `fetch_committed`."""
        group_id = self._check_group("committed()").group_id
        return await fetch_committed(self.client, group_id, partitions, timeout_ms=timeout_ms)

    # What brokers know

    async def offsets_at(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """See `list_offsets`."""
        self.check_open()
        return await list_offsets(
            self.client, timestamps, isolation_level=self.config.isolation_level, timeout_ms=timeout_ms
        )

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, int]:
        found = await self.offsets_at(dict.fromkeys(partitions, EARLIEST_OFFSET), timeout_ms)
        return {partition: end.offset for partition, end in found.items()}

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, int]:
        found = await self.offsets_at(dict.fromkeys(partitions, LATEST_OFFSET), timeout_ms)
        return {partition: end.offset for partition, end in found.items()}

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        if any(timestamp < 0 for timestamp in timestamps.values()):
            raise MisuseError("timestamps are milliseconds since 1970, not negative")
        found = await self.offsets_at(timestamps, timeout_ms)
        return {partition: None if at.offset < 0 else at for partition, at in found.items()}

    async def watermarks(self, partition: TopicPartition, timeout_ms: float) -> Watermarks:
        """See `list_offsets`. The high watermark does not depend on the isolation level."""
        self.check_open()
        low, high = await asyncio.gather(
            *(
                list_offsets(
                    self.client, {partition: end}, isolation_level="read_uncommitted", timeout_ms=timeout_ms
                )
                for end in (EARLIEST_OFFSET, LATEST_OFFSET)
            )
        )
        return Watermarks(low[partition].offset, high[partition].offset)

    async def lag(self, partition: TopicPartition, timeout_ms: float) -> int:
        """Records between the position and the end that this isolation level shows."""
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        position = await self.position(partition, timeout_ms)
        state = self.buffer.state(partition)
        committed_only = self.config.isolation_level == "read_committed"
        end = state.last_stable_offset if committed_only else state.high_watermark
        if end < position:
            remaining_ms = max(0, deadline - CLOCK.monotonic()) * 1000
            end = (await self.end_offsets([partition], remaining_ms))[partition]
        return max(0, end - position)

    async def partitions_for(self, topic: str, timeout_ms: float) -> list[PartitionInfo]:
        """Raises: UnknownTopicOrPartitionError."""
        self.check_open()
        await self.client.wait_for_topics([topic], CLOCK.monotonic() + timeout_ms / 1000)
        return self.client.metadata.partitions_for(topic)

    async def topics(self, timeout_ms: float) -> list[str]:
        """All topics of the cluster, in order, without Kafka's own."""
        self.check_open()
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        response = await self.client.send_to_any(request, timeout_ms)
        return sorted(t.name for t in response.topics if t.name is not None and not t.is_internal)

    def _telemetry_resource(self) -> dict[str, str]:
        """What the figures of KIP-714 are of; brokers add what they know of the connection."""
        resource = {"client_rack": self.config.client_rack or ""}
        if self._group is not None:
            identity = self.group_metadata()
            resource["group_id"] = identity.group_id
            resource["group_member_id"] = identity.member_id
            resource["group_instance_id"] = identity.group_instance_id or ""
        return {key: value for key, value in resource.items() if value}

    def stats(self, window_seconds: float = WINDOW_SECONDS) -> ConsumerStats:
        """May be called on any thread."""
        return consumer_stats(
            self.client,
            self.config,
            None if self.config.group_id is None else self.group_metadata(),
            self.buffer,
            self._fetcher,
            self.group_observer,
            poll_idle_ratio=self.poll_clock.idle_ratio,
            window_seconds=window_seconds,
        )

    # The end

    async def close(self) -> None:
        """Stops fetching and closes the connections; for after the last closing step."""
        self.is_closed = True
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.gather(self._lookup, return_exceptions=True)
        await self.commits.end()
        self._stop_watch()
        if self._group is not None:
            await self._group.close()
        await self._fetcher.close()
        await self.client.close()
        for interceptor in self.config.interceptors:
            try:
                interceptor.close()
            except Exception:
                logger.exception("closing interceptor %r failed", interceptor)

    async def close_unattended(self) -> None:
        """Leaves the group and closes, for a consumer that nobody holds any more. Commits what was handled:
        what was returned last may not be done."""
        self.take_back()
        try:
            while await self.next_giving_up_step(
                "the consumer was dropped without close()", commit=True, timeout_ms=CLOSE_TIMEOUT_MS
            ):
                pass
        except BarnabasError as error:
            logger.warning("client %s: %s", self.config.client_id, error)
        finally:
            await self.close()

    def unfinished(self) -> int:
        return 0

    def waits_for(self) -> str:
        """What closing waits for."""
        return f"group {self.config.group_id!r} to hear of it, for at most {CLOSE_TIMEOUT_MS // 1000} s"

    def check_open(self) -> None:
        """Raises: ClosedError."""
        if self.is_closed:
            raise ClosedError("the consumer is closed")

    def _check_group(self, call: str) -> GroupMembership:
        if self._group is None:
            raise MisuseError(f"{call} needs a group: set group_id")
        return self._group
