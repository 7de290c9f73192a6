"""One open KafkaConsumer: the core's consumer for plain calls, with records as the kernel makes them for
kafka-python.

Owns commits and their callbacks. What is lent to the kernel, which hands records out one by one, is in
`record_loans`. The arguments and exceptions of the public methods are the facade's.
"""
# The methods of RecordPoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from barnabas._kernel import RecordPoller
from barnabas.client.arguments import as_timeout_ms
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS, ConsumerCore
from barnabas.client.consume.consumer_front import ONE_FOR_EACH
from barnabas.client.groups.offset_commits import Offsets
from barnabas.client.groups.poll_watch import polled_by_two
from barnabas.compat.kafka_engine.consume.record_loans import RecordLoans, RecordsByPartition
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.failures import commit_failure_of
from barnabas.errors import BarnabasError
from barnabas.sync.consumer import Consumer
from barnabas.sync.reader_loans import attending, watch_progress
from barnabas.types import OffsetAndMetadata, TopicPartition

CommitCallback = Callable[[Any, Any], object] | None


class Completed(Protocol):
    """A Future of the facade."""

    def success(self, value: Any) -> object: ...
    def failure(self, e: Any) -> object: ...


class RecordSession(Consumer):
    """`poller`: the program's KafkaConsumer, which is not kept alive by this."""

    def __init__(self, poller: RecordPoller, settings: Mapping[str, Any]) -> None:
        """Raises: what the core's Consumer raises for `settings`."""
        self._poller_of = weakref.ref(poller)
        self._due_callbacks: deque[Callable[[], object]] = deque()
        super().__init__(**settings)
        self.loans = RecordLoans(self._core, self._poller_of)
        core, poller_of = self._core, self._poller_of
        # A program that only iterates has commits that are due, too.
        watch = partial(watch_progress, core, poller_of, attends=True)
        self._loop.call(lambda: core.client.in_background(watch(), "looking after an iteration"))

    def _refuse_nameless_group(self) -> None:
        """As in kafka-python, the broker refuses a group without a name, in the first poll."""

    def _notifier(self) -> Callable[[], None]:
        return attending(self._poller_of, self._waiting.wake)

    @property
    def core(self) -> ConsumerCore:
        return self._core

    # Records

    def take_records(self, max_records: int, timeout: float) -> RecordsByPartition:
        """Up to `max_records` records, by kafka-python's TopicPartition; waits up to `timeout` seconds for
        the first. Raises: what the core's poll raises; what a program is to see of errors of partitions."""
        self.serve_commits()
        try:
            return self._next(lambda: self.loans.take(max_records), timeout) or {}
        except BaseException as error:
            self._interrupted(error)
            raise

    def next_record(self, timeout: float) -> Any | None:
        """The next record, and those behind it are lent; None after `timeout` seconds. Raises: as
        `take_records`."""
        # Before it is looked what there is to attend to: what comes up later is not forgotten.
        self.loans.poller._attended()
        self.serve_commits()
        try:
            return self._next(self.loans.next, timeout)
        except BaseException as error:
            self._interrupted(error)
            raise

    def _give_back(self) -> None:
        """Positions are exact from here on. Raises: MisuseError while another thread polls."""
        if not self._polls.acquire(blocking=False):
            raise polled_by_two(ONE_FOR_EACH)
        try:
            self.loans.take_back()
        finally:
            self._polls.release()

    # Commits

    def start_commit(self, offsets: Offsets, told: Any, callback: CommitCallback, future: Completed) -> None:
        """Commits `offsets`, which are `told` to `callback` with the result in a later call."""
        core = self._core

        def finish(_: Offsets, error: BarnabasError | None) -> None:
            if error is None:
                result = generation().commit_result
                future.success(result)
            else:
                result = commit_failure_of(error)
                future.failure(result)
            if callback is None:
                return
            self._due_callbacks.append(partial(callback, told, result))
            if poller := self._poller_of():
                poller._attend()

        def take_finished(_: object) -> None:
            for on_commit, committed, error in core.commits.take_finished():
                on_commit(committed, error)

        # Here: the positions are of this thread's last poll.
        topic_ids = core.partitions.topic_ids()

        def start() -> None:
            core.partitions.note_handled(offsets)
            timeout_ms = self.config.default_api_timeout_ms
            task = core.commits.start(offsets, timeout_ms, finish, topic_ids=topic_ids)
            if generation().futures_are_done_by_another_thread:
                task.add_done_callback(take_finished)

        self._loop.call(start)

    def serve_commits(self) -> None:
        """Runs the callbacks of commits that are done."""
        for on_commit, offsets, error in self._core.commits.take_finished():
            on_commit(offsets, error)
        while self._due_callbacks:
            self._due_callbacks.popleft()()

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Of all assigned partitions that have one."""
        self._give_back()
        return self._core.partitions.positions()

    # The end

    def end(self, *, commit: bool, timeout: float | None) -> None:
        """`close`, with or without a last commit of what was handed out. `timeout` in seconds."""
        self.loans.is_ending = True
        timeout_ms = as_timeout_ms(timeout, CLOSE_TIMEOUT_MS)
        self._close(self._closing(timeout_ms, commit=commit), is_hurried=timeout is None)
        self.serve_commits()
