"""How long the event loop is busy with a coroutine: what it waits for does not count."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class BusyTime(Generic[T]):
    """Awaits something for somebody. `nanoseconds`: how long it has run."""

    def __init__(self, awaited: Awaitable[T]) -> None:
        self._awaited = awaited
        self.nanoseconds = 0

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._awaited.__await__()
        error: BaseException | None = None
        while True:
            began = time.perf_counter_ns()
            try:
                step = steps.send(None) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self.nanoseconds += time.perf_counter_ns() - began
            error = None
            try:
                yield step
            except BaseException as thrown:
                error = thrown
