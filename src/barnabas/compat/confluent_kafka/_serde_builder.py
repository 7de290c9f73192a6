# pyright: basic
"""Where the serializers and deserializers of a client come from, and who closes them.

Owns the properties that name them, their builders, and the cluster's id, which is offered to them; for
blocking and asyncio clients alike. Must not know a client: it is handed `cluster_id` as a callable.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
import operator
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from barnabas.both_ways import awaited, waited

T = TypeVar("T")

# By the original's name: programs configure logging by it.
log = logging.getLogger("confluent_kafka._serde_builder")

CLUSTER_ID_TIMEOUT = 60.0


class SerdeSpec(NamedTuple):
    """What a configuration says of the (de)serializer `prop`: it itself, or what builds it, or neither."""

    prop: str
    serde: Any
    builder: Any
    is_key: bool


def pop_serde_props(
    conf: dict[str, Any], key_prop: str, value_prop: str
) -> tuple[list[SerdeSpec], dict[str, Any]]:
    """What `conf` says of keys and of values, in this order, and the rest of it. `conf` is left as it is.

    Raises: ValueError, when a property and its builder are both given.
    """
    rest = conf.copy()
    specs: list[SerdeSpec] = []
    for prop, is_key in ((key_prop, True), (value_prop, False)):
        serde = rest.pop(prop, None)
        builder = rest.pop(f"{prop}.builder", None)
        if serde is not None and builder is not None:
            raise ValueError(f"Cannot configure both {prop} and {prop}.builder; use one or the other")
        specs.append(SerdeSpec(prop, serde, builder, is_key))
    return specs, rest


def validate_build_result(builder_prop: str, result: Any) -> tuple[Any, dict[str, Any]]:
    """The two halves of what a builder returned.

    Raises: ValueError, when it is not a pair with a dict in second place.
    """
    try:
        serde, rest = result
    except (TypeError, ValueError):
        raise ValueError(  # noqa: B904  the original names no cause either
            f"{builder_prop} must return a (serde, configuration) tuple from build(), "
            f"got {type(result).__name__}"
        )
    if not isinstance(rest, dict):
        raise ValueError(
            f"{builder_prop} returned {type(rest).__name__} as the leftover configuration from build(), "
            "expected a dict"
        )
    return serde, rest


def intersect_leftovers(conf: dict[str, Any], leftovers: list[dict[str, Any]]) -> dict[str, Any]:
    """The properties that every builder left, as the last one left them. Without builders, `conf`."""
    if not leftovers:
        return conf
    left_by_all = set.intersection(*(set(leftover) for leftover in leftovers))
    return {name: value for name, value in leftovers[-1].items() if name in left_by_all}


Built = tuple[list[Any], list[Any], dict[str, Any]]
"""All (de)serializers in the order of their specs, those that were built, the rest of the configuration."""
Calls = Generator[Callable[[], Any], Any, T]
"""Calls that are to be made until a `T` is there; each is sent its result, or thrown what it raised."""
PLAIN_CLOSE, ASYNC_CLOSE = ("close",), ("aclose", "close")
"""What closes a (de)serializer: the first of these names that it has."""


def build_serdes(specs: list[SerdeSpec], conf: dict[str, Any]) -> Built:
    """Runs the builders: all (de)serializers in the order of `specs`, those built here, the rest of `conf`.

    Each builder is given the whole of `conf`. When one fails, what was built before it is closed.
    """
    return waited(_building(specs, conf, PLAIN_CLOSE), operator.call, BaseException)


async def async_build_serdes(specs: list[SerdeSpec], conf: dict[str, Any]) -> Built:
    """`build_serdes`, with builders whose `build` may be a coroutine function."""
    return await awaited(_building(specs, conf, ASYNC_CLOSE), called, BaseException)


def _building(specs: list[SerdeSpec], conf: dict[str, Any], close_names: Sequence[str]) -> Calls[Built]:
    serdes: list[Any] = []
    built: list[Any] = []
    leftovers: list[dict[str, Any]] = []
    try:
        for spec in specs:
            serde = spec.serde
            if spec.builder is not None:
                result = yield partial(spec.builder.build, conf.copy(), spec.is_key)
                serde, leftover = validate_build_result(f"{spec.prop}.builder", result)
                built.append(serde)
                leftovers.append(leftover)
            serdes.append(serde)
    except BaseException:
        try:
            yield from _closing(built, close_names)
        except Exception:
            # The caller gets the failure itself.
            log.warning("Failed to close serdes of a client that was not created", exc_info=True)
        raise
    return serdes, built, intersect_leftovers(conf, leftovers)


def close_serdes(serdes: list[Any]) -> None:
    """Closes all that can be closed, then raises the first error. Further ones are logged."""
    waited(_closing(serdes, PLAIN_CLOSE), operator.call, BaseException)


async def async_close_serdes(serdes: list[Any]) -> None:
    """`close_serdes`, by `aclose()` where there is one, else by `close`, coroutine function or not."""
    await awaited(_closing(serdes, ASYNC_CLOSE), called, BaseException)


def _closing(serdes: list[Any], close_names: Sequence[str]) -> Calls[None]:
    first: BaseException | None = None
    for serde in serdes:
        close = next(filter(None, (getattr(serde, name, None) for name in close_names)), None)
        if close is None:
            continue
        try:
            yield close
        except Exception as error:
            if first is None:
                first = error
            else:
                log.warning("Failed to close serde %r", serde, exc_info=error)
    if first is not None:
        raise first


async def maybe_await(result: Any) -> Any:
    """What `result` gives when it is awaited, or `result` itself when it cannot be."""
    return await result if inspect.isawaitable(result) else result


async def called(call: Callable[[], Any]) -> Any:
    """What a call gives, or what that gives when it is awaited."""
    return await maybe_await(call())


class SharedClusterIdResolver:
    """Called by (de)serializers in any thread: the cluster's id. The client is asked once at a time."""

    def __init__(self, cluster_id: Callable[..., Any], timeout: float = CLUSTER_ID_TIMEOUT) -> None:
        self._cluster_id = cluster_id
        self._timeout = timeout
        self._lock = threading.Lock()
        self._in_flight: concurrent.futures.Future[Any] | None = None

    def __call__(self) -> Any:
        with self._lock:
            answer = self._in_flight
            asks = answer is None
            if answer is None:
                answer = self._in_flight = concurrent.futures.Future()
        if asks:
            try:
                answer.set_result(self._cluster_id(timeout=self._timeout))
            except BaseException as error:
                answer.set_exception(error)
            finally:
                with self._lock:
                    self._in_flight = None
        return answer.result()


