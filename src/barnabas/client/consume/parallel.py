"""The ParallelConsumer for asyncio: handlers as tasks.

Owns the tasks. The order of records is `work_queue`'s; what is asked and committed when, `parallel_front`'s.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Generic, Self, Unpack

from barnabas._kernel import Record
from barnabas.client.consume.consumer import Consumer
from barnabas.client.consume.parallel_front import (
    CANCEL_SECONDS,
    POLL_SECONDS,
    ParallelFront,
    logger,
    refuse_automatic_commits,
)
from barnabas.client.consume.work_queue import Ordering, Work
from barnabas.errors import BarnabasError, MisuseError
from barnabas.settings.keywords import ConsumerSettings
from barnabas.types import K, TopicPartition, V


class ParallelConsumer(ParallelFront, Generic[K, V]):
    """Has a coroutine function handle records side by side, those of one key in their order; at least once.

    `handler(record)` is awaited for each record, for up to `max_concurrency` at a time. `ordering`: by "key"
    records of one key in one partition wait for each other, and records without a key for nobody; by
    "partition" those of one partition; by "none" none. A commit names the lowest offset that is not finished,
    so what was handled beyond it is handled again after a crash. `max_backlog`: a partition with so many
    records read and not handled is paused.

    A record whose handler raises is tried again `retries` times, with back-off (retry_backoff_ms), while only
    its key waits. After that `on_failure(record, error)` is awaited, and the record counts as handled;
    without it, or when it raises too, `run` stops and raises the error, and the record is not committed.

    When partitions are given up, no more of their records begin; handlers under way have `drain_timeout_ms`,
    then they are cancelled. With partitions that are lost already they are cancelled at once.

    Other settings: `barnabas.settings.table.ConsumerConfig`, except for enable_auto_commit; commits are made
    every auto_commit_interval_ms. Raises: UnknownSettingError, InvalidSettingError.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        handler: Callable[[Record[K, V]], Awaitable[object]],
        *,
        group_id: str,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        max_concurrency: int = 16,
        ordering: Ordering = "key",
        max_backlog: int = 1_000,
        retries: int = 0,
        on_failure: Callable[[Record[K, V], Exception], Awaitable[object]] | None = None,
        drain_timeout_ms: int = 30_000,
        **settings: Unpack[ConsumerSettings[K, V]],
    ) -> None:
        refuse_automatic_commits(settings)
        settings["enable_auto_commit"] = False
        self._consumer = Consumer(bootstrap_servers, group_id=group_id, **settings)
        super().__init__(
            self._consumer,
            handler=handler,
            on_failure=on_failure,
            max_concurrency=max_concurrency,
            ordering=ordering,
            max_backlog=max_backlog,
            retries=retries,
            drain_timeout_ms=drain_timeout_ms,
        )
        self._handler = handler
        self._on_failure = on_failure
        self._tasks: dict[asyncio.Task[None], Work] = {}
        self._has_ended = asyncio.Event()
        self._has_ended.set()
        self._consumer.subscribe(
            topics, pattern=pattern, on_revoked=self._give_up_partitions, on_lost=self._lose_partitions
        )

    async def run(self) -> None:
        """Reads and handles until `stop`. Raises: what a handler raised (see the class), and what
        `Consumer.poll` raises; handlers that are under way are waited for first."""
        if not self._has_ended.is_set():
            raise MisuseError("run() runs already")
        try:
            # In here, so that an exception at any line leaves nobody waiting for the end.
            self._has_ended.clear()
            while self._goes_on:
                self._take_in(await self._consumer.poll(POLL_SECONDS))
                self._start_handlers()
                self._hold_back()
                offsets = self._due_commit()
                if offsets:
                    self._consumer.commit_async(offsets, self._committed)
        finally:
            self._is_stopping = True
            try:
                await self._drain(self._consumer.assignment())
            finally:
                self._has_ended.set()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Has `run` return when the handlers under way have finished. Any thread, and any handler."""
        self._is_stopping = True
        self._consumer.wakeup()

    async def close(self, timeout: float | None = None) -> None:
        """Stops `run`, commits what was handled and leaves the group, within drain_timeout_ms and `timeout`
        seconds (30). May be called twice."""
        self.stop()
        await self._has_ended.wait()
        await self._consumer.close(timeout)

    def _start_handlers(self) -> None:
        while self._goes_on and len(self._tasks) < self._max_concurrency and (work := self._queue.next()):
            task = asyncio.create_task(self._handle(work))
            self._tasks[task] = work
            task.add_done_callback(self._handler_ended)

    def _handler_ended(self, task: asyncio.Task[None]) -> None:
        work = self._tasks.pop(task)
        if task.cancelled():
            self._queue.abandon(work)
        elif (error := task.exception()) is not None:
            self._queue.abandon(work)
            self._note_failure(work.record, error)
            self._consumer.wakeup()
        else:
            self._queue.finish(work)
            if self._is_caught_up(work):
                self._consumer.wakeup()
        self._start_handlers()

    async def _handle(self, work: Work) -> None:
        while True:
            try:
                await self._handler(work.record)
                return
            except Exception as error:
                delay = self._retry_delay_seconds(work)
                if delay is None:
                    if self._on_failure is None:
                        raise
                    await self._on_failure(work.record, error)
                    return
            await asyncio.sleep(delay)

    async def _give_up_partitions(self, partitions: list[TopicPartition]) -> None:
        await self._drain(partitions)
        offsets = self._queue.committable(partitions)
        if offsets:
            try:
                await self._consumer.commit(offsets, timeout=self._drain_timeout_ms / 1000)
            except BarnabasError as error:
                self._committed(offsets, error)
        self._queue.forget(partitions)

    async def _lose_partitions(self, partitions: list[TopicPartition]) -> None:
        self._queue.give_up(partitions)
        await self._cancel(partitions)
        self._queue.forget(partitions)

    async def _drain(self, partitions: list[TopicPartition]) -> None:
        """Begins nothing more of these partitions, and waits for what is under way."""
        self._queue.give_up(partitions)
        tasks = self._tasks_of(partitions)
        if tasks:
            await asyncio.wait(tasks, timeout=self._drain_timeout_ms / 1000)
        self._warn_of_unfinished(partitions)
        await self._cancel(partitions)

    async def _cancel(self, partitions: list[TopicPartition]) -> None:
        tasks = self._tasks_of(partitions)
        for task in tasks:
            task.cancel()
        if tasks:
            _, pending = await asyncio.wait(tasks, timeout=CANCEL_SECONDS)
            for task in pending:
                record = self._tasks[task].record
                logger.warning(
                    "the handler of %s-%d at offset %d does not end although it was cancelled",
                    record.topic,
                    record.partition,
                    record.offset,
                )
        # Their done callbacks have run once the loop came round.
        await asyncio.sleep(0)

    def _tasks_of(self, partitions: list[TopicPartition]) -> list[asyncio.Task[None]]:
        return [task for task, work in self._tasks.items() if work.partition.partition in partitions]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
