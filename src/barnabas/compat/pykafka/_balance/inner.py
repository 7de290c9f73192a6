"""The consumer inside a balanced one: with which settings it is made, for which partitions, and its end.

Owns the settings that both kinds of balanced consumers hand on, and how they are judged. Knows neither
ZooKeeper nor groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Protocol, TypeGuard

from barnabas.compat.pykafka.exceptions import UnicodeException
from barnabas.compat.pykafka.utils.compat import get_string
from barnabas.compat.pykafka.utils.error_handlers import valid_int
from barnabas.loop_thread import Steps

__all__ = [
    "InnerConsumer",
    "InnerSettings",
    "consumer_class",
    "group_name",
    "is_running",
    "stop_inner",
    "untake",
]


class InnerConsumer(Protocol):
    """The part of SimpleConsumer that a balanced one uses."""

    _running: bool
    _auto_commit_enable: bool
    _is_inner: bool
    consumer_id: bytes
    generation_id: int

    @property
    def partitions(self) -> dict[int, Any]: ...

    @property
    def held_offsets(self) -> dict[int, int]: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def steps_at_exit(self, *, commits: bool) -> Steps: ...

    def cleanup(self) -> None: ...

    def consume(self, block: bool = True, unblock_event: Any = None) -> Any: ...

    def commit_offsets(self, partition_offsets: Any = None) -> None: ...

    def reset_offsets(self, partition_offsets: Any = None) -> None: ...

    def _move(self, offsets: dict[int, int]) -> None: ...


def consumer_class(*, use_rdkafka: bool) -> type[InnerConsumer]:
    """What consumers inside are made by, found when the first is wanted: a program that only produces has no
    need of it."""
    module, name = (
        ("rdkafka", "RdKafkaSimpleConsumer") if use_rdkafka else ("simpleconsumer", "SimpleConsumer")
    )
    return getattr(import_module(f"barnabas.compat.pykafka.{module}"), name)


def group_name(consumer_group: bytes | str) -> bytes:
    """Raises: UnicodeException for a name that is not ASCII."""
    try:
        return get_string(consumer_group).encode("ascii")
    except UnicodeEncodeError:
        raise UnicodeException(
            f"Consumer group name '{consumer_group}' contains non-ascii characters"
        ) from None


_NAMES = (
    *("auto_commit_enable", "auto_commit_interval_ms", "fetch_message_max_bytes", "fetch_min_bytes"),
    *("num_consumer_fetchers", "queued_max_messages", "fetch_wait_max_ms", "consumer_timeout_ms"),
    *("offsets_channel_backoff_ms", "offsets_commit_max_retries", "auto_offset_reset", "compacted_topic"),
    *("deserializer", "reset_offset_on_fetch"),
)
_NUMBERS = {
    "auto_commit_interval_ms": {},
    "fetch_message_max_bytes": {},
    "fetch_min_bytes": {},
    "num_consumer_fetchers": {},
    "queued_max_messages": {},
    "fetch_wait_max_ms": {"allow_zero": True},
    "consumer_timeout_ms": {"allow_zero": True, "allow_negative": True},
    "offsets_channel_backoff_ms": {},
    "offsets_commit_max_retries": {"allow_zero": True},
}
"""In the order in which they are judged."""


class InnerSettings:
    """What a SimpleConsumer inside is made with: the arguments of the balanced one that it has as well.

    Raises: UnicodeException for a group's name that is not ASCII; TypeError, ValueError for what is no fit
    number.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.consumer_group = group_name(arguments["consumer_group"])
        self._arguments = {name: arguments[name] for name in _NAMES}
        for name, bounds in _NUMBERS.items():
            valid_int(arguments[name], **bounds)

    def consumer(
        self,
        made_by: Callable[..., InnerConsumer],
        topic: Any,
        cluster: Any,
        partitions: Iterable[Any],
        *,
        reset_offset_on_start: bool,
        generation_id: int,
        consumer_id: bytes,
    ) -> InnerConsumer:
        """A consumer of `partitions` that is not started yet."""
        consumer = made_by(
            topic,
            cluster,
            consumer_group=self.consumer_group,
            partitions=list(partitions),
            reset_offset_on_start=reset_offset_on_start,
            auto_start=False,
            **self._arguments,
        )
        consumer._is_inner = True  # pyright: ignore[reportPrivateUsage]
        consumer.consumer_id = consumer_id
        consumer.generation_id = generation_id
        return consumer


def is_running(consumer: InnerConsumer | None) -> TypeGuard[InnerConsumer]:
    return consumer is not None and consumer._running  # pyright: ignore[reportPrivateUsage]


def untake(consumer: InnerConsumer, message: Any) -> None:
    """Has `message`, which was handed out last, be the next of its partition again."""
    consumer._move({message.partition_id: message.offset - 1})  # pyright: ignore[reportPrivateUsage]


def stop_inner(consumer: InnerConsumer, *, commits: bool) -> None:
    """Stops a consumer, which commits only if that is wished and its commits are automatic."""
    if not commits:
        consumer._auto_commit_enable = False  # pyright: ignore[reportPrivateUsage]
    consumer.stop()
