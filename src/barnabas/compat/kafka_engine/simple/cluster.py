"""The brokers as a SimpleClient sees them: each call asks one of them, or each leader, and waits.

Owns the core's client, which is made when something is first asked and anew after `close` and in the child
of a fork, and what is tried again. Knows nothing of payloads.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from barnabas import fork
from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.admin.admin import Admin
from barnabas.client.admin.types.configs import ConfigResource, ResourceType
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.error_table import MOVED_COORDINATOR
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.pause import pause
from barnabas.clock import CLOCK
from barnabas.compat.kafka_engine.config.servers import core_servers
from barnabas.compat.kafka_engine.network.bootstrap import bootstrap
from barnabas.compat.kafka_engine.simple.requests import HIGHEST_VERSIONS
from barnabas.errors import BarnabasError, BrokerError, KafkaConnectionError
from barnabas.loop_thread import loop_thread
from barnabas.protocol.codec import Request, Response
from barnabas.types import Node

__all__ = ["SimpleCluster"]

ResponseT = TypeVar("ResponseT", bound=Response)
T = TypeVar("T")

_WHAT = "SimpleClient"
# While no broker answers, a call looks for one for as long: the originals gave up at once, and programs ask
# again in a loop.
_LOOK_AGAIN_MS = 2_000
_PAUSE_SECONDS = 0.1
_COORDINATOR_SECONDS = 30.0
_CREATES_TOPICS = "auto.create.topics.enable"


class SimpleCluster:
    """Of one SimpleClient. All threads may use it. A copy, also in another process, has connections of its
    own. `timeout_s`: how long a broker may take to answer."""

    def __init__(self, servers: Sequence[str], client_id: str, timeout_s: float) -> None:
        self._arguments = (servers, client_id, timeout_s)
        self._timeout_ms = max(1, int(timeout_s * 1000))
        self._settings: dict[str, Any] = {
            "bootstrap_servers": core_servers(servers),
            "client_id": client_id,
            "request_timeout_ms": self._timeout_ms,
            "default_api_timeout_ms": self._timeout_ms,
            "enable_metrics_push": False,
        }
        self._lock = threading.Lock()
        self._core: Admin | None = None
        self._generation = fork.generation()
        self._has_reached = False
        self._creates_topics: bool | None = None

    def __reduce__(self) -> Any:
        return type(self), self._arguments

    def __deepcopy__(self, memo: dict[int, Any]) -> SimpleCluster:
        return type(self)(*self._arguments)

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None and self._generation == fork.current:
            with contextlib.suppress(RuntimeError):
                loop_thread().submit(core.close())

    def close(self) -> None:
        """Closes the connections. The next call opens others."""
        with self._lock:
            core, self._core = self._core, None
        if core is not None and self._generation == fork.generation():
            loop_thread().run(core.close(), what=_WHAT)

    # Each raises: errors of the core.

    def ask_any(self, request: Request[ResponseT]) -> ResponseT:
        """The answer of whichever broker gives one."""
        return self._run(lambda core: self._ask_any(core.kafka_client, request))

    def ask_each(self, requests: Mapping[int, Request[ResponseT]]) -> dict[int, ResponseT | BarnabasError]:
        """The answers of several brokers, by their ids, or why there is none."""
        return self._run(lambda core: _ask_each(core.kafka_client, requests))

    def tell_each(self, requests: Mapping[int, Request[Any]]) -> dict[int, BarnabasError | None]:
        """Sends what brokers do not answer."""
        return self._run(lambda core: _tell_each(core.kafka_client, requests))

    def ask_coordinator(
        self, group: str, request: Request[ResponseT], codes: Callable[[ResponseT], Iterable[int]]
    ) -> ResponseT:
        """The answer of a group's coordinator, looked for again while one of `codes` of the answer says that
        it is another broker, or not ready."""
        return self._run(lambda core: _ask_coordinator(core.kafka_client, group, request, codes))

    def coordinator(self, group: str) -> Node:
        """The broker that coordinates a group."""
        return self._run(lambda core: _coordinator(core.kafka_client, group))

    def creates_topics(self) -> bool:
        """Whether brokers make a topic that somebody asks for. Asked once; False where they do not tell."""
        if self._creates_topics is None:
            self._creates_topics = self._run(_creates_topics)
        return self._creates_topics

    def _run(self, work: Callable[[Admin], Coroutine[Any, Any, T]]) -> T:
        return loop_thread().run(self._with_core(work), what=_WHAT)

    async def _with_core(self, work: Callable[[Admin], Coroutine[Any, Any, T]]) -> T:
        with self._lock:
            if self._core is None or self._generation != fork.generation():
                self._core = Admin(**self._settings)
                self._generation = fork.generation()
            core = self._core
        return await work(core)

    async def _ask_any(self, client: KafkaClient, request: Request[ResponseT]) -> ResponseT:
        try:
            if client.metadata.nodes:
                return await client.send(await client.any_node(), request)
        except BarnabasError as error:
            if not error.retriable:
                raise
        limit_ms = min(self._timeout_ms, _LOOK_AGAIN_MS) if self._has_reached else self._timeout_ms
        await bootstrap(client, limit_ms, tries_once=True)
        self._has_reached = True
        return await client.send(await client.any_node(), request)


async def _ask_each(
    client: KafkaClient, requests: Mapping[int, Request[ResponseT]]
) -> dict[int, ResponseT | BarnabasError]:
    async def ask(node_id: int, request: Request[ResponseT]) -> ResponseT | BarnabasError:
        try:
            node = await client.known_node(node_id)
            return await client.send(node, request, max_version=HIGHEST_VERSIONS.get(type(request)))
        except BarnabasError as error:
            return await _failure(error)

    answers = await asyncio.gather(*(ask(node_id, request) for node_id, request in requests.items()))
    return dict(zip(requests, answers, strict=True))


async def _tell_each(
    client: KafkaClient, requests: Mapping[int, Request[Any]]
) -> dict[int, BarnabasError | None]:
    async def tell(node_id: int, request: Request[Any]) -> BarnabasError | None:
        try:
            connection = await client.connect(await client.known_node(node_id))
            connection.send_no_response(request, max_version=HIGHEST_VERSIONS.get(type(request)))
        except BarnabasError as error:
            return await _failure(error)
        return None

    return {node_id: await tell(node_id, request) for node_id, request in requests.items()}


async def _failure(error: BarnabasError) -> BarnabasError:
    # Programs try again at once, and without end.
    await asyncio.sleep(_PAUSE_SECONDS)
    return error


async def _ask_coordinator(
    client: KafkaClient,
    group: str,
    request: Request[ResponseT],
    codes: Callable[[ResponseT], Iterable[int]],
) -> ResponseT:
    give_up_at = CLOCK.monotonic() + _COORDINATOR_SECONDS
    failures = 0
    while True:
        node = await _find_coordinator(client, group, give_up_at)
        try:
            response = await client.send(node, request, max_version=HIGHEST_VERSIONS.get(type(request)))
        except KafkaConnectionError:
            client.coordinators.forget(GROUP_COORDINATOR, group)
            if failures:
                raise
        else:
            if CLOCK.monotonic() > give_up_at or not any(
                code in MOVED_COORDINATOR for code in codes(response)
            ):
                return response
            client.coordinators.forget(GROUP_COORDINATOR, group)
        failures += 1
        await pause(client.backoff, failures, give_up_at - CLOCK.monotonic())


async def _find_coordinator(client: KafkaClient, group: str, give_up_at: float) -> int:
    """Brokers that answer may take a while to have one; those that do not answer are given up early."""
    while True:
        try:
            return await client.coordinators.find(GROUP_COORDINATOR, group, timeout_ms=_LOOK_AGAIN_MS)
        except BarnabasError as error:
            if not isinstance(error.__cause__, BrokerError) or CLOCK.monotonic() > give_up_at:
                raise


async def _coordinator(client: KafkaClient, group: str) -> Node:
    client.coordinators.forget(GROUP_COORDINATOR, group)
    give_up_at = CLOCK.monotonic() + _COORDINATOR_SECONDS
    node = client.node(await _find_coordinator(client, group, give_up_at))
    if node is None:
        raise error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"coordinator of {group!r}")
    return node


async def _creates_topics(core: Admin) -> bool:
    node_id = await core.kafka_client.any_node()
    broker = ConfigResource(ResourceType.BROKER, str(node_id))
    try:
        configs = await core.describe_configs([broker])
    except BarnabasError:
        return False
    entry = configs[broker].get(_CREATES_TOPICS)
    return entry is not None and entry.value == "true"
