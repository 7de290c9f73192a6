"""Which batches of a producer are neither delivered nor failed yet, and who waits until they are.

Belongs to one event loop. Must not know why a batch is done, nor what is to be sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from barnabas.client.produce.batches.partition_queue import PendingBatch


class OutstandingBatches:
    def __init__(self) -> None:
        self._batches: set[PendingBatch] = set()
        self._awaited: list[set[PendingBatch]] = []
        """What each `of_now` under way still waits for."""
        self._waiters: list[asyncio.Future[None]] = []

    def add(self, pending: PendingBatch) -> None:
        self._batches.add(pending)

    def all(self) -> set[PendingBatch]:
        return set(self._batches)

    def done(self, pending: PendingBatch) -> None:
        """It is delivered or has failed, and its memory is free again."""
        self._discard(pending)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def replace(self, pending: PendingBatch, parts: Iterable[PendingBatch]) -> None:
        """Whoever waits for the batch waits for its parts from now on."""
        waiting = [self._batches, *(due for due in self._awaited if pending in due)]
        for part in parts:
            for due in waiting:
                due.add(part)
        self._discard(pending)

    @contextmanager
    def of_now(self) -> Generator[set[PendingBatch]]:
        """Those there are now: a set that gets smaller as they are done."""
        due = set(self._batches)
        self._awaited.append(due)
        try:
            yield due
        finally:
            self._awaited = [other for other in self._awaited if other is not due]

    async def next_done(self) -> None:
        """Returns when the next batch is done."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _discard(self, pending: PendingBatch) -> None:
        for due in (self._batches, *self._awaited):
            due.discard(pending)
