"""Code that is written once for plain calls and for asyncio. A generator yields each task, receives
the task's result, and returns the result of the whole.

Knows nothing of the tasks, nor of event loops.
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
    """Calls `do` with each task that `work` yields, and returns what `work` returns. `thrown_in`: the
    errors of `do` that are thrown into `work`; all others are raised here.

    Raises: what `do` or `work` raises.
    """
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
    """As `waited`; awaits what `do` returns."""
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
