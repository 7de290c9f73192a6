"""What becomes of asyncio's clients that nobody closes: of those that are collected, and of those that are
still open when their event loop ends.

Owns which clients of a loop are open, and the wait at its end: an asynchronous generator, since those are
what `asyncio.run` ends after all tasks. What clients run on is not among these, see
`barnabas.background.detached`. Knows nothing of what closing takes.
"""

# A client and the end of its loop share what is nobody else's to see.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import warnings
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator

from barnabas.background import detached
from barnabas.client.cluster.lifetimes import (
    MOMENTS_SECONDS,
    SILENT_SECONDS,
    OfThisProcess,
    Remains,
    is_handling_ctrl_c,
    is_step_ended,
    last_words,
)
from barnabas.fork import generation, in_child
from barnabas.loop_thread import is_on_loop_thread
from barnabas.wording import records_were

logger = logging.getLogger("barnabas.client")

HINT = "use `async with`, or `await close()`"


class OwnedByLoop(OfThisProcess, ABC):
    """Base of the clients for asyncio, which call `_begin_life` when they are made, and `_end_life` when they
    are closed. Nothing that the loop holds may hold them."""

    _loop_end: LoopEnd | None = None
    _what = "client"

    @property
    @abstractmethod
    def _remains(self) -> Remains:
        """What is to be closed when nobody holds the client."""

    def _begin_life(self, what: str) -> None:
        """`what`: such as "producer 'name'". Plain clients, whose cores are on the process's own loop, see to
        their ends themselves."""
        if not is_on_loop_thread():
            self._what = what
            self._loop_end = _end_of(asyncio.get_running_loop())
            self._loop_end.open.add(self)

    def _end_life(self) -> None:
        if self._loop_end is not None:
            self._loop_end.open.discard(self)
            self._loop_end = None

    def __del__(self) -> None:
        if self._loop_end is not None:
            self._loop_end.dropped(self)


class LoopEnd:
    """Of one event loop that has clients."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.open: weakref.WeakSet[OwnedByLoop] = weakref.WeakSet()
        self._dropped: deque[OwnedByLoop] = deque()
        self._closings: dict[asyncio.Task[None], OwnedByLoop] = {}
        self._loop = loop
        self._generation = generation()
        self._generator = self._wait()
        # Only a generator that has begun is the loop's to end.
        with contextlib.suppress(StopIteration):
            self._generator.__anext__().__await__().__next__()

    def dropped(self, client: OwnedByLoop) -> None:
        """`client` is about to be collected. Any thread, at any moment."""
        if self._generation != generation():
            return
        self.open.discard(client)
        self._dropped.append(client)
        try:
            self._loop.call_soon_threadsafe(self._close_dropped)
        except RuntimeError:
            self._dropped.remove(client)
            _tell_what_is_lost(client)
        _warn(client)

    def left(self) -> list[OwnedByLoop]:
        """Those that are not closed."""
        return [*self.open, *self._dropped, *self._closings.values()]

    def give_up(self) -> None:
        """The process ends, and the loop has not been let end."""
        unclosed = list(self.open)
        for client in self.left():
            _tell_what_is_lost(client)
        for client in unclosed:
            client._end_life()
            _warn(client)

    async def _wait(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            # Apart from the exception that ends a generator, which would hide Ctrl-C.
            await detached(self._close_all())
            _ends.pop(self._loop, None)

    async def _close_all(self) -> None:
        # The loop warns of generators that begin from here on. Those of the closings end with them.
        sys.set_asyncgen_hooks(firstiter=None, finalizer=None)
        self._close_dropped()
        unclosed = list(self.open)
        for client in unclosed:
            self.open.discard(client)
            self._begin_closing(client)
        if self._closings:
            await self._wait_for_closings()
        for client in unclosed:
            _warn(client)

    async def _wait_for_closings(self) -> None:
        _, waiting = await asyncio.wait(self._closings, timeout=SILENT_SECONDS)
        if not waiting:
            return
        for task in waiting:
            client = self._closings[task]
            logger.warning(
                "the event loop ends when %s is closed, which waits for %s; Ctrl-C gives it up",
                client._what,
                client._remains.waits_for(),
            )
        is_short = is_handling_ctrl_c() or is_step_ended()
        _, waiting = await asyncio.wait(waiting, timeout=MOMENTS_SECONDS if is_short else None)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def _close_dropped(self) -> None:
        while self._dropped:
            self._begin_closing(self._dropped.popleft())

    def _begin_closing(self, client: OwnedByLoop) -> None:
        task = detached(self._close(client))
        self._closings[task] = client
        task.add_done_callback(self._closings.pop)

    async def _close(self, client: OwnedByLoop) -> None:
        try:
            await client._remains.close_unattended()
        except Exception:
            logger.exception("closing %s failed", client._what)
        finally:
            client._end_life()


_ends: dict[asyncio.AbstractEventLoop, LoopEnd] = {}


def _end_of(loop: asyncio.AbstractEventLoop) -> LoopEnd:
    end = _ends.get(loop)
    if end is None:
        # Of loops that were closed without waiting for their generators.
        for other in list(_ends):
            if other.is_closed() and not _ends[other].left():
                del _ends[other]
        end = _ends[loop] = LoopEnd(loop)
    return end


def _warn(client: OwnedByLoop) -> None:
    warnings.warn(f"unclosed {client._what}: {HINT}", ResourceWarning, 3, source=client)


def _tell_what_is_lost(client: OwnedByLoop) -> None:
    if lost := client._remains.unfinished():
        logger.error(
            "%s was not closed before its event loop ended, and %s not delivered: %s",
            client._what,
            records_were(lost),
            HINT,
        )


def _give_up_all() -> None:
    for end in list(_ends.values()):
        end.give_up()


last_words.append(_give_up_all)
in_child(_ends.clear)
