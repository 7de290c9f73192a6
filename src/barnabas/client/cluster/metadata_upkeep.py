"""Keeping what a client knows of its cluster up to date.

Owns the latest snapshot, which topics it covers, when it is asked for anew, and who waits for that. Whom to
ask is `metadata_source`'s to know, what an answer changes `metadata`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence

from barnabas import background
from barnabas.backoff import Backoff
from barnabas.client.cluster.brokers import LogLimit
from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.cluster.metadata_source import MetadataSource
from barnabas.client.cluster.pause import pause
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    AuthenticationError,
    BarnabasError,
    BootstrapError,
    ClosedError,
    KafkaConnectionError,
    KafkaTimeoutError,
)
from barnabas.events import AllBrokersDown, ClusterChanged, Event, LeaderChanged
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.settings.table import CommonConfig
from barnabas.steps import MetadataReceived, MetadataRequested, Step
from barnabas.types import Node, TopicPartition
from barnabas.wording import time_limit

logger = logging.getLogger("barnabas.client")


class MetadataUpkeep:
    """Of one client. Nothing happens before the first call. `nodes_to_ask`: the known brokers, the best to
    ask first; `on_update`: called with each new snapshot before the listeners are."""

    def __init__(
        self,
        config: CommonConfig,
        source: MetadataSource,
        backoff: Backoff,
        events: EventListeners[Event],
        steps: EventListeners[Step],
        *,
        nodes_to_ask: Callable[[], Sequence[int]],
        on_update: Callable[[ClusterMetadata], object],
        allow_auto_topic_creation: bool,
    ) -> None:
        self.metadata = ClusterMetadata()
        """The latest snapshot; replaced, never changed."""
        self.updated_at = 0.0
        """On the clock of `CLOCK.monotonic()`; 0 before the first answer."""
        self._all_updated_at = 0.0
        """When all topics were last asked about, not only new ones."""
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self._config = config
        self._source = source
        self._backoff = backoff
        self._events = events
        self._steps = steps
        self._nodes_to_ask = nodes_to_ask
        self._on_update = on_update
        self._loop = asyncio.get_running_loop()
        self._listeners: list[Callable[[ClusterMetadata], object]] = []
        self._refusal_listeners: list[Callable[[AuthenticationError], object]] = []
        self._tracked: set[str] | None = set()
        self._untold: set[str] = set()
        self._is_stale = True
        self._is_doubted = False
        self._wake = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []
        """Wait for metadata that is asked for from now on."""
        self._joined: list[asyncio.Future[None]] = []
        """Are content with the answer that is under way."""
        self._next_update = asyncio.Event()
        self._is_updating = False
        self._task: asyncio.Task[None] | None = None
        self._last_error: BarnabasError | None = None
        self._log_limit = LogLimit()
        self.is_down = False
        """Whether no broker could be reached the last time."""
        self._is_closed = False

    def track_topics(self, topics: Iterable[str] | None) -> None:
        """Metadata is kept for exactly these topics from now on; None means every topic of the cluster."""
        tracked = None if topics is None else set(topics)
        if tracked is None:
            self._is_stale = self._is_stale or self._tracked is not None
        else:
            self._untold.update(topic for topic in tracked if topic not in self.metadata.topic_metadata)
        self._tracked = tracked
        self._start()

    def add_topics(self, topics: Iterable[str]) -> None:
        """Metadata is kept for these topics too."""
        new = set(topics)
        if self._tracked is not None:
            # Not `-=`, which takes a step for each topic that is tracked.
            new = new - self._tracked
            self._tracked |= new
        self._untold.update(topic for topic in new if topic not in self.metadata.topic_metadata)
        if self._untold:
            self._start()

    def add_listener(self, listener: Callable[[ClusterMetadata], object]) -> None:
        """`listener(metadata)` is called on the event loop after each update."""
        self._listeners.append(listener)

    def add_refusal_listener(self, listener: Callable[[AuthenticationError], object]) -> None:
        """`listener(error)` is called on the event loop whenever no broker lets this client in, or the client
        trusts none, also while no call waits for metadata."""
        self._refusal_listeners.append(listener)

    def request_update(self, *, is_doubted: bool = False) -> None:
        """The metadata is out of date: it will be asked for soon. Does not wait; never raises. `is_doubted`:
        whoever told it seems to know less than others do, so these are asked."""
        self._is_stale = True
        self._is_doubted = self._is_doubted or is_doubted
        if not self._is_closed:
            self._start()

    async def next_update(self) -> ClusterMetadata:
        """The next snapshot, whenever it comes. Asks for none."""
        await self._next_update.wait()
        return self.metadata

    async def refresh(
        self,
        topics: Iterable[str] | None = None,
        *,
        timeout_ms: float | None = None,
        limit: str | None = None,
    ) -> ClusterMetadata:
        """Metadata that was asked for after this call; `topics` are kept track of from now on. `limit` is
        what errors call the time that it may take.

        Raises: BootstrapError or KafkaTimeoutError after `timeout_ms` (default_api_timeout_ms).
        """
        if topics is not None:
            self.add_topics(topics)
        self._is_stale = True
        self._start()
        return await self._wait_for_update(self._waiters, timeout_ms, limit)

    async def refresh_of(
        self, topics: Iterable[str], *, timeout_ms: float | None = None, limit: str | None = None
    ) -> ClusterMetadata:
        """As `refresh`, but where all these topics are new, it is asked for these alone."""
        wanted = set(topics)
        self.add_topics(wanted)
        if not wanted or not wanted <= self._untold:
            return await self.refresh(timeout_ms=timeout_ms, limit=limit)
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        # An update may be on its way that does not tell of them.
        while self._is_updating or wanted & self._untold:
            await self._wait_for_update(self._joined, (deadline - CLOCK.monotonic()) * 1000, limit)
        return self.metadata

    async def _wait_for_update(
        self, waiters: list[asyncio.Future[None]], timeout_ms: float | None, limit: str | None
    ) -> ClusterMetadata:
        waiter: asyncio.Future[None] = self._loop.create_future()
        waiters.append(waiter)
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await waiter
        except BarnabasError:
            raise
        except TimeoutError:
            raise self.timeout_error(timeout_ms, limit) from None
        return self.metadata

    async def wait_for_topics(
        self, topics: Sequence[str], deadline: float, *, limit: str | None = None
    ) -> None:
        """Returns when all these topics are known. `deadline` is on the clock of `CLOCK.monotonic()`; `limit`
        is what errors call it.

        Raises: at the deadline UnknownTopicOrPartitionError (names the topics) where the cluster says that it
        has none, KafkaTimeoutError where it says nothing, BootstrapError where no broker could be reached; at
        once another BrokerError such as TopicAuthorizationFailedError.
        """
        began_at = CLOCK.monotonic()
        self.add_topics(topics)
        limit = limit or self._limit((deadline - CLOCK.monotonic()) * 1000)
        failures = 0
        while missing := [topic for topic in topics if topic not in self.metadata.topic_metadata]:
            for topic in missing:
                code = self.metadata.topic_errors.get(topic, 0)
                if code and not error_for(code).retriable:
                    raise error_for(code, f"topic {topic!r}")
            remaining = deadline - CLOCK.monotonic()
            if failures:
                remaining -= await pause(self._backoff, failures, remaining)
            if remaining <= 0:
                raise self._unknown_topics(missing, limit, began_at)
            failures += 1
            try:
                if self._is_updating or self._untold:
                    await self._wait_for_update(self._joined, remaining * 1000, limit)
                else:
                    await self.refresh(timeout_ms=remaining * 1000, limit=limit)
            except BootstrapError:
                raise
            except KafkaTimeoutError as error:
                raise self._unknown_topics(missing, limit, began_at) from error

    def update_leader(
        self, partition: TopicPartition, leader: int, leader_epoch: int, nodes: Iterable[Node]
    ) -> None:
        """A broker named a partition's new leader in its answer (KIP-951)."""
        previous = self.metadata
        self.metadata = previous.with_leader(partition, leader, leader_epoch, nodes)
        if self.metadata is not previous:
            event = LeaderChanged(
                self._config.client_id, partition, previous.leader(partition), leader, leader_epoch
            )
            self._events.emit(event)

    def timeout_error(self, timeout_ms: float, limit: str | None = None) -> BarnabasError:
        """Says why there was no metadata within that time, which `limit` is the name of."""
        limit = limit or self._limit(timeout_ms)
        if not self.metadata.nodes or isinstance(self._last_error, BootstrapError):
            return self._source.bootstrap_error(f" within {limit}")
        reason = "" if self._last_error is None else f"; the last error was: {self._last_error}"
        return KafkaTimeoutError(f"no metadata within {limit}{reason}")

    def _limit(self, timeout_ms: float) -> str:
        return time_limit(timeout_ms, "default_api_timeout_ms", self._config.default_api_timeout_ms)

    async def close(self) -> None:
        """Whoever waits for metadata gets ClosedError."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            # What ended it was raised where it ran, as by the handler of a signal.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([self._task])
        self._finish_waiters(self._waiters, ClosedError("the client is closed"))
        self._waiters = []

    def _start(self) -> None:
        if self._is_closed:
            raise ClosedError("the client is closed")
        self._wake.set()
        if self._task is None:
            self._task = background.start(
                self._keep_metadata(), what="keeping metadata", loop=self._loop, on_fault=self._go_on
            )

    def _go_on(self, what: str, error: BaseException) -> None:
        """After what ended the upkeep from outside, such as the handler of a signal: some still wait."""
        if not self._is_closed:
            self._task, self._is_stale = None, True
            self._start()

    async def _keep_metadata(self) -> None:
        failures = 0
        while True:
            await self._wait_until_stale()
            waiters, self._waiters = self._waiters, []
            self._is_updating = True
            try:
                await self._update_metadata()
            except BarnabasError as error:
                failures += 1
                self._last_error = error
                self._is_stale = True
                is_awaited = any(not waiter.done() for waiter in [*waiters, *self._joined])
                self._tell_failure(error, is_raised=is_awaited and not error.retriable)
                if error.retriable:
                    self._waiters = waiters + self._waiters
                else:
                    self._finish_waiters(waiters, error)
                if isinstance(error, AuthenticationError):
                    for listener in self._refusal_listeners:
                        listener(error)
            except BaseException as error:
                self._waiters = waiters + self._waiters
                if not isinstance(error, Exception):
                    raise
                failures += 1
                self._is_stale = True
                logger.exception("client %s: the update of the metadata failed", self._config.client_id)
            else:
                failures = 0
                self._last_error = None
                self.is_down = False
                self._finish_waiters(waiters, None)
            finally:
                self._is_updating = False
            if failures:
                await asyncio.sleep(self._backoff.delay_ms(failures) / 1000)

    async def _wait_until_stale(self) -> None:
        while not self._untold:
            age = CLOCK.monotonic() - self.updated_at
            if self._is_stale:
                wait = self._config.retry_backoff_ms / 1000 - age
            else:
                age = CLOCK.monotonic() - self._all_updated_at
                wait = self._config.metadata_max_age_ms / 1000 - age
            if wait <= 0:
                return
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    async def _update_metadata(self) -> None:
        """Asks for all that is tracked, or only for the topics that nothing is known of."""
        untold, self._untold = self._untold, set()
        # Where new topics come all the time, those that are known, or gone, are asked about none the less.
        is_old = CLOCK.monotonic() - self._all_updated_at >= self._config.metadata_max_age_ms / 1000
        is_full = self._is_stale or is_old or not untold or not self.metadata.nodes
        self._is_stale = False
        names = self._tracked if is_full else untold
        if names is not None and is_full:
            names = names | untold
        request = MetadataRequest(
            topics=None
            if names is None
            else [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(names)],
            allow_auto_topic_creation=self.allow_auto_topic_creation,
        )
        if self._steps:
            self._steps.emit(MetadataRequested(None if names is None else tuple(sorted(names))))
        nodes = self._nodes_to_ask()
        if self._is_doubted:
            nodes = self._source.longest_unasked_first(nodes)
        try:
            response = await self._source.ask(request, nodes)
        except BarnabasError:
            self._untold |= untold
            raise
        self.updated_at = CLOCK.monotonic()
        if is_full:
            self._is_doubted = False
            self._source.note_told()
            self._all_updated_at = self.updated_at
        previous = self.metadata
        self.metadata = previous.updated(response, keep_others=not is_full)
        if self._steps:
            self._steps.emit(_received(response))
        self._tell_changes(previous)
        self._on_update(self.metadata)
        self._next_update.set()
        self._next_update = asyncio.Event()
        for listener in self._listeners:
            listener(self.metadata)

    def _finish_waiters(self, waiters: list[asyncio.Future[None]], error: BarnabasError | None) -> None:
        joined, self._joined = self._joined, []
        for waiter in waiters + joined:
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)

    def _tell_failure(self, error: BarnabasError, *, is_raised: bool) -> None:
        """`is_raised`: whoever waits for metadata gets it."""
        is_unreached = isinstance(error, (KafkaConnectionError, KafkaTimeoutError))
        if is_raised:
            logger.info("client %s: %s", self._config.client_id, error)
        elif not (is_unreached and self._events.are_logged) and self._log_limit.is_due():
            logger.warning("client %s: %s; still trying", self._config.client_id, error)
        if not self.is_down and is_unreached:
            self.is_down = True
            self._events.emit(AllBrokersDown(self._config.client_id, error))

    def _tell_changes(self, previous: ClusterMetadata) -> None:
        """Logs and emits what an update has changed."""
        client_id, metadata = self._config.client_id, self.metadata
        if previous.cluster_id and metadata.cluster_id and previous.cluster_id != metadata.cluster_id:
            logger.warning(
                "client %s: the brokers belong to cluster %s now, before it was %s; "
                "check bootstrap_servers and the names of the brokers",
                client_id,
                metadata.cluster_id,
                previous.cluster_id,
            )
            self._events.emit(ClusterChanged(client_id, previous.cluster_id, metadata.cluster_id))
        if self._events:
            for partition, before, after in metadata.changed_leaders(previous):
                event = LeaderChanged(client_id, partition, before, after.leader, after.leader_epoch)
                self._events.emit(event)

    def _unknown_topics(self, missing: Sequence[str], limit: str, began_at: float) -> BarnabasError:
        if not self.metadata.nodes:
            return self._source.bootstrap_error(f" within {limit}")
        names = ", ".join(repr(topic) for topic in missing)
        named = f"{'topic' if len(missing) == 1 else 'topics'} {names}"
        # An answer of just before counts: brokers are not asked more often than back-off allows.
        is_told = self.updated_at >= began_at - self._config.retry_backoff_max_ms / 1000
        if not is_told or not any(topic in self.metadata.topic_errors for topic in missing):
            error = self._last_error
            reason = "no broker answered" if error is None else f"the last error was: {error}"
            return KafkaTimeoutError(f"no metadata of {named} within {limit}: {reason}")
        codes = {self.metadata.topic_errors.get(topic, 0) for topic in missing} - {0}
        code = codes.pop() if len(codes) == 1 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return error_for(
            code,
            f"{named}: not known to the cluster within {limit}; create it first (Admin.create_topics), or "
            "check its name",
        )


def _received(response: MetadataResponse) -> MetadataReceived:
    return MetadataReceived(
        response.cluster_id,
        response.controller_id,
        tuple(Node(node.node_id, node.host, node.port, node.rack) for node in response.brokers),
        {
            topic.name or "": tuple(
                (partition.partition_index, partition.leader_id, partition.leader_epoch)
                for partition in topic.partitions
            )
            for topic in response.topics
        },
        {topic.name or "": topic.error_code for topic in response.topics if topic.error_code},
    )
