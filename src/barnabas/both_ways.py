"""Work that is written once for plain calls and for asyncio: a generator yields what is to be done, is sent
what came of it, and returns what all of it was for.

Knows nothing of what is to be done, nor of event loops.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Task = TypeVar("Task")


def waited(
    work: Generator[Task, Any, T],
    do: Callable[[Task], Any],
    thrown_in: type[BaseException] = Exception,
) -> T:
    """`do` does what the work yields. `thrown_in`: which of the errors that `do` raises are thrown into the
    work; others end it. Raises: those, and what the work raises."""
    try:
        task = next(work)
        while True:
            try:
                result = do(task)
            except thrown_in as error:
                task = work.throw(error)
            else:
                task = work.send(result)
    except StopIteration as end:
        return end.value


async def awaited(
    work: Generator[Task, Any, T],
    do: Callable[[Task], Awaitable[Any]],
    thrown_in: type[BaseException] = Exception,
) -> T:
    """`waited`, where what `do` gives has to be awaited."""
    try:
        task = next(work)
        while True:
            try:
                result = await do(task)
            except thrown_in as error:
                task = work.throw(error)
            else:
                task = work.send(result)
    except StopIteration as end:
        return end.value
