"""Clients for asyncio whose constructor did not run."""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.scripts.asynchronous.calls import run
from tests.compat.differential.scripts.uninitialised import consumer_calls, producer_calls
from tests.compat.differential.stage import Stage

Cases = dict[str, list[tuple[Any, ...]]]
ENDS: Cases = {"__aenter__": [()], "__aexit__": [(), (None, None, None)], "close": [(), (), (1,)]}
AFTERWARDS: Cases = {"produce": [("t",)], "poll": [(0,)], "flush": [()]}
OWN_ATTRIBUTE = re.compile(r"no attribute '_[a-z]\w*'$")


async def _forget(self: object, *_: object, **__: object) -> None:
    pass


def _forgetful(made: Any) -> Any:
    """A subclass that does not call __init__."""
    is_awaited = inspect.iscoroutinefunction(made.__init__)
    return type("Forgetful", (made,), {"__init__": _forget if is_awaited else lambda self, *_, **__: None})


async def _made(made: Any) -> list[Any]:
    """Without its constructor: of a subclass and, where that does not begin it, by __new__ alone."""
    forgetful = _forgetful(made)()
    if inspect.isawaitable(forgetful):
        return [await forgetful]
    return [forgetful, made.__new__(made)]


async def _call_all(stage: Stage, client: Any, cases: Cases) -> None:
    """Calls without awaiting give coroutines, whatever is wrong."""
    for name, arguments in cases.items():
        for given in arguments:
            try:
                result = getattr(client, name)(*given)
                is_awaitable = inspect.isawaitable(result)
                result = await result if is_awaitable else result
                stage.record(f"{name}{given}", [is_awaitable, "itself" if result is client else result])
            except AttributeError as error:
                # What each keeps in attributes of its own is not for programs.
                stage.record(f"{name}{given}", OWN_ATTRIBUTE.sub("no attribute of its own", str(error)))
            except Exception as error:
                stage.record(f"{name}{given}", error)


def _clients(kafka: ModuleType, stage: Stage, cases: Cases, names: tuple[str, ...]) -> None:
    aio: Any = stage.module("aio")

    async def main() -> None:
        for name in names:
            for number, client in enumerate(await _made(getattr(aio, name))):
                stage.record(f"{name} {number}", type(client))
                await _call_all(stage, client, cases)
                stage.record("then", None)
                await _call_all(stage, client, AFTERWARDS)

    run(main())


@script()
def asynchronous_producers_that_were_not_initialised(kafka: ModuleType, stage: Stage) -> None:
    _clients(kafka, stage, {**producer_calls(kafka), **ENDS}, ("AIOProducer", "AsyncSerializingProducer"))


@script()
def asynchronous_consumers_that_were_not_initialised(kafka: ModuleType, stage: Stage) -> None:
    _clients(kafka, stage, {**consumer_calls(kafka), **ENDS}, ("AIOConsumer", "AsyncDeserializingConsumer"))
