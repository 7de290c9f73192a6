"""The ParallelConsumer for plain calls: handlers in threads.

Owns the threads. The order of records is `work_queue`'s; what is asked and committed when,
`parallel_front`'s.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Generic, Self, Unpack

from barnabas._kernel import Record
from barnabas.client.cluster.lifetimes import closed_on_error
from barnabas.client.consume.parallel_front import (
    POLL_SECONDS,
    NotTriedAgainError,
    ParallelFront,
    refuse_automatic_commits,
)
from barnabas.client.consume.work_queue import Ordering, Work
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, MisuseError
from barnabas.settings.keywords import ConsumerSettings
from barnabas.sync.consumer import Consumer
from barnabas.types import K, TopicPartition, V

# Python sees Ctrl-C only when a wait ends that had all but begun, or if another thread took the signal.
LOOK_SECONDS = 0.1


class ParallelConsumer(ParallelFront, Generic[K, V]):
    """Has a function handle records side by side in threads, those of one key in their order; at least once.

    `handler(record)` is called for each record, in up to `max_concurrency` threads. `ordering`: by "key"
    records of one key in one partition wait for each other, and records without a key for nobody; by
    "partition" those of one partition; by "none" none. A commit names the lowest offset that is not finished,
    so what was handled beyond it is handled again after a crash. `max_backlog`: a partition with so many
    records read and not handled is paused.

    A record whose handler raises is tried again `retries` times, with back-off (retry_backoff_ms), while only
    its key waits. After that `on_failure(record, error)` is called, and the record counts as handled; without
    it, or when it raises too, `run` stops and raises the error, and the record is not committed.

    When partitions are given up, no more of their records begin; handlers under way have `drain_timeout_ms`,
    and run on after that, as a thread cannot be ended: their records are handled again elsewhere.

    Other settings: `barnabas.settings.table.ConsumerConfig`, except for enable_auto_commit; commits are made
    every auto_commit_interval_ms. Raises: UnknownSettingError, InvalidSettingError.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        handler: Callable[[Record[K, V]], object],
        *,
        group_id: str,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        max_concurrency: int = 16,
        ordering: Ordering = "key",
        max_backlog: int = 1_000,
        retries: int = 0,
        on_failure: Callable[[Record[K, V], Exception], object] | None = None,
        drain_timeout_ms: int = 30_000,
        **settings: Unpack[ConsumerSettings[K, V]],
    ) -> None:
        refuse_automatic_commits(settings)
        settings["enable_auto_commit"] = False
        self._consumer = Consumer(bootstrap_servers, group_id=group_id, **settings)
        with closed_on_error(self._consumer):
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
            self._lock = threading.Lock()
            """Of the work queue."""
            self._has_work = threading.Condition(self._lock)
            self._has_finished = threading.Condition(self._lock)
            self._ends = threading.Event()
            """No handler is to begin, or to be tried again, any more."""
            self._has_ended = threading.Event()
            self._has_ended.set()
            self._waits_for_handlers = True
            self._consumer.subscribe(
                topics, pattern=pattern, on_revoked=self._give_up_partitions, on_lost=self._lose_partitions
            )

    def run(self) -> None:
        """Reads and handles until `stop`. Raises: what a handler raised (see the class), and what
        `Consumer.poll` raises; handlers that are under way are waited for first."""
        if not self._has_ended.is_set():
            raise MisuseError("run() runs already")
        try:
            # In here, so that Ctrl-C at any line leaves nobody waiting for the end.
            self._has_ended.clear()
            for number in range(self._max_concurrency):
                name = f"barnabas-handler-{number}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            while self._goes_on:
                records = self._consumer.poll(POLL_SECONDS)
                with self._lock:
                    self._take_in(records)
                    self._has_work.notify(len(records))
                    self._hold_back()
                    offsets = self._due_commit()
                if offsets:
                    self._consumer.commit_async(offsets, self._committed)
        finally:
            try:
                self._end_handlers()
            except BaseException:
                # Ctrl-C once more: whoever closes next does not wait for them either.
                self._waits_for_handlers = False
                raise
            finally:
                self._has_ended.set()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Has `run` return when the handlers under way have finished. Any thread, and any handler."""
        self._is_stopping = True
        self._consumer.wakeup()

    def close(self, timeout: float | None = None) -> None:
        """Stops `run`, commits what was handled and leaves the group, within drain_timeout_ms and `timeout`
        seconds (30). May be called twice."""
        self.stop()
        self._has_ended.wait()
        self._consumer.close(timeout)

    def _end_handlers(self) -> None:
        self._is_stopping = True
        self._ends.set()
        with self._lock:
            self._has_work.notify_all()
        self._drain(self._consumer.assignment())

    # In the handlers' threads

    def _work(self) -> None:
        while True:
            with self._lock:
                while (work := None if self._ends.is_set() else self._queue.next()) is None:
                    if self._ends.is_set():
                        return
                    self._has_work.wait()
            error = self._handle(work)
            with self._lock:
                if error is None:
                    self._queue.finish(work)
                    wakes = self._is_caught_up(work)
                else:
                    self._queue.abandon(work)
                    self._note_failure(work.record, error)
                    wakes = True
                self._has_work.notify()
                self._has_finished.notify_all()
            if wakes:
                self._consumer.wakeup()

    def _handle(self, work: Work) -> BaseException | None:
        """The error that ends `run`, if there is one."""
        while True:
            try:
                self._handler(work.record)
                return None
            except Exception as error:
                try:
                    delay = self._retry_delay_seconds(work)
                except NotTriedAgainError as left:
                    return left
                if delay is None:
                    return self._handle_failure(work, error)
            except BaseException as error:
                return error
            self._ends.wait(delay)

    def _handle_failure(self, work: Work, error: Exception) -> BaseException | None:
        if self._on_failure is None:
            return error
        try:
            self._on_failure(work.record, error)
        except BaseException as raised:
            return raised
        return None

    # When partitions are given up, in the thread that polls

    def _give_up_partitions(self, partitions: list[TopicPartition]) -> None:
        self._drain(partitions)
        with self._lock:
            offsets = self._queue.committable(partitions)
        if offsets:
            try:
                self._consumer.commit(offsets, timeout=self._drain_timeout_ms / 1000)
            except BarnabasError as error:
                self._committed(offsets, error)
        with self._lock:
            self._queue.forget(partitions)

    def _lose_partitions(self, partitions: list[TopicPartition]) -> None:
        with self._lock:
            self._queue.give_up(partitions)
            self._queue.forget(partitions)

    def _drain(self, partitions: list[TopicPartition]) -> None:
        """Begins nothing more of these partitions, and waits for what is under way."""
        seconds = self._drain_timeout_ms / 1000 if self._waits_for_handlers else 0
        with self._lock:
            self._queue.give_up(partitions)
            deadline = CLOCK.monotonic() + seconds
            while self._queue.under_way(partitions) and (left := deadline - CLOCK.monotonic()) > 0:
                self._has_finished.wait(min(left, LOOK_SECONDS))
            self._warn_of_unfinished(partitions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
