"""What producer, consumer and admin share: where each request goes, what the cluster looks like, and retries.

Owns the metadata and when it is asked for, the coordinators, and the way back to a cluster that has moved
(KIP-899). Must not know records, groups or what the requests of its users mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.backoff import Backoff
from barnabas.client.connections import ConnectionPool
from barnabas.client.metadata import ClusterMetadata
from barnabas.config import CommonConfig, parse_server
from barnabas.errors import (
    BarnabasError,
    BootstrapError,
    ClosedError,
    KafkaConnectionError,
    KafkaTimeoutError,
)
from barnabas.net.connection import Connection
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.types import Node, TopicPartition

logger = logging.getLogger("barnabas.client")

ResponseT = TypeVar("ResponseT", bound=Response)
T = TypeVar("T")

GROUP_COORDINATOR = 0
TRANSACTION_COORDINATOR = 1

# A coordinator has a connection of its own, so that a heartbeat never waits behind a long fetch. Its id is
# counted down from here, as in Java's client.
HIGHEST_CONNECTION_ID = 2**31 - 1

# How long a silent broker is waited for before another one is asked the same.
STAGGER_SECONDS = 2.0
WARNING_INTERVAL_SECONDS = 30.0


class KafkaClient:
    """The connection to one cluster. Belongs to the event loop on which it was made; nothing happens before
    the first call. `allow_auto_topic_creation`: whether asking for a topic may make the broker create it."""

    def __init__(self, config: CommonConfig, *, allow_auto_topic_creation: bool = False) -> None:
        self.config = config
        self.metadata = ClusterMetadata()
        """The latest snapshot; replaced, never changed."""
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._loop = asyncio.get_running_loop()
        self._pool = ConnectionPool(config)
        self._listeners: list[Callable[[ClusterMetadata], object]] = []
        self._tracked: set[str] | None = set()
        self._untold: set[str] = set()
        self._is_stale = True
        self._updated_at = 0.0
        self._wake = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []
        self._task: asyncio.Task[None] | None = None
        self._last_error: BarnabasError | None = None
        self._bootstrap_reasons: dict[str, BarnabasError] = {}
        self._warned_at = -WARNING_INTERVAL_SECONDS
        self._coordinators: dict[tuple[int, str], int] = {}
        self._coordinator_nodes: dict[int, Node] = {}
        self._is_closed = False

    # Metadata

    def track_topics(self, topics: Iterable[str] | None) -> None:
        """Metadata is kept for exactly these topics from now on; None means every topic of the cluster."""
        tracked = None if topics is None else set(topics)
        if tracked is None:
            self._is_stale = self._is_stale or self._tracked is not None
        else:
            self._untold |= tracked - set(self.metadata.topic_metadata)
        self._tracked = tracked
        self._start()

    def add_topics(self, topics: Iterable[str]) -> None:
        """Metadata is kept for these topics too."""
        new = set(topics)
        if self._tracked is not None:
            new -= self._tracked
            self._tracked |= new
        self._untold |= new - set(self.metadata.topic_metadata)
        if self._untold:
            self._start()

    def add_metadata_listener(self, listener: Callable[[ClusterMetadata], object]) -> None:
        """`listener(metadata)` is called on the event loop after each update."""
        self._listeners.append(listener)

    def request_metadata_update(self) -> None:
        """The metadata is out of date: it will be asked for soon. Does not wait; never raises."""
        self._is_stale = True
        if not self._is_closed:
            self._start()

    async def refresh_metadata(
        self, topics: Iterable[str] | None = None, *, timeout_ms: float | None = None
    ) -> ClusterMetadata:
        """Metadata that was asked for after this call; `topics` are kept track of from now on.

        Raises: BootstrapError or KafkaTimeoutError after `timeout_ms` (default_api_timeout_ms).
        """
        if topics is not None:
            self.add_topics(topics)
        self._is_stale = True
        self._start()
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        timeout_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await waiter
        except BarnabasError:
            raise
        except TimeoutError:
            raise self._metadata_timeout(timeout_ms) from None
        return self.metadata

    async def wait_for_topics(self, topics: Sequence[str], deadline: float) -> None:
        """Returns when all these topics are known. `deadline` is on the clock of `time.monotonic()`.

        Raises: UnknownTopicOrPartitionError (names the topics) at the deadline, BootstrapError if no broker
        could be reached until then, and at once another BrokerError such as TopicAuthorizationFailedError.
        """
        self.add_topics(topics)
        failures = 0
        while missing := [topic for topic in topics if topic not in self.metadata.topic_metadata]:
            for topic in missing:
                code = self.metadata.topic_errors.get(topic, 0)
                if code and not error_for(code).retriable:
                    raise error_for(code, f"topic {topic!r}")
            remaining = deadline - time.monotonic()
            if failures:
                remaining -= await self._pause(failures, remaining)
            if remaining <= 0:
                raise self._unknown_topics(missing)
            failures += 1
            try:
                await self.refresh_metadata(timeout_ms=remaining * 1000)
            except BootstrapError:
                raise
            except KafkaTimeoutError as error:
                raise self._unknown_topics(missing) from error

    # Requests

    async def send(
        self,
        node_id: int,
        request: Request[ResponseT],
        timeout_ms: float | None = None,
        *,
        max_version: int | None = None,
    ) -> ResponseT:
        """One try at one node, by node id or by what `coordinator` gave. Error codes in the answer are not
        looked at. `timeout_ms` (request_timeout_ms) covers connecting as well.

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
            raise KafkaTimeoutError(
                f"{self._node_text(node_id)} did not answer {name} within {timeout_ms:.0f} ms"
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
        deadline = time.monotonic() + timeout_ms / 1000
        last: BarnabasError | None = None
        failures = 0
        while (remaining := deadline - time.monotonic()) > 0:
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
            await self._pause(failures, deadline - time.monotonic())
        if isinstance(last, BootstrapError) or not self.metadata.nodes:
            raise self._metadata_timeout(timeout_ms) from last
        reason = "" if last is None else f"; the last error was: {last}"
        raise KafkaTimeoutError(f"{what} did not succeed within {timeout_ms:.0f} ms{reason}") from last

    async def connect(self, node_id: int) -> Connection:
        """The connection to a node (or to what `coordinator` gave), opened if need be; within no deadline
        but that of connecting. Raises: KafkaConnectionError, KafkaTimeoutError, BrokenProtocolError."""
        self._check_open()
        node = self.node(node_id)
        if node is None:
            self.request_metadata_update()
            raise KafkaConnectionError(f"node {node_id} is not in the cluster's metadata")
        return await self._pool.get(node_id, node)

    def ready_connection(self, node_id: int) -> Connection | None:
        """The connection to a node if it is open already."""
        node = self.node(node_id)
        return None if node is None else self._pool.ready(node_id, node)

    async def any_node(self) -> int:
        """The id of the least busy broker, to ask what any broker can answer. Waits until one is known.
        Raises: BootstrapError."""
        if not self.metadata.nodes:
            await self.refresh_metadata()
        nodes = list(self.metadata.nodes)
        random.shuffle(nodes)
        return min(nodes, key=self._load)

    async def controller(self) -> int:
        """The node id of the controller. Raises: BootstrapError, KafkaConnectionError while there is none."""
        if not self.metadata.nodes:
            await self.refresh_metadata()
        if self.metadata.controller_id not in self.metadata.nodes:
            self.request_metadata_update()
            raise KafkaConnectionError("the cluster has no controller at the moment")
        return self.metadata.controller_id

    # Coordinators

    async def coordinator(self, key_type: int, key: str, timeout_ms: float | None = None) -> int:
        """What to give `send` to reach a group's coordinator (key_type 0) or a transactional id's (1): the id
        of a connection of its own to that node. Remembered until `forget_coordinator`.

        Raises: KafkaTimeoutError, BootstrapError, or what the broker answers that is not retriable, such as
        GroupAuthorizationFailedError.
        """
        known = self._coordinators.get((key_type, key))
        if known is not None:
            return known

        async def attempt() -> int:
            response = await self._find_coordinator(key_type, key)
            error_code, node = _coordinator_in(response)
            if error_code:
                raise error_for(error_code, f"coordinator of {key!r}")
            connection_id = HIGHEST_CONNECTION_ID - node.node_id
            self._coordinator_nodes[connection_id] = node
            self._coordinators[key_type, key] = connection_id
            return connection_id

        return await self.retry(
            attempt, what=f"looking for the coordinator of {key!r}", timeout_ms=timeout_ms
        )

    def forget_coordinator(self, key_type: int, key: str) -> None:
        """The coordinator has moved: the next call of `coordinator` asks again."""
        self._coordinators.pop((key_type, key), None)

    async def _find_coordinator(self, key_type: int, key: str) -> FindCoordinatorResponse:
        node_id = await self.any_node()
        connection = await self.connect(node_id)
        version = connection.version_of(FindCoordinatorRequest)
        if version >= 4:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        else:
            request = FindCoordinatorRequest(key_type=key_type, key=key)
        return await self.send(node_id, request, max_version=version)

    # Closing

    async def close(self) -> None:
        """Closes all connections at once. Waiting callers get ClosedError. May be called twice."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._finish_waiters(self._waiters, ClosedError("the client is closed"))
        self._waiters = []
        await self._pool.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the client is closed")

    # How metadata is kept up to date

    def _start(self) -> None:
        self._check_open()
        self._wake.set()
        if self._task is None:
            self._task = self._loop.create_task(self._keep_metadata())

    async def _keep_metadata(self) -> None:
        failures = 0
        while True:
            await self._wait_until_stale()
            waiters, self._waiters = self._waiters, []
            try:
                await self._update_metadata()
            except BarnabasError as error:
                failures += 1
                self._last_error = error
                self._is_stale = True
                self._warn(error)
                if error.retriable:
                    self._waiters = waiters + self._waiters
                else:
                    self._finish_waiters(waiters, error)
            except BaseException as error:
                self._waiters = waiters + self._waiters
                if not isinstance(error, Exception):
                    raise
                failures += 1
                self._is_stale = True
                logger.exception("client %s: the update of the metadata failed", self.config.client_id)
            else:
                failures = 0
                self._last_error = None
                self._finish_waiters(waiters, None)
            await asyncio.sleep(self.backoff.delay_ms(failures) / 1000)

    async def _wait_until_stale(self) -> None:
        while not self._untold:
            age = time.monotonic() - self._updated_at
            if self._is_stale:
                wait = self.config.retry_backoff_ms / 1000 - age
            else:
                wait = self.config.metadata_max_age_ms / 1000 - age
            if wait <= 0:
                return
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    async def _update_metadata(self) -> None:
        """Asks for all that is tracked, or only for the topics that nothing is known of."""
        untold, self._untold = self._untold, set()
        is_full = self._is_stale or not untold or not self.metadata.nodes
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
        try:
            response = await self._ask_for_metadata(request)
        except BarnabasError:
            self._untold |= untold
            raise
        self._updated_at = time.monotonic()
        self.metadata = self.metadata.updated(response, keep_others=not is_full)
        kept = set(self.metadata.nodes) | set(self._coordinator_nodes)
        self._pool.close_others(kept)
        for listener in self._listeners:
            listener(self.metadata)

    async def _ask_for_metadata(self, request: MetadataRequest) -> MetadataResponse:
        nodes = list(self.metadata.nodes)
        random.shuffle(nodes)
        nodes.sort(key=self._load)
        if nodes:
            try:
                return await _first_success(
                    [partial(self._metadata_from, node_id, request) for node_id in nodes]
                )
            except BarnabasError as error:
                if not error.retriable:
                    raise
                # KIP-899: brokers may all have moved since.
                logger.info("no known broker answers, asking bootstrap_servers again: %s", error)
        servers = list(dict.fromkeys(self.config.bootstrap_servers))
        random.shuffle(servers)
        self._bootstrap_reasons = reasons = {}
        try:
            return await _first_success(
                [partial(self._metadata_from_server, server, request, reasons) for server in servers]
            )
        except BarnabasError as error:
            if not error.retriable and len(servers) == 1:
                raise
            raise self._bootstrap_error() from error

    async def _metadata_from(self, node_id: int, request: MetadataRequest) -> MetadataResponse:
        connection = await self.connect(node_id)
        return await connection.send(request, timeout_ms=self.config.request_timeout_ms)

    async def _metadata_from_server(
        self, server: str, request: MetadataRequest, reasons: dict[str, BarnabasError]
    ) -> MetadataResponse:
        host, port = parse_server(server)
        connection: Connection | None = None
        try:
            connection = await self._pool.open(Node(-1, host, port))
            response = await connection.send(request, timeout_ms=self.config.request_timeout_ms)
            if not response.brokers:
                raise KafkaConnectionError(f"{server}: its metadata names no broker")
        except BarnabasError as error:
            reasons[server] = error
            if connection is not None:
                connection.close()
            raise
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        for broker in response.brokers:
            if (broker.host, broker.port) == (host, port):
                node = Node(broker.node_id, broker.host, broker.port, broker.rack)
                self._pool.adopt(broker.node_id, node, connection)
                return response
        connection.close()
        return response

    def _finish_waiters(self, waiters: list[asyncio.Future[None]], error: BarnabasError | None) -> None:
        for waiter in waiters:
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)

    def _warn(self, error: BarnabasError) -> None:
        now = time.monotonic()
        if now - self._warned_at >= WARNING_INTERVAL_SECONDS:
            self._warned_at = now
            logger.warning("client %s: %s; still trying", self.config.client_id, error)

    # Small helpers

    def node(self, node_id: int) -> Node | None:
        """The broker of this node id, or behind what `coordinator` gave, if it is known."""
        return self.metadata.nodes.get(node_id) or self._coordinator_nodes.get(node_id)

    def _node_text(self, node_id: int) -> str:
        return str(self.node(node_id) or f"node {node_id}")

    def _load(self, node_id: int) -> tuple[int, int]:
        connection = self.ready_connection(node_id)
        if connection is not None:
            return 0, connection.in_flight
        return (2 if self._pool.is_failing(node_id) else 1), 0

    async def _pause(self, failures: int, at_most: float) -> float:
        """Sleeps before the next try; gives the seconds slept."""
        seconds = max(0.0, min(self.backoff.delay_ms(failures) / 1000, at_most))
        await asyncio.sleep(seconds)
        return seconds

    def _metadata_timeout(self, timeout_ms: float) -> BarnabasError:
        if not self.metadata.nodes or isinstance(self._last_error, BootstrapError):
            return self._bootstrap_error(f" within {timeout_ms:.0f} ms")
        reason = "" if self._last_error is None else f"; the last error was: {self._last_error}"
        return KafkaTimeoutError(f"no metadata within {timeout_ms:.0f} ms{reason}")

    def _bootstrap_error(self, when: str = "") -> BootstrapError:
        reasons = self._bootstrap_reasons
        texts = [
            str(reasons.get(s, f"{s}: no answer yet")) for s in dict.fromkeys(self.config.bootstrap_servers)
        ]
        return BootstrapError(f"none of bootstrap_servers answered{when}: {'; '.join(texts)}")

    def _unknown_topics(self, missing: Sequence[str]) -> BarnabasError:
        if not self.metadata.nodes:
            return self._bootstrap_error()
        codes = {self.metadata.topic_errors.get(topic, 0) for topic in missing} - {0}
        code = codes.pop() if len(codes) == 1 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        names = ", ".join(repr(topic) for topic in missing)
        return error_for(
            code,
            f"{'topic' if len(missing) == 1 else 'topics'} {names}: not known to the cluster; "
            "create it first (Admin.create_topics), or check its name",
        )

    def update_leader(
        self, partition: TopicPartition, leader: int, leader_epoch: int, nodes: Iterable[Node]
    ) -> None:
        """A broker named a partition's new leader in its answer (KIP-951)."""
        self.metadata = self.metadata.with_leader(partition, leader, leader_epoch, nodes)


def _coordinator_in(response: FindCoordinatorResponse) -> tuple[int, Node]:
    if response.coordinators:
        found = response.coordinators[0]
        return found.error_code, Node(found.node_id, found.host, found.port)
    return response.error_code, Node(response.node_id, response.host, response.port)


async def _first_success(attempts: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> T:
    """The first result. Each attempt starts when the one before has failed, or is silent for a while.

    Raises: the last error, when all have failed.
    """
    started: list[asyncio.Task[T]] = []
    error: BaseException | None = None
    try:
        pending: set[asyncio.Task[T]] = set()
        while len(started) < len(attempts) or pending:
            if len(started) < len(attempts):
                started.append(asyncio.create_task(attempts[len(started)]()))
                pending.add(started[-1])
            timeout = STAGGER_SECONDS if len(started) < len(attempts) else None
            done, pending = await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None:
                    return task.result()
        assert error is not None
        raise error
    finally:
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)
