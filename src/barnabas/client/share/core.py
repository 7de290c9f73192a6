"""What the ShareConsumers for asyncio and for plain calls have in common, put together.

Owns what is fetched when, and which brokers are told what was decided. Everything here runs on
the event loop unless it says otherwise. Must not know how a caller waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from barnabas.client.cluster.error_table import is_fetched_again
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.tasks import Tasks
from barnabas.client.cluster.telemetry_metrics import share_consumer_metrics
from barnabas.client.cluster.topic_watch import watch_topics
from barnabas.client.groups.poll_watch import polled_by_two
from barnabas.client.share.acknowledgements import AcknowledgementResult, ShareLedger
from barnabas.client.share.broker import ShareBroker
from barnabas.client.share.membership import ShareMembership, new_member_id
from barnabas.client.share.offered import OfferedRecords
from barnabas.client.share.records import AcknowledgeType, ShareRecord
from barnabas.clock import CLOCK
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    ClosedError,
    KafkaTimeoutError,
    MisuseError,
)
from barnabas.settings.table import ShareConsumerConfig
from barnabas.types import TopicPartition
from barnabas.wording import time_limit

logger = logging.getLogger("barnabas.client")

CLOSE_TIMEOUT_MS = 30_000

AcknowledgementCallback = Callable[[TopicPartition, list[int], BarnabasError | None], object]
"""Partition, offsets, and None or the error with which their acknowledgement failed."""


class ShareCore:
    """A share consumer without its front."""

    def __init__(self, config: ShareConsumerConfig) -> None:
        self.config = config
        self.ledger = ShareLedger()
        self.records = OfferedRecords(self.ledger, config.max_poll_records)
        self.is_closed = False
        self.topics: frozenset[str] = frozenset()
        self.keeps_results = False
        """Whether anyone takes results; otherwise failures are logged."""
        self._loop = asyncio.get_running_loop()
        self.client = KafkaClient(config, allow_auto_topic_creation=config.allow_auto_create_topics)
        self._pool = self.client.new_pool()
        self._member_id = new_member_id()
        self._membership = ShareMembership(
            self.client,
            config,
            self._member_id,
            on_assigned=self._changed_set,
            on_error=self.failed,
        )
        self._brokers: dict[int, ShareBroker] = {}
        self._fetches: dict[int, asyncio.Task[None]] = {}
        self._acknowledging: dict[int, asyncio.Task[list[AcknowledgementResult]]] = {}
        self._decided_since: set[int] = set()
        """Brokers that are being told, and were to be told again meanwhile."""
        self._commits = Tasks[list[AcknowledgementResult]]()
        self._failures: defaultdict[int, int] = defaultdict(int)
        self._last_node_id = -1
        self._topic_watch: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._is_woken = False
        self._is_polled = False
        self._errors: deque[BarnabasError] = deque()
        self._results: deque[AcknowledgementResult] = deque()
        self.client.add_refusal_listener(self.failed)
        self.client.telemetry.measure_with(
            lambda: share_consumer_metrics(self.client.stats(), self.rebalances), self._telemetry_resource
        )

    def _telemetry_resource(self) -> dict[str, str]:
        """What the figures of KIP-714 are of; brokers add what they know of the connection."""
        resource = {
            "client_rack": self.config.client_rack or "",
            "group_id": self.config.group_id,
            "group_member_id": self._member_id,
        }
        return {key: value for key, value in resource.items() if value}

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions that this member may read at present."""
        return list(self._membership.assignment)

    @property
    def rebalances(self) -> int:
        """How often they have changed."""
        return self._membership.rebalances

    # What the caller wants to read

    def subscribe(self, topics: Iterable[str]) -> None:
        """Raises: MisuseError, ClosedError."""
        self.check_open()
        if isinstance(topics, str):
            raise MisuseError(f"topics must be several names, not the string {topics!r}")
        wanted = frozenset(topics)
        if not wanted or "" in wanted:
            raise MisuseError("subscribe() needs the names of topics; unsubscribe() reads nothing any more")
        if wanted == self.topics:
            return
        self.topics = wanted
        self.client.track_topics(wanted)
        self._stop_watch()
        self._topic_watch = self.client.in_background(
            watch_topics(self.client, sorted(wanted), self.failed), "watching for topics"
        )
        self._membership.subscribe(wanted)

    async def unsubscribe(self, timeout_ms: float) -> None:
        """Tells what was decided, releases the rest, and leaves the group."""
        self.check_open()
        await self._give_up(timeout_ms)

    def end_subscription(self) -> None:
        """Reads nothing any more and leaves the group, without waiting. What was lent stays lent, and can be
        acknowledged. Raises: ClosedError."""
        self.check_open()
        self._stop_watch()
        self.topics = frozenset()
        self._membership.unsubscribe()

    def _stop_watch(self) -> None:
        if self._topic_watch is not None:
            self._topic_watch.cancel()
            self._topic_watch = None

    # Records

    async def poll(self, timeout: float, limit: int | None = None) -> int | None:
        """Takes records that nobody has been handed yet, up to `limit`, for `records.hand_out` and
        `hand_out_next`, and returns how many. Those that are not handed out come first in the next poll.
        Without a limit it stops at max_poll_records, but leaves nothing behind of what was lent together.
        None after `wakeup`.

        Raises: MisuseError, ClosedError, and once each what failed in the background.
        """
        self.check_open()
        if self._is_polled:
            raise polled_by_two("a ShareConsumer of its own in the same group")
        self.records.take_back_offered()
        self._settle()
        if not self.topics:
            raise MisuseError("subscribe() to topics before poll()")
        deadline = CLOCK.monotonic() + timeout
        self._membership.keep()
        self._membership.polls.began()
        self._is_polled = True
        try:
            while True:
                self._changed.clear()
                self.check_open()
                if self._errors:
                    raise self._errors.popleft()
                if self._is_woken:
                    self._is_woken = False
                    return None
                self.records.take(limit)
                if offers := self.records.offers:
                    self._tell_brokers(self.ledger.node_ids())
                    return offers
                self._start_fetches()
                remaining = deadline - CLOCK.monotonic()
                if remaining <= 0:
                    return 0
                try:
                    async with asyncio.timeout(remaining):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        finally:
            self._is_polled = False
            self._membership.polls.ended()

    def _settle(self) -> None:
        """What the last poll returned is worked off, or must be acknowledged by now. Raises: MisuseError."""
        if self.config.share_acknowledgement_mode == "implicit":
            self.ledger.accept_all()
            return
        record = self.ledger.first_in_hand()
        if record is not None:
            raise MisuseError(
                f"{record.topic}-{record.partition} at offset {record.offset} has not been acknowledged: "
                "with share_acknowledgement_mode='explicit' every record of a poll must be before the next"
            )

    def wakeup(self) -> None:
        self._is_woken = True
        self._changed.set()

    def _start_fetches(self) -> None:
        """At each leader of an assigned partition one, where nothing is under way."""
        by_node = self._by_leader()
        if self.config.share_acquire_mode == "record_limit":
            by_node = self._one_of(by_node)
        for node_id, wanted in by_node.items():
            if node_id not in self._fetches:
                self._fetches[node_id] = self.client.in_background(
                    self._fetch(node_id, wanted), f"fetching from broker {node_id}"
                )
        self._tell_brokers(node_id for node_id in self.ledger.node_ids() if node_id not in by_node)

    def _one_of(
        self, by_node: dict[int, dict[TopicPartition, UUID]]
    ) -> dict[int, dict[TopicPartition, UUID]]:
        """With a limit on records, brokers are asked one after the other: each would lend as many."""
        if self._fetches:
            return {}
        following = sorted(by_node, key=lambda node_id: (node_id <= self._last_node_id, node_id))
        for node_id in following[:1]:
            self._last_node_id = node_id
            return {node_id: by_node[node_id]}
        return {}

    def _by_leader(self) -> dict[int, dict[TopicPartition, UUID]]:
        by_node: defaultdict[int, dict[TopicPartition, UUID]] = defaultdict(dict)
        metadata = self.client.metadata
        for partition, topic_id in self._membership.assignment.items():
            node_id = metadata.leader(partition)
            if node_id < 0:
                self.client.add_topics([partition.topic])
                self.client.request_metadata_update()
            else:
                by_node[node_id][partition] = topic_id
        if self._membership.assignment and not by_node:
            self._loop.call_later(self.config.retry_backoff_ms / 1000, self._changed.set)
        return by_node

    async def _fetch(self, node_id: int, wanted: dict[TopicPartition, UUID]) -> None:
        try:
            if await self._broker(node_id).fetch(wanted):
                self._failures.pop(node_id, None)
            else:
                self._failures[node_id] += 1
        except BarnabasError as error:
            self._failures[node_id] += 1
            logger.info("share fetch from node %d failed, will try again: %s", node_id, error)
            self.client.request_metadata_update()
            if not is_fetched_again(error):
                self.failed(error)
        except Exception as error:
            self._failures[node_id] += 1
            logger.exception("share fetch from node %d failed", node_id)
            self.failed(BrokenProtocolError(f"share fetch from node {node_id} failed: {error!r}"))
        try:
            if node_id in self._failures:
                await asyncio.sleep(self.client.backoff.delay_ms(self._failures[node_id]) / 1000)
        finally:
            del self._fetches[node_id]
            self._changed.set()

    def _broker(self, node_id: int) -> ShareBroker:
        broker = self._brokers.get(node_id)
        if broker is None:
            broker = self._brokers[node_id] = ShareBroker(
                node_id, self.client, self._pool, self.config, self._member_id, self.ledger, self
            )
        return broker

    # What brokers tell (see ShareListener)

    def acquired(self, records: Sequence[ShareRecord[Any, Any]]) -> None:
        self.records.add(records)
        self._changed.set()

    def renewed(self, records: Sequence[ShareRecord[Any, Any]]) -> None:
        self.records.add_first(records)
        self._changed.set()

    def acknowledged(self, result: AcknowledgementResult) -> None:
        if self.keeps_results:
            self._results.append(result)
            self._changed.set()
        elif result.error is not None:
            logger.warning(
                "%d records of %s could not be acknowledged and may be delivered again: %s",
                len(result.offsets),
                result.partition,
                result.error,
            )

    def session_lost(self, node_id: int) -> None:
        self.records.lose(node_id)

    def failed(self, error: BarnabasError) -> None:
        """One that happens over and over while nobody polls is kept once."""
        if not any(type(other) is type(error) and str(other) == str(error) for other in self._errors):
            self._errors.append(error)
        self._changed.set()

    def _changed_set(self) -> None:
        self._changed.set()

    # Acknowledgements

    def acknowledge(self, record: ShareRecord[Any, Any], acknowledge_type: AcknowledgeType) -> None:
        """Any thread. Raises: MisuseError, ClosedError."""
        self.check_open()
        if self.config.share_acknowledgement_mode == "implicit":
            raise MisuseError("acknowledge() needs share_acknowledgement_mode='explicit'")
        self.ledger.decide(record, acknowledge_type)

    def accept_handed(self) -> None:
        """An iteration is done with what was handed out last. Any thread."""
        handed = self.records.done_with_handed()
        if self.config.share_acknowledgement_mode == "implicit":
            for record in handed:
                self.ledger.finish(record)

    async def commit(self, timeout_ms: float) -> dict[TopicPartition, BarnabasError | None]:
        """Tells the brokers what was decided, and waits for what they say.

        Raises: KafkaTimeoutError, ClosedError.
        """
        outcome, silent = await self.commit_by_partition(timeout_ms)
        if silent:
            limit = time_limit(timeout_ms, "default_api_timeout_ms", self.config.default_api_timeout_ms)
            named = ", ".join(map(str, sorted(silent)))
            raise KafkaTimeoutError(
                f"share group {self.config.group_id!r}: brokers have not answered to acknowledgements of "
                f"{named} within {limit}; the callback will hear what they say"
            )
        return outcome

    async def commit_by_partition(
        self, timeout_ms: float
    ) -> tuple[dict[TopicPartition, BarnabasError | None], set[TopicPartition]]:
        """`commit`; gives what brokers say, and the partitions of which they say nothing in time.

        Raises: ClosedError.
        """
        self.check_open()
        if self.config.share_acknowledgement_mode == "implicit":
            self.ledger.accept_all()
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        told: dict[asyncio.Task[list[AcknowledgementResult]], set[TopicPartition]] = {}
        for node_id in self.ledger.node_ids():
            partitions = self.ledger.decided(node_id)
            told[self._commits.start(self._broker(node_id).acknowledge(deadline))] = partitions
        outcome: dict[TopicPartition, BarnabasError | None] = {}
        silent: set[TopicPartition] = set()
        if told:
            await asyncio.wait(told, timeout=timeout_ms / 1000)
        for task, partitions in told.items():
            if not task.done():
                silent |= partitions
            elif not task.cancelled():
                for result in task.result():
                    if outcome.get(result.partition) is None:
                        outcome[result.partition] = result.error
        return outcome, silent

    def commit_async(self) -> None:
        self.check_open()
        if self.config.share_acknowledgement_mode == "implicit":
            self.ledger.accept_all()
        self._tell_brokers(self.ledger.node_ids())

    def take_result(self) -> AcknowledgementResult | None:
        """For the caller's callback. Any thread."""
        return self._results.popleft() if self._results else None

    def acquisition_lock_timeout_ms(self) -> int | None:
        """The shortest that a broker named last; None before the first fetch. Any thread."""
        named = [b.acquisition_lock_timeout_ms for b in list(self._brokers.values())]
        return min((ms for ms in named if ms is not None), default=None)

    def _tell_brokers(self, node_ids: Iterable[int]) -> None:
        """Acknowledges in the background, at brokers that no fetch will tell."""
        deadline = CLOCK.monotonic() + self.config.default_api_timeout_ms / 1000
        for node_id in node_ids:
            if node_id in self._acknowledging:
                self._decided_since.add(node_id)
            else:
                task = self.client.in_background(
                    self._broker(node_id).acknowledge(deadline), f"acknowledging at broker {node_id}"
                )
                self._acknowledging[node_id] = task
                task.add_done_callback(lambda _, node_id=node_id: self._told(node_id))

    def _told(self, node_id: int) -> None:
        self._acknowledging.pop(node_id, None)
        if node_id in self._decided_since:
            self._decided_since.discard(node_id)
            if not self.is_closed and node_id in self.ledger.node_ids():
                self._tell_brokers([node_id])

    # The end

    async def close(self, timeout_ms: float) -> None:
        """Tells what was decided, releases the rest, leaves the group and closes the connections."""
        if self.is_closed:
            return
        self.is_closed = True
        self._changed.set()
        try:
            await self._give_up(timeout_ms)
        finally:
            await self._pool.close()
            await self.client.close()

    async def close_unattended(self) -> None:
        """`close` for a consumer that nobody holds any more."""
        await self.close(CLOSE_TIMEOUT_MS)

    def unfinished(self) -> int:
        return 0

    def waits_for(self) -> str:
        """What closing waits for."""
        return f"share group {self.config.group_id!r} to hear of it, for at most {CLOSE_TIMEOUT_MS // 1000} s"

    async def abandon(self) -> None:
        """Closes the connections, and with them the sessions: what was lent is released. The group is not
        told, and notices by itself."""
        if self.is_closed:
            return
        self.is_closed = True
        self._changed.set()
        self._stop_watch()
        await self._membership.end()
        await self._end_tasks()
        await self._pool.close()
        await self.client.close()

    async def _give_up(self, timeout_ms: float) -> None:
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        self._stop_watch()
        self.topics = frozenset()
        self.records.forget_all()
        told = [*self._acknowledging.values(), *self._commits]
        if told:
            await asyncio.wait(told, timeout=timeout_ms / 1000)
        # A fetch that waits is let finish, since a session takes one request at a time.
        await asyncio.gather(
            *(
                broker.close(max(0.0, deadline - CLOCK.monotonic()) * 1000)
                for broker in self._brokers.values()
            )
        )
        await self._end_tasks()
        await self._membership.leave(max(0.0, deadline - CLOCK.monotonic()) * 1000)

    async def _end_tasks(self) -> None:
        """Nothing of what was lent is ours any more."""
        tasks: list[asyncio.Task[Any]] = [
            *self._fetches.values(),
            *self._acknowledging.values(),
            *self._commits,
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._fetches.clear()
        self.records.forget_all()
        self.ledger.forget_all()

    def check_open(self) -> None:
        """Raises: ClosedError."""
        if self.is_closed:
            raise ClosedError("the share consumer is closed")
