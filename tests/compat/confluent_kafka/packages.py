"""The real package and ours side by side: what a scenario needs of either."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import re
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import confluent_kafka as real_root
from confluent_kafka import aio as real_aio
from confluent_kafka import error as real_error
from confluent_kafka import serialization as real_serialization
from tests.compat.both import outcome_of

from barnabas.compat import confluent_kafka as our_root
from barnabas.compat.confluent_kafka import aio as our_aio
from barnabas.compat.confluent_kafka import error as our_error
from barnabas.compat.confluent_kafka import serialization as our_serialization

REAL = SimpleNamespace(
    **{**vars(real_serialization), **vars(real_error), **vars(real_aio), **vars(real_root)}
)
OURS = SimpleNamespace(**{**vars(our_serialization), **vars(our_error), **vars(our_aio), **vars(our_root)})

# Each run of a scenario may have a topic of its own.
FRESH_TOPIC = re.compile(r"test-[0-9a-f]{12}")


class Log:
    """What a scenario has to tell: the outcomes of its steps, and what its callbacks heard, in order."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def say(self, *words: Any) -> None:
        self.lines.append(words)

    def step(self, name: str, call: Callable[[], Any]) -> Any:
        """Notes what `call` gives or raises. Gives what it gives."""
        results: list[Any] = []

        def kept() -> Any:
            results.append(call())
            return _told(results[0])

        self.lines.append((name, outcome_of(kept)))
        return results[0] if results else None

    async def await_(self, name: str, call: Callable[[], Awaitable[Any]], timeout: float = 60.0) -> Any:
        """`step` for what has to be awaited."""
        try:
            result = await asyncio.wait_for(_awaited(call), timeout)
        except Exception as error:
            raised = error

            def fail() -> Any:
                raise raised

            self.step(name, fail)
            return None
        self.lines.append((name, type(result).__name__, _told(result)))
        return result


async def _awaited(call: Callable[[], Any]) -> Any:
    result = call()
    return await result if inspect.isawaitable(result) and not isinstance(result, asyncio.Future) else result


def _told(value: Any) -> Any:
    """A message by what is in it, anything else as it is."""
    if isinstance(value, list | tuple):
        return [_told(item) for item in value]
    if hasattr(value, "deserialized_key"):
        return (
            value.topic(),
            value.partition(),
            value.offset(),
            value.key(),
            value.value(),
            str(value.error()),
        )
    return type(value).__name__ if "object at 0x" in repr(value) or callable(value) else repr(value)


class Serializer:
    """Says what it is called with, and gives `result` or fails."""

    def __init__(self, log: Log, name: str, result: Any = b"bytes") -> None:
        self.log, self.name, self.result = log, name, result

    def __call__(self, value: Any, context: Any) -> Any:
        self.log.say(self.name, value, context.topic, context.field.value, context.headers)
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        self.log.say(self.name, "was given a resolver")
        self.resolver = resolver

    def close(self) -> None:
        self.log.say(self.name, "was closed")


class Builder:
    def __init__(self, log: Log, name: str, take: tuple[str, ...] = ()) -> None:
        self.log, self.name, self.take = log, name, take

    def build(self, conf: dict[str, Any], is_key: bool) -> Any:
        self.log.say(self.name, "builds", sorted(conf), is_key)
        rest = {name: value for name, value in conf.items() if name not in self.take}
        return Serializer(self.log, f"built by {self.name}"), rest


def same(scenario: Callable[..., Any], *args: Any) -> None:
    """Runs a scenario, `scenario(package, log, *args)`, with both packages and compares what they tell."""
    logs: list[list[Any]] = []
    for package in (REAL, OURS):
        log = Log()
        result = scenario(package, log, *args)
        if inspect.isawaitable(result):
            asyncio.run(_awaited(lambda result=result: result))
        logs.append(log.lines)
    theirs, ours = ([FRESH_TOPIC.sub("a-topic", repr(line)) for line in lines] for lines in logs)
    difference = "\n".join(difflib.unified_diff(theirs, ours, "real", "ours", n=1, lineterm=""))
    assert not difference, difference
