"""What all calls of Admin share: deadlines, where requests go, what is tried again, and what a call raises.

Knows nothing of single requests.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar, Unpack

from barnabas.broker_errors import UnsupportedVersionError
from barnabas.client.admin.requests.common import Answer
from barnabas.client.arguments import as_timeout_ms
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR, needs_brokers
from barnabas.client.cluster.error_table import MOVED_CONTROLLER, MOVED_COORDINATOR, MOVED_LEADER
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.loop_lifetimes import OwnedByLoop
from barnabas.client.cluster.observed import Observed
from barnabas.client.cluster.pause import pause
from barnabas.client.cluster.tasks import task_group
from barnabas.client.cluster.telemetry_metrics import admin_metrics
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    BarnabasError,
    BrokenProtocolError,
    BrokerError,
    KafkaConnectionError,
    NoCommonVersionError,
    Outcome,
)
from barnabas.protocol.codec import Request, Response
from barnabas.settings.table import AdminConfig, load
from barnabas.stats import ClientStats
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas.settings.keywords import AdminSettings

ResponseT = TypeVar("ResponseT", bound=Response)
T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

# Brokers hear of new partitions within moments of each other. Java's admin client asks until its deadline, a
# minute, which is long for what mostly is a mistake.
NEW_PARTITION_SECONDS = 1.0


def failure(
    code: int, context: str, message: str | None = None, *, advice: str | None = None
) -> BrokerError | None:
    """The error of a code in an answer, None if it means success. `message` is the broker's own, `advice` as
    that of `error_for`."""
    return error_for(code, context, message, advice=advice) if code else None


def check(code: int, context: str, message: str | None = None) -> None:
    """Raises the error of a code in an answer, if it is one."""
    error = failure(code, context, message)
    if error is not None:
        raise error


def outcomes(answers: Iterable[Answer[K, T]], name: Callable[[K], str]) -> dict[K, T | BarnabasError]:
    """By item what it gave, or its error, in which `name` says what it is about."""
    return {
        answer.key: failure(answer.code, name(answer.key), answer.message) or answer.result
        for answer in answers
    }


@dataclass(slots=True)
class _Items(Generic[K, T]):
    """The items of one call: what they gave, how they failed, and which still wait for an answer."""

    waiting: dict[K, None]
    retried: frozenset[int]
    on_retry: Callable[[K], object]
    results: dict[K, T] = field(default_factory=dict[K, T])
    errors: dict[K, BarnabasError] = field(default_factory=dict[K, BarnabasError])
    last_error: BarnabasError | None = None

    def take(self, key: K, answer: T | BarnabasError) -> None:
        """An item's answer; one that is to be tried again goes on waiting."""
        if key not in self.waiting:
            return
        if isinstance(answer, BarnabasError):
            is_retried = answer.code in self.retried if isinstance(answer, BrokerError) else answer.retriable
            if is_retried:
                self.last_error = answer
                self.on_retry(key)
                return
            self.errors[key] = answer
        else:
            self.results[key] = answer
        del self.waiting[key]


