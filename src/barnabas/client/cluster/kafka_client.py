"""What producer, consumer and admin share: where each request goes, what the cluster looks like, and retries.

Puts the parts together: the metadata is `metadata_upkeep`'s, and `coordinators` finds those. Must not know
records, groups or what the requests of its users mean.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from barnabas import background
from barnabas.backoff import Backoff
from barnabas.chance import chance
from barnabas.client.cluster.brokers import BrokerMonitors
from barnabas.client.cluster.connections import ConnectionPool
from barnabas.client.cluster.coordinators import Coordinators
from barnabas.client.cluster.event_listeners import EventListeners
from barnabas.client.cluster.leader_epochs import SeenLeaderEpochs
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.cluster.metadata_source import MetadataSource
from barnabas.client.cluster.metadata_upkeep import MetadataUpkeep
from barnabas.client.cluster.pause import pause
from barnabas.client.cluster.telemetry import Telemetry
from barnabas.clock import CLOCK
from barnabas.errors import (
    AuthenticationError,
    BarnabasError,
    BootstrapError,
    ClosedError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.events import Event, Fault
from barnabas.net.connection import Connection
from barnabas.net.security import Security
from barnabas.protocol.codec import Request, Response
from barnabas.settings.table import CommonConfig
from barnabas.stats import ClientStats
from barnabas.steps import Step
from barnabas.types import Node, TopicPartition
from barnabas.windows import WINDOW_SECONDS
from barnabas.wording import time_limit

logger = logging.getLogger("barnabas.client")

ResponseT = TypeVar("ResponseT", bound=Response)
T = TypeVar("T")

NO_VERSION = -1


class KafkaClient:
    """The connection to one cluster. Belongs to the event loop on which it was made; nothing happens before
    the first call. `allow_auto_topic_creation`: whether asking for a topic may make the broker create it.
    `controllers`: are asked in place of config.bootstrap_servers; then these are the only nodes (KIP-919)."""

    def __init__(
        self,
        config: CommonConfig,
        *,
        allow_auto_topic_creation: bool = False,
        controllers: Sequence[str] = (),
    ) -> None:
        self.config = config
        self.reaches_controllers = bool(controllers)
        self.backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self.security = Security(config)
        self.events = EventListeners[Event]()
        self.steps = EventListeners[Step]()
        self.brokers = BrokerMonitors(config.client_id, self.events, self.steps)
        self._pool = self.new_pool()
        self._source = MetadataSource(config, self._pool, self.connect, controllers)
        self._upkeep = MetadataUpkeep(
            config,
            self._source,
            self.backoff,
            self.events,
            self.steps,
            nodes_to_ask=self._least_busy_nodes,
            on_update=self._on_metadata,
            allow_auto_topic_creation=allow_auto_topic_creation,
        )
        self.seen_leader_epochs = SeenLeaderEpochs()
        self.telemetry = Telemetry(self)
        self._made_at = CLOCK.monotonic()
        self.coordinators = Coordinators(self)
        self._is_closed = False

    # Metadata

    @property
    def metadata(self) -> ClusterMetadata:
        """The latest snapshot; replaced, never changed."""
        return self._upkeep.metadata

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called. Any thread."""
        return self._is_closed

    @property
    def is_cut_off(self) -> bool:
        """Whether no broker answered when metadata was asked for last. Any thread."""
        return self._upkeep.is_down and not self._is_closed

    def track_topics(self, topics: Iterable[str] | None) -> None:
        """Metadata is kept for exactly these topics from now on; None means every topic of the cluster."""
        self._upkeep.track_topics(topics)

    def add_topics(self, topics: Iterable[str]) -> None:
        """Metadata is kept for these topics too."""
        self._upkeep.add_topics(topics)

    def hide_topics(self, names: re.Pattern[str]) -> None:
        """From now on metadata knows none of the topics in whose names `names` finds something."""
        self._source.hidden_topics = names

    def add_metadata_listener(self, listener: Callable[[ClusterMetadata], object]) -> None:
        """`listener(metadata)` is called on the event loop after each update."""
        self._upkeep.add_listener(listener)

    def add_refusal_listener(self, listener: Callable[[AuthenticationError], object]) -> None:
        """`listener(error)` is called on the event loop whenever no broker lets this client in, or the client
        trusts none, also while no call waits for metadata."""
        self._upkeep.add_refusal_listener(listener)

    async def next_metadata(self) -> ClusterMetadata:
        """The next snapshot, whenever it comes. Asks for none."""
        return await self._upkeep.next_update()

    def request_metadata_update(self, *, is_doubted: bool = False) -> None:
        """The metadata is out of date: it will be asked for soon. Does not wait; never raises. `is_doubted`:
        whoever told it seems to know less than others do, so these are asked."""
        self._upkeep.request_update(is_doubted=is_doubted)

    def all_brokers_told_since(self, moment: float) -> bool:
        """Whether each known broker has told its metadata. `moment` is one of `CLOCK.monotonic()`."""
        return self._source.have_told_since(self.metadata.nodes, moment)

    async def refresh_metadata(
        self,
        topics: Iterable[str] | None = None,
        *,
        timeout_ms: float | None = None,
        limit: str | None = None,
    ) -> ClusterMetadata:
        """Metadata that was asked for after this call; `topics` are kept track of from now on. `limit`: see
        `wait_for_topics`.

        Raises: BootstrapError or KafkaTimeoutError after `timeout_ms` (default_api_timeout_ms).
        """
        return await self._upkeep.refresh(topics, timeout_ms=timeout_ms, limit=limit)

    async def refresh_metadata_of(
        self, topics: Iterable[str], *, timeout_ms: float | None = None, limit: str | None = None
    ) -> ClusterMetadata:
        """As `refresh_metadata`, but where nothing was asked about any of these topics yet, it is asked about
        these alone."""
        return await self._upkeep.refresh_of(topics, timeout_ms=timeout_ms, limit=limit)

    async def wait_for_topics(
        self, topics: Sequence[str], deadline: float, *, limit: str | None = None
    ) -> None:
        """Returns when all these topics are known. `deadline` is on the clock of `CLOCK.monotonic()`; `limit`
        is what errors call it, by default after default_api_timeout_ms.

        Raises: UnknownTopicOrPartitionError (names the topics) at the deadline, BootstrapError if no broker
        could be reached until then, and at once another BrokerError such as TopicAuthorizationFailedError.
        """
        await self._upkeep.wait_for_topics(topics, deadline, limit=limit)

    def update_leader(
        self, partition: TopicPartition, leader: int, leader_epoch: int, nodes: Iterable[Node]
    ) -> None:
        """A broker named a partition's new leader in its answer (KIP-951)."""
        self._upkeep.update_leader(partition, leader, leader_epoch, nodes)

    def _on_metadata(self, metadata: ClusterMetadata) -> None:
        self._pool.close_others(set(metadata.nodes) | set(self.coordinators.connection_ids))
        self.telemetry.start()

    # Requests

    def new_pool(self) -> ConnectionPool:
        """Connections beside those of `connect`, for requests that others must not wait behind. Whoever asks
        for it closes it."""
        return ConnectionPool(self.config, self.security, self.brokers)

    def in_background(self, work: Coroutine[Any, Any, T], what: str) -> asyncio.Task[T]:
        """A task that nobody waits for: should it fail, that is logged, and a `Fault` for the listeners. For
        the event loop's thread."""
        return background.start(
            work, what=f"client {self.config.client_id}: {what}", on_fault=self.tell_fault
        )

    def tell_fault(self, what: str, error: BaseException) -> None:
        """Tells the listeners. Logging it is the caller's."""
        self.events.emit(Fault(self.config.client_id, what, error))

    async def send(
        self,
        node_id: int,
        request: Request[ResponseT],
        timeout_ms: float | None = None,
        *,
        max_version: int | None = None,
    ) -> ResponseT:
        """One try at one node, by node id or by what `coordinators.find` gave. Error codes in the answer are
        not looked at. `timeout_ms` (request_timeout_ms) covers connecting as well.

        Raises: KafkaConnectionError, KafkaTimeoutError, NoCommonVersionError, BrokenProtocolError.
        """
        timeout_ms = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                connection = await self.connect(node_id)
                # A caller in a hurry gives up alone: the connection, which others use, is closed only when
                # the broker is silent for as long as the setting says.
                longest = max(timeout_ms, self.config.request_timeout_ms)
                return await connection.send(request, timeout_ms=longest, max_version=max_version)
        except BarnabasError as error:
            if isinstance(error, (KafkaConnectionError, KafkaTimeoutError)):
                self.request_metadata_update()
            raise
        except TimeoutError:
            name = type(request).NAME
            limit = time_limit(timeout_ms, "request_timeout_ms", self.config.request_timeout_ms)
            raise KafkaTimeoutError(
                f"{self._node_text(node_id)} did not answer {name} within {limit}"
            ) from None

    async def send_to_any(
        self, request: Request[ResponseT], timeout_ms: float | None = None, *, max_version: int | None = None
    ) -> ResponseT:
        """Asks whichever broker is least busy, and another one when that fails, until `timeout_ms`
        (default_api_timeout_ms). Raises: BootstrapError, KafkaTimeoutError, NoCommonVersionError."""

        async def attempt() -> ResponseT:
            return await self.send(await self.any_node(), request, max_version=max_version)

        return await self.retry(attempt, what=type(request).NAME, timeout_ms=timeout_ms)

    async def send_to_controller(
        self, request: Request[ResponseT], timeout_ms: float | None = None, *, max_version: int | None = None
    ) -> ResponseT:
        """Like `send_to_any`, for requests that only the controller answers. A NOT_CONTROLLER in the answer
        is the caller's to see: after `request_metadata_update` the next try goes to the new one."""

        async def attempt() -> ResponseT:
            return await self.send(await self.controller(), request, max_version=max_version)

        return await self.retry(attempt, what=type(request).NAME, timeout_ms=timeout_ms)

    async def retry(
        self, attempt: Callable[[], Awaitable[T]], *, what: str, timeout_ms: float | None = None
    ) -> T:
        """The result of `attempt`, made again with back-off (KIP-580) while it raises retriable errors.

        Raises: what `attempt` raises that is not retriable; BootstrapError, or KafkaTimeoutError naming
        `what` and the last error, after `timeout_ms` (default_api_timeout_ms).
        """
        timeout_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = CLOCK.monotonic() + timeout_ms / 1000
        last: BarnabasError | None = None
        failures = 0
        while (remaining := deadline - CLOCK.monotonic()) > 0:
            try:
                async with asyncio.timeout(remaining):
                    return await attempt()
            except BarnabasError as error:
                if not error.retriable:
                    raise
                last = error
                if isinstance(error, KafkaConnectionError) or getattr(error, "invalid_metadata", False):
                    self.request_metadata_update()
            except TimeoutError:
                break
            failures += 1
            await pause(self.backoff, failures, deadline - CLOCK.monotonic())
        if isinstance(last, BootstrapError) or not self.metadata.nodes:
            raise self._upkeep.timeout_error(timeout_ms) from last
        reason = "" if last is None else f"; the last error was: {last}"
        limit = time_limit(timeout_ms, "default_api_timeout_ms", self.config.default_api_timeout_ms)
        raise KafkaTimeoutError(f"{what} did not succeed within {limit}{reason}") from last

    async def connect(self, node_id: int) -> Connection:
        """The connection to a node (or to what `coordinators.find` gave), opened if need be; within no
        deadline but that of connecting.

        Raises: KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError.
        """
        self._check_open()
        node = self.node(node_id)
        if node is None:
            self.request_metadata_update()
            raise KafkaConnectionError(f"node {node_id} is not in the cluster's metadata")
        return await self._pool.get(node_id, node)

    async def version_at(self, node_id: int, request_type: type[Request[ResponseT]]) -> int:
        """The version in which a node gets a request; -1 if it does not know it. Raises: as `connect`."""
        connection = await self.connect(node_id)
        try:
            return connection.version_of(request_type)
        except NoCommonVersionError:
            return NO_VERSION

    def ready_connection(self, node_id: int) -> Connection | None:
        """The connection to a node if it is open already."""
        node = self.node(node_id)
        return None if node is None else self._pool.ready(node_id, node)

    def connect_error(self, node_id: int) -> BarnabasError | None:
        """Why the last attempt to connect to a node failed; None where it did not, or there was none."""
        node = self.node(node_id)
        return None if node is None else self._pool.last_error(node_id, node)

    async def any_node(self) -> int:
        """The id of the least busy broker, to ask what any broker can answer; of controllers, the active one
        alone answers for the cluster. Waits until one is known. Raises: BootstrapError, KafkaConnectionError
        while there is no active controller."""
        if self.reaches_controllers:
            return await self.controller()
        if not self.metadata.nodes:
            await self.refresh_metadata()
        return self._least_busy_nodes()[0]

    async def known_node(self, node_id: int) -> int:
        """A node by its id, which is looked up if it is not known. Raises: KafkaConnectionError."""
        if node_id not in self.metadata.nodes:
            await self.refresh_metadata()
            if node_id not in self.metadata.nodes:
                raise KafkaConnectionError(f"there is no node with id {node_id}")
        return node_id

    async def controller(self) -> int:
        """The node id of the controller. Raises: BootstrapError, KafkaConnectionError while there is none."""
        if not self.metadata.nodes:
            await self.refresh_metadata()
        if self.metadata.controller_id not in self.metadata.nodes:
            self.request_metadata_update()
            raise KafkaConnectionError("the cluster has no controller at the moment")
        return self.metadata.controller_id

    def stats(self, window_seconds: float = WINDOW_SECONDS) -> ClientStats:
        """May be called on any thread."""
        now, metadata, updated_at = CLOCK.monotonic(), self.metadata, self._upkeep.updated_at
        return ClientStats(
            client_id=self.config.client_id,
            age_seconds=now - self._made_at,
            cluster_id=metadata.cluster_id,
            controller_id=metadata.controller_id,
            metadata_age_seconds=now - updated_at if updated_at else None,
            brokers=tuple(monitor.stats(window_seconds) for monitor in self.brokers.all()),
        )

    # Closing

    async def close(self) -> None:
        """Closes all connections at once. Waiting callers get ClosedError. May be called twice."""
        if self._is_closed:
            return
        await self.telemetry.close()
        self._is_closed = True
        await self._upkeep.close()
        await self._pool.close()

    async def close_unattended(self) -> None:
        """`close` for a client that nobody holds any more."""
        await self.close()

    def unfinished(self) -> int:
        return 0

    def waits_for(self) -> str:
        """What closing waits for."""
        return "its connections"

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the client is closed")

    # Small helpers

    def node(self, node_id: int) -> Node | None:
        """The broker of this node id, or behind what `coordinators.find` gave, if it is known."""
        return self.metadata.nodes.get(node_id) or self.coordinators.node(node_id)

    def _node_text(self, node_id: int) -> str:
        return str(self.node(node_id) or f"node {node_id}")

    def _load(self, node_id: int) -> tuple[int, int]:
        connection = self.ready_connection(node_id)
        if connection is not None:
            return 0, connection.in_flight
        node = self.node(node_id)
        return (2 if node is not None and self._pool.is_failing(node_id, node) else 1), 0

    def _least_busy_nodes(self) -> list[int]:
        """The known brokers, those that are likely to answer soonest first."""
        nodes = list(self.metadata.nodes)
        chance.shuffle(nodes)
        return sorted(nodes, key=self._load)
