"""Work that is done again and again behind the requests, each as often as a setting says.

Owns when the next time has come. Must not know what is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from barnabas import background

logger = logging.getLogger(__name__)


class Upkeep:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._changes: list[asyncio.Event] = []

    def start(self, interval_ms: Callable[[], float], job: Callable[[], Awaitable[None]]) -> None:
        """Does it for the first time when the interval is over."""
        change = asyncio.Event()
        self._changes.append(change)
        self._tasks.append(background.start(_repeat(interval_ms, job, change), what="upkeep of the log"))

    def intervals_changed(self) -> None:
        """What waits goes by the new interval, counted from where it began to wait."""
        for change in self._changes:
            change.set()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def _repeat(
    interval_ms: Callable[[], float], job: Callable[[], Awaitable[None]], change: asyncio.Event
) -> None:
    while True:
        await _until_over(interval_ms, change)
        try:
            await job()
        except OSError as error:
            logger.error("upkeep failed, to be tried again: %s", error)
        except Exception:
            logger.exception("upkeep failed, to be tried again")


async def _until_over(interval_ms: Callable[[], float], change: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    while (left := began + interval_ms() / 1000 - loop.time()) > 0:
        change.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await change.wait()
