"""What the consumers for asyncio and for plain calls share: the parts of a consumer, put together.

Owns what the caller wants to read, and the order of things: when positions are looked up, when partitions may
change hands (`rebalances`), when what is committed. Everything here runs on the event loop unless it says
otherwise. Must not know how a caller waits.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from barnabas._kernel import Record
from barnabas.client.arguments import TakenRecords
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.cluster.telemetry_metrics import consumer_metrics
from barnabas.client.cluster.topic_watch import watch_topics
from barnabas.client.consume.consumer_lookups import ConsumerLookups
from barnabas.client.consume.consumer_stats import consumer_stats
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.fetcher import Fetcher
from barnabas.client.consume.partition_state import StartingPoint
from barnabas.client.consume.poll_clock import PollClock
from barnabas.client.consume.positions import PositionFinder
from barnabas.client.consume.rebalances import Rebalances
from barnabas.client.consume.stopped_partitions import StoppedPartitions
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.client.deserializing import Deserializing
from barnabas.client.groups.consumer_group import ConsumerProtocolMembership
from barnabas.client.groups.group_observer import GroupObserver
from barnabas.client.groups.membership import GroupMembership, GroupMembershipOperation
from barnabas.client.groups.offset_commits import CommitCallback, OffsetCommits, Offsets
from barnabas.client.groups.offsets import fetch_committed
from barnabas.client.groups.subscription import (
    ListenerCall,
    RebalanceListener,
    Subscription,
    compiled_pattern,
)
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, ClosedError, KafkaTimeoutError, MisuseError
from barnabas.settings.table import ConsumerConfig
from barnabas.stats import ConsumerStats
from barnabas.types import (
    GroupIdentity,
    OffsetAndMetadata,
    TopicPartition,
)
from barnabas.windows import WINDOW_SECONDS
from barnabas.wording import time_limit

if TYPE_CHECKING:
    from barnabas._kernel import DirectFetches

logger = logging.getLogger("barnabas.client")

CLOSE_TIMEOUT_MS = 30_000


class ConsumerCore:
    """A consumer without its front. The front calls `advance` whenever `needs_attention`, runs the callbacks
    that it gives, and takes records from `buffer` unless `rebalances.is_holding`."""

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
        self.is_closed = False
        self._loop = asyncio.get_running_loop()
        self._notify = notify
        self.taken: TakenRecords[Any, Any] = TakenRecords()
        """What the front hands out one by one."""
        self._deserializing = Deserializing.of(config)
        self.client = KafkaClient(config, allow_auto_topic_creation=config.allow_auto_create_topics)
        self.partitions = SubscriptionState(
            on_data=notify, on_room=self._wake_fetcher, on_lookup=self._attend
        )
        self.buffer = FetchBuffer(
            self.partitions, config.queued_max_bytes, on_data=notify, on_room=self._wake_fetcher
        )
        self._fetcher = Fetcher(self.client, self.partitions, self.buffer, config, direct_fetches)
        self.take_in = self._fetcher.take_in
        self._positions = PositionFinder(
            self.client, self.partitions, config, on_failed=self._attend, on_ended=notify
        )
        self._topic_watch: asyncio.Task[None] | None = None
        self._knows_pattern = False
        self._next_auto_commit = CLOCK.monotonic() + config.auto_commit_interval_ms / 1000
        self.client.add_metadata_listener(self._on_metadata)
        self.client.add_refusal_listener(self.partitions.failures.raise_later)
        self.group_observer = GroupObserver(config.client_id, config.group_id or "", self.client.events)
        self.commits = OffsetCommits(
            self.client,
            config,
            self.subscription,
            self.group_observer,
            identity=self.group_metadata,
            is_rejoining=lambda: self.rebalances.is_rejoining,
            on_refused=lambda error: self.rebalances.commit_refused(error),
            on_finished=self._attend,
        )
        self.rebalances = Rebalances(
            self.client,
            config,
            self.subscription,
            self.partitions,
            self.buffer,
            self.group_observer,
            self.commits,
            attend=self._attend,
            progress=self.taken.count,
            knows_topics=lambda: self.subscription.pattern is None or self._knows_pattern,
        )
        self.lookups = ConsumerLookups(self.client, config, self.check_open)
        self.poll_clock = PollClock()
        self.client.telemetry.measure_with(lambda: consumer_metrics(self.stats()), self._telemetry_resource)

    def go_on_after_errors(self) -> None:
        """See `StoppedPartitions`. On the event loop's thread."""
        StoppedPartitions(self.partitions, self.client.backoff)

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
        by_broker = isinstance(self.rebalances.group, ConsumerProtocolMembership)
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
            self._watch_topics(self.subscription.topics, self.partitions.failures.raise_later)
        if self.rebalances.group is None:
            self._attend()
        else:
            self.rebalances.group.request_join()

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
        self._watch_topics(
            topics, lambda error: None if error.retriable else self.partitions.failures.raise_later(error)
        )
        self.partitions.remove([p for p in self.partitions.assignment if p not in wanted])
        self.partitions.add(wanted)

    @property
    def subscribed_topics(self) -> set[str]:
        """Of what a broker matches, only the topics of assigned partitions are known."""
        if self.subscription.broker_pattern is not None:
            return {partition.topic for partition in self.partitions.assignment}
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
        call = await self.rebalances.next_call()
        if call is None:
            self._positions.begin()
        else:
            self.needs_attention = True
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
        call = await self.rebalances.next_call_of_giving_up(
            reason, commit=commit, timeout_ms=timeout_ms, operation=operation
        )
        if call is None:
            self._stop_watch()
        else:
            self.needs_attention = True
        return call

    def _attend(self) -> None:
        self.needs_attention = True
        self._notify()

    def _wake_fetcher(self) -> None:
        # The caller's thread may outlive the loop.
        if not self.is_closed:
            self._loop.call_soon_threadsafe(self._fetcher.wake)

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        subscription = self.subscription
        if self.rebalances.group is None:
            if subscription.is_automatic:
                subscription.topics |= self._matches(metadata)
                self._attend()
        elif subscription.pattern is not None:
            matches = self._matches(metadata)
            if not self._knows_pattern or matches != subscription.topics:
                self._knows_pattern = True
                subscription.topics = matches
                self.rebalances.group.request_join()
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

    def seek_to(self, partitions: Iterable[TopicPartition], starting_point: StartingPoint) -> None:
        """Raises: MisuseError where a partition is not assigned."""
        for partition in partitions or self.partitions.assignment:
            self.partitions.seek_to(partition, starting_point)

    async def position(self, partition: TopicPartition, timeout_ms: float) -> int:
        """Raises: MisuseError, KafkaTimeoutError, and what the look-up raises."""
        state = self.partitions.state(partition)
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        while not state.has_position:
            remaining = deadline - CLOCK.monotonic()
            if remaining <= 0:
                default_ms = self.config.default_api_timeout_ms
                limit = time_limit(timeout_ms, "default_api_timeout_ms", default_ms)
                raise KafkaTimeoutError(f"no position of {partition} within {limit}")
            if state.is_stopped:
                self.partitions.failures.raise_next()
                raise MisuseError(f"{partition} has stopped after an error and has no position: seek first")
            await self._positions.ended(remaining)
        return state.position

    # Commits

    def poll_began(self) -> None:
        """To be called in the caller's thread when a poll begins: what earlier ones returned is done with."""
        self.poll_clock.began()
        self.partitions.begin_poll()
        group = self.rebalances.group
        if group is None:
            return
        group.polls.began()
        if self.buffer.is_held:
            self.rebalances.release(group)
        if self.config.enable_auto_commit and CLOCK.monotonic() >= self._next_auto_commit:
            self._next_auto_commit = CLOCK.monotonic() + self.config.auto_commit_interval_ms / 1000
            topic_ids, positions = self.partitions.topic_ids(), self.partitions.positions()
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
        self.partitions.take_back()

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
        if self.rebalances.group is not None:
            self.rebalances.group.polls.ended()

    def note_progress(self) -> None:
        """The caller works through what a poll gave, and is not overdue."""
        if self.rebalances.group is not None:
            self.rebalances.group.polls.note_progress()

    async def commit(
        self, offsets: Offsets | None, timeout_ms: float, *, retries_unknown: bool = True
    ) -> None:
        """`retries_unknown`: see `commit_offsets`. Raises: MisuseError, and what `commit_offsets` raises."""
        self._check_group("commit()")
        self.check_open()
        topic_ids = self.partitions.topic_ids()
        offsets = self.partitions.positions() if offsets is None else offsets
        self.partitions.note_handled(offsets)
        await self.commits.commit(offsets, timeout_ms, topic_ids=topic_ids, retries_unknown=retries_unknown)

    def commit_async(self, offsets: Offsets | None, on_commit: CommitCallback | None) -> None:
        """`on_commit` waits in `commits.take_finished`. Raises: MisuseError."""
        self._check_group("commit_async()")
        self.check_open()
        topic_ids = self.partitions.topic_ids()
        offsets = self.partitions.positions() if offsets is None else dict(offsets)
        self.partitions.note_handled(offsets)
        timeout_ms = self.config.default_api_timeout_ms
        self.commits.start(offsets, timeout_ms, on_commit, topic_ids=topic_ids)

    def group_metadata(self) -> GroupIdentity:
        """Who this member is at present. Raises: MisuseError without a group."""
        group = self._check_group("group_metadata()")
        if not self.subscription.is_automatic:
            return GroupIdentity(group.group_id)
        return group.identity

    def last_group_metadata(self) -> GroupIdentity:
        """Who this member is at present, or was before it lost its membership. Raises: MisuseError without a
        group."""
        group = self._check_group("group_metadata()")
        return group.last_identity if self.subscription.is_automatic else GroupIdentity(group.group_id)

    async def committed(
        self, partitions: Iterable[TopicPartition] | None, timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """See `fetch_committed`."""
        group_id = self._check_group("committed()").group_id
        return await fetch_committed(self.client, group_id, partitions, timeout_ms=timeout_ms)

    async def lag(self, partition: TopicPartition, timeout_ms: float) -> int:
        """Records between the position and the end that this isolation level shows."""
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        position = await self.position(partition, timeout_ms)
        state = self.partitions.state(partition)
        committed_only = self.config.isolation_level == "read_committed"
        end = state.last_stable_offset if committed_only else state.high_watermark
        if end < position:
            remaining_ms = max(0, deadline - CLOCK.monotonic()) * 1000
            end = (await self.lookups.end_offsets([partition], remaining_ms))[partition]
        return max(0, end - position)

    def _telemetry_resource(self) -> dict[str, str]:
        """What the figures of KIP-714 are of; brokers add what they know of the connection."""
        resource = {"client_rack": self.config.client_rack or ""}
        if self.rebalances.group is not None:
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
        await self._positions.close()
        await self.commits.end()
        self._stop_watch()
        if self.rebalances.group is not None:
            await self.rebalances.group.close()
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
        if self.rebalances.group is None:
            raise MisuseError(f"{call} needs a group: set group_id")
        return self.rebalances.group