class AsyncSharedClusterIdResolver:
    """SharedClusterIdResolver for coroutines. One that is cancelled leaves the question to the others."""

    def __init__(
        self, cluster_id: Callable[..., Awaitable[Any]], timeout: float = CLUSTER_ID_TIMEOUT
    ) -> None:
        self._cluster_id = cluster_id
        self._timeout = timeout
        self._in_flight: asyncio.Task[Any] | None = None

    async def __call__(self) -> Any:
        if self._in_flight is None:
            self._in_flight = asyncio.ensure_future(self._resolve())
        return await asyncio.shield(self._in_flight)

    async def _resolve(self) -> Any:
        try:
            return await self._cluster_id(timeout=self._timeout)
        finally:
            self._in_flight = None


def propagate_cluster_id_resolver(resolver: Callable[[], Any], serdes: list[Any]) -> None:
    """Offers `resolver` to all that have `set_cluster_id_resolver`. It is not called here."""
    _offer("set_cluster_id_resolver", resolver, serdes)


def propagate_async_cluster_id_resolver(resolver: Callable[[], Awaitable[Any]], serdes: list[Any]) -> None:
    """Offers `resolver` to all that have `set_async_cluster_id_resolver`: others could not await it."""
    _offer("set_async_cluster_id_resolver", resolver, serdes)


def _offer(setter: str, resolver: Callable[[], Any], serdes: list[Any]) -> None:
    for serde in serdes:
        take = getattr(serde, setter, None)
        if take is not None:
            take(resolver)