class AdminCalls(OwnedByLoop, Observed):
    """The base of Admin. See `barnabas.client.admin.admin.Admin`."""

    def __init__(
        self, bootstrap_servers: str | Sequence[str] = (), **settings: Unpack[AdminSettings]
    ) -> None:
        self.config = load(AdminConfig, {"bootstrap_servers": bootstrap_servers, **settings})
        self._client = client = KafkaClient(self.config, controllers=self.config.bootstrap_controllers)
        self._client.telemetry.measure_with(lambda: admin_metrics(client.stats()), dict)
        self._begin_life(f"admin client {self.config.client_id!r}")

    def stats(self) -> ClientStats:
        """Figures of the client and its brokers, as they are now."""
        return self._client.stats()

    async def client_instance_id(self, *, timeout: float | None = None) -> uuid.UUID:
        """The id that the brokers know this client by in its telemetry (KIP-714). `timeout` in seconds,
        default default_api_timeout_ms.

        Raises: MisuseError (enable_metrics_push is off), NoCommonVersionError (the brokers take no
        telemetry), KafkaTimeoutError, BootstrapError.
        """
        return await self._client.telemetry.client_instance_id(self._timeout_ms(timeout))

    async def close(self) -> None:
        """Closes the connections. May be called twice."""
        await self._client.close()
        self._end_life()

    @property
    def _remains(self) -> KafkaClient:
        return self._client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(
        self, node_id: int, request: Request[ResponseT], *, max_version: int | None = None
    ) -> ResponseT:
        """One try at one node. Raises: UnsupportedVersionError if the broker is too old or too new,
        UnsupportedEndpointTypeError where only brokers know such a request."""
        try:
            return await self._client.send(node_id, request, max_version=max_version)
        except NoCommonVersionError as error:
            if self._client.reaches_controllers:
                raise needs_brokers(type(request).NAME) from error
            raise UnsupportedVersionError(str(error)) from error

    async def _retry(self, attempt: Callable[[], Awaitable[T]], what: str, timeout: float | None) -> T:
        return await self._client.retry(attempt, what=what, timeout_ms=self._timeout_ms(timeout))

    async def _ask(
        self,
        place: Callable[[], Awaitable[int]],
        request: Request[ResponseT],
        timeout: float | None,
        code: Callable[[ResponseT], int] = lambda _: 0,
    ) -> ResponseT:
        """The answer of one node. `code` gives an error of the whole answer: NOT_CONTROLLER and the like are
        tried again, any other is the caller's to see."""

        async def attempt() -> ResponseT:
            response = await self._send(await place(), request)
            if code(response) in MOVED_CONTROLLER:
                raise error_for(code(response), type(request).NAME)
            return response

        return await self._retry(attempt, type(request).NAME, timeout)

    async def _ask_for_each(
        self,
        keys: Iterable[K],
        place: Callable[[K], Awaitable[int] | int],
        ask: Callable[[int, list[K]], Awaitable[Mapping[K, T | BarnabasError]]],
        *,
        what: str,
        timeout: float | None,
        retried: frozenset[int] = frozenset(),
        on_retry: Callable[[K], object] = lambda _: None,
        find_failed: Callable[[], Awaitable[Mapping[K, BarnabasError]]] | None = None,
    ) -> dict[K, T]:
        """`ask(node, items)` of all nodes at once for the items that `place` sends to each, again for those
        that came back with a code of `retried`, or did not because of the connection. `on_retry` is told of
        these. `find_failed` gives, before each try, what need not be asked for any more.

        Raises: the error of the first item that failed, with the `outcome` of all.
        """
        order = list(dict.fromkeys(keys))
        items: _Items[K, T] = _Items(dict.fromkeys(order), retried, on_retry)

        async def find(key: K, node_id: Awaitable[int], places: dict[int, list[K]]) -> None:
            try:
                places.setdefault(await node_id, []).append(key)
            except BarnabasError as error:
                items.take(key, error)

        def place_all(tasks: asyncio.TaskGroup, places: dict[int, list[K]]) -> None:
            for key in list(items.waiting):
                try:
                    node_id = place(key)
                except BarnabasError as error:
                    items.take(key, error)
                    continue
                if isinstance(node_id, int):
                    places.setdefault(node_id, []).append(key)
                else:
                    tasks.create_task(find(key, node_id, places))

        async def ask_node(node_id: int, group: list[K]) -> None:
            try:
                answers = await ask(node_id, group)
            except BarnabasError as error:
                for key in group:
                    items.take(key, error)
            else:
                for key in group:
                    missing = BrokenProtocolError(f"node {node_id} did not answer about {key}: {what}")
                    items.take(key, answers.get(key, missing))

        async def attempt() -> None:
            places: dict[int, list[K]] = {}
            items.last_error = None
            if find_failed is not None:
                failed = await find_failed()
                items.errors.update(failed)
                items.waiting = {key: None for key in items.waiting if key not in failed}
            async with task_group() as tasks:
                place_all(tasks, places)
            async with task_group() as tasks:
                for node_id, group in places.items():
                    tasks.create_task(ask_node(node_id, group))
            if items.last_error is not None:
                raise items.last_error

        try:
            await self._retry(attempt, what, timeout)
        except BarnabasError as error:
            items.errors.update(dict.fromkeys(items.waiting, error))
        return settled(order, items.results, items.errors)

    async def _ask_controller_for_each(
        self,
        keys: Iterable[K],
        ask: Callable[[int, list[K]], Awaitable[Mapping[K, T | BarnabasError]]],
        *,
        what: str,
        timeout: float | None,
    ) -> dict[K, T]:
        """`_ask_for_each` of the controller, and of its successor when it is not the controller any more."""

        async def controller(_: K) -> int:
            return await self._client.controller()

        return await self._ask_for_each(
            keys, controller, ask, what=what, timeout=timeout, retried=MOVED_CONTROLLER
        )

    async def _ask_coordinators(
        self,
        keys: Iterable[str],
        ask: Callable[[int, list[str]], Awaitable[Mapping[str, T | BarnabasError]]],
        *,
        what: str,
        timeout: float | None,
        key_type: int = GROUP_COORDINATOR,
    ) -> dict[str, T]:
        """`_ask_for_each` of the coordinators of groups or transactional ids."""

        async def coordinator(key: str) -> int:
            return await self._client.coordinators.find(key_type, key)

        return await self._ask_for_each(
            keys,
            coordinator,
            ask,
            what=what,
            timeout=timeout,
            retried=MOVED_COORDINATOR,
            on_retry=lambda key: self._client.coordinators.forget(key_type, key),
        )

    async def _ask_leaders(
        self,
        partitions: Iterable[TopicPartition],
        ask: Callable[[int, list[TopicPartition]], Awaitable[Mapping[TopicPartition, T | BarnabasError]]],
        *,
        what: str,
        timeout: float | None,
    ) -> dict[TopicPartition, T]:
        """`_ask_for_each` of the leaders of partitions, as far as they are known: metadata is asked for only
        where they are not, or where one was asked that does not lead. A partition that does not exist has
        failed after NEW_PARTITION_SECONDS."""
        if self._client.reaches_controllers:
            raise needs_brokers(what)
        wanted = list(dict.fromkeys(partitions))
        unclear = {partition for partition in wanted if self._client.metadata.leader(partition) < 0}

        async def find_unknown() -> dict[TopicPartition, BarnabasError]:
            looked_for = sorted(unclear)
            unclear.clear()
            return await self._unknown_partitions(looked_for, timeout) if looked_for else {}

        def leader(partition: TopicPartition) -> int:
            node_id = self._client.metadata.leader(partition)
            if node_id < 0:
                raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, str(partition))
            return node_id

        return await self._ask_for_each(
            wanted,
            leader,
            ask,
            what=what,
            timeout=timeout,
            retried=MOVED_LEADER,
            on_retry=unclear.add,
            find_failed=find_unknown,
        )

    async def _unknown_partitions(
        self, partitions: list[TopicPartition], timeout: float | None
    ) -> dict[TopicPartition, BarnabasError]:
        """Those that are in no broker's metadata, with their errors."""
        seconds = self._timeout_ms(timeout) / 1000
        deadline = CLOCK.monotonic() + seconds
        search_until = CLOCK.monotonic() + min(NEW_PARTITION_SECONDS, seconds / 2)
        topics = {partition.topic for partition in partitions}
        misses = 0
        while True:
            timeout_ms = (deadline - CLOCK.monotonic()) * 1000
            metadata = await self._client.refresh_metadata_of(topics, timeout_ms=timeout_ms)
            codes = {
                partition: metadata.topic_errors.get(partition.topic) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                for partition in partitions
                if metadata.partition(partition) is None
            }
            may_be_new = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in codes.values()
            if not may_be_new or CLOCK.monotonic() >= search_until:
                return {partition: error_for(code, str(partition)) for partition, code in codes.items()}
            misses += 1
            await pause(self._client.backoff, misses, search_until - CLOCK.monotonic())

    async def _all_nodes(self, timeout: float | None) -> list[int]:
        """The node ids of all brokers as of now."""
        return sorted((await self._client.refresh_metadata(timeout_ms=self._timeout_ms(timeout))).nodes)

    async def _broker(self, node_id: int) -> int:
        """A node by its id. Raises: KafkaConnectionError, which is tried again, where the cluster has none of
        it: brokers start, and come back."""
        if node_id not in self._client.metadata.nodes:
            await self._client.refresh_metadata()
            if node_id not in self._client.metadata.nodes:
                known = ", ".join(map(str, sorted(self._client.metadata.nodes)))
                raise KafkaConnectionError(f"node {node_id} is none of the cluster's, {known}")
        return node_id

    def _timeout_ms(self, timeout: float | None) -> float:
        return as_timeout_ms(timeout, self.config.default_api_timeout_ms)


def settled(order: Iterable[K], results: Mapping[K, T], errors: Mapping[K, BarnabasError]) -> dict[K, T]:
    """The results in order. Raises: the first error in order, if there is one, with the outcome of all."""
    items = list(order)
    for key in items:
        if key in errors:
            error = errors[key]
            error.outcome = Outcome(dict(results), dict(errors))
            raise error
    return {key: results[key] for key in items}
