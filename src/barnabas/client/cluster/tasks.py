"""Tasks in the background: kept while they run, and ended together. Knows nothing of what they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, TypeVar

from barnabas.background import detached

T = TypeVar("T")


class Background(Protocol):
    """What tells of work that fails while nobody waits for it: a `KafkaClient`."""

    def in_background(self, work: Coroutine[Any, Any, T], what: str) -> asyncio.Task[T]: ...


@asynccontextmanager
async def task_group() -> AsyncGenerator[asyncio.TaskGroup]:
    """An `asyncio.TaskGroup` that raises the first error as it is, not a group of errors, which callers of
    one thing would not look into."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


class Tasks(Generic[T]):
    """Those that run on behalf of one owner. Without it an event loop would not keep them alive."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[T]] = set()

    def __iter__(self) -> Iterator[asyncio.Task[T]]:
        return iter(list(self._running))

    def __bool__(self) -> bool:
        return bool(self._running)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """For work that somebody waits for, and whose errors they get."""
        return self._keep(detached(work))

    def start_in_background(
        self, work: Coroutine[Any, Any, T], client: Background, what: str
    ) -> asyncio.Task[T]:
        """For work that nobody waits for."""
        return self._keep(client.in_background(work, what))

    def _keep(self, task: asyncio.Task[T]) -> asyncio.Task[T]:
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel_others(self) -> None:
        """All but the one that calls this."""
        for task in self:
            if task is not asyncio.current_task():
                task.cancel()

    async def end(self) -> None:
        """Cancels all, and waits until they have ended."""
        tasks = list(self)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
