"""A topic's one partition, read from its beginning for as long as the registry runs.

Owns the order in which records are applied, how far that has come, and which claim was the last. Knows
nothing of what records mean.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from barnabas import background
from barnabas._kernel import Record
from barnabas.backoff import Backoff
from barnabas.client.admin.admin import Admin
from barnabas.client.consume.consumer import Consumer
from barnabas.errors import BarnabasError
from barnabas.registry_server.journal.journal import Apply, JournalError
from barnabas.registry_server.journal.terms import NOOP_KEY, TermClaim, decode_claim
from barnabas.types import TopicPartition

logger = logging.getLogger("barnabas.registry_server")

POLL_SECONDS = 0.5
BATCH_RECORDS = 1_000


class TopicReader:
    """Belongs to the event loop on which it is started. Records of transactions count as soon as they are in
    the log, as they do for Confluent's registry: neither kind writes any."""

    def __init__(self, admin: Admin, partition: TopicPartition, apply: Apply) -> None:
        self._admin = admin
        self._partition = partition
        self._apply = apply
        self.claim: TermClaim | None = None
        """The last one in the log, of what has been read."""
        self._position = 0
        """Everything before this offset has been applied."""
        self._waiting: set[tuple[int, asyncio.Future[None]]] = set()
        self._failure: BarnabasError | None = None
        self._consumer: Consumer | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, settings: Mapping[str, Any]) -> None:
        """Raises: BarnabasError."""
        beginning = await self._admin.list_offsets({self._partition: "earliest"})
        consumer = self._consumer = Consumer(
            **settings,
            auto_offset_reset="none",
            isolation_level="read_uncommitted",
            enable_auto_commit=False,
            max_poll_records=BATCH_RECORDS,
        )
        consumer.assign([self._partition])
        self._position = beginning[self._partition].offset
        consumer.seek(self._partition, self._position)
        self._task = background.start(self._read(consumer), what=f"reading {self._partition}")

    async def _read(self, consumer: Consumer) -> None:
        backoff = Backoff(consumer.config.retry_backoff_ms, consumer.config.retry_backoff_max_ms)
        failures = 0
        while True:
            try:
                for record in await consumer.poll(POLL_SECONDS):
                    self._take(record)
                # Past the last record too, where that was compacted away or belongs to a transaction's end.
                self._position = max(self._position, await consumer.position(self._partition))
                failures = 0
            except BarnabasError as error:
                if not error.retriable:
                    self._fail(error)
                    return
                failures += 1
                logger.warning("reading %s failed, will try again: %s", self._partition, error)
                await asyncio.sleep(backoff.delay_ms(failures) / 1000)
            self._wake()

    def _take(self, record: Record) -> None:
        if record.key is None:
            return
        if record.key == NOOP_KEY:
            self.claim = decode_claim(record.value) or self.claim
        else:
            self._apply(record.key, record.value, record.offset, record.timestamp)
        self._position = record.offset + 1

    def _wake(self) -> None:
        for offset, reached in list(self._waiting):
            if offset <= self._position and not reached.done():
                reached.set_result(None)

    def _fail(self, error: BarnabasError) -> None:
        """What was applied may not be what is in the log: nothing may be decided on it any more."""
        logger.critical("%s is not read any more; start the registry again: %s", self._partition, error)
        self._failure = error
        for _, reached in self._waiting:
            if not reached.done():
                reached.set_exception(self._failed())

    def _failed(self) -> JournalError:
        return JournalError(
            f"{self._partition} is not read any more; start the registry again: {self._failure}"
        )

    async def read_to(self, offset: int) -> None:
        """Returns when everything before `offset` has been applied. Raises: JournalError."""
        if self._failure is not None:
            raise self._failed()
        if self._position >= offset:
            return
        waiting = (offset, asyncio.get_running_loop().create_future())
        self._waiting.add(waiting)
        try:
            await waiting[1]
        finally:
            self._waiting.discard(waiting)

    async def read_to_end(self) -> None:
        """The end is where it was when this was called. Raises: BarnabasError."""
        ends = await self._admin.list_offsets({self._partition: "latest"})
        await self.read_to(ends[self._partition].offset)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for _, reached in self._waiting:
            if not reached.done():
                reached.set_exception(JournalError("the registry was closed"))
        if self._consumer is not None:
            await self._consumer.close()
