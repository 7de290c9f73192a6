"""Work in the background, which never ends in silence.

Owns what becomes of an exception that nobody waits for: it is logged as an error of `barnabas.faults`, with
what has ended by it, and told to whoever started the work. And which tasks are the user's to end, and which
are not. Knows nothing of what the work is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger("barnabas.faults")

_running: set[asyncio.Task[Any]] = set()

OnFault = Callable[[str, BaseException], object]
"""Called with what has failed, and the error."""


def start(
    work: Coroutine[Any, Any, T],
    *,
    what: str,
    on_fault: OnFault | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> asyncio.Task[T]:
    """A task of its own for `work`, on `loop` or the running one, that is kept until it ends: an event loop
    would not. `what` names it and its owner in the log."""
    task = detached(work, what=what, loop=loop)
    _running.add(task)
    task.add_done_callback(partial(_ended, what, on_fault))
    return task


def detached(
    work: Coroutine[Any, Any, T], *, what: str | None = None, loop: asyncio.AbstractEventLoop | None = None
) -> asyncio.Task[T]:
    """A task that the caller ends. It is not one of `asyncio.all_tasks`, all of which `asyncio.run` cancels
    before clients get to deliver what they have."""
    task = (loop or asyncio.get_running_loop()).create_task(work, name=what)
    asyncio.tasks._unregister_task(task)  # pyright: ignore[reportPrivateUsage] # in asyncio's documents
    return task


def tell(what: str, error: BaseException, on_fault: OnFault | None = None) -> None:
    """Logs a fault of Barnabas itself, and tells of it."""
    logger.error("%s failed, which is a fault of Barnabas: %s", what, error, exc_info=error)
    if on_fault is not None:
        on_fault(what, error)


def _ended(what: str, on_fault: OnFault | None, task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if task.cancelled():
        return
    error = task.exception()
    if isinstance(error, Exception):
        tell(what, error, on_fault)
    elif error is not None and on_fault is not None:
        # SystemExit, for instance, which the handler of a signal raised and the program gets.
        on_fault(what, error)
