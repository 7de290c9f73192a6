"""One open KafkaConsumer: the core's consumer for plain calls, with records as the kernel makes them for
kafka-python.

Owns what is lent to the kernel, which hands records out one by one, and when positions count them; which
errors of partitions a program hears of. The arguments and exceptions of the public methods are the facade's.

What is lent belongs to the thread that polls. Positions move when a loan ends, which every call sees to that
looks at them: so nothing is committed that was not handed out.
"""
# The methods of RecordPoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from barnabas._kernel import RecordPoller
from barnabas.broker_errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from barnabas.client.arguments import as_timeout_ms
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS, ConsumerCore
from barnabas.client.consume.consumer_front import ONE_FOR_EACH
from barnabas.client.consume.failures import Failure
from barnabas.client.consume.partition_state import PartitionState
from barnabas.client.groups.offset_commits import Offsets
from barnabas.client.groups.poll_watch import polled_by_two
from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.values.failures import commit_failure_of, failure_of, no_offset
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.errors import (
    BarnabasError,
    BootstrapError,
    CorruptBatchError,
    KafkaConnectionError,
    KafkaTimeoutError,
)
from barnabas.sync.consumer import Consumer
from barnabas.types import OffsetAndMetadata, TopicPartition

log = logging.getLogger("kafka.consumer.fetcher")

# How often a program that only iterates is seen to: whether it goes on, and for commits that are due.
PROGRESS_SECONDS = 0.5
RETRY_SECONDS = 1.0

RecordsByPartition = dict[Any, list[Any]]
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
        self._loan: PartitionState | None = None
        self._is_ending = False
        self._due_callbacks: deque[Callable[[], object]] = deque()
        super().__init__(**settings)
        self._partitions, self._buffer = self._core.partitions, self._core.buffer
        self._struct_of: dict[TopicPartition, Any] = {}
        core, poller_of = self._core, self._poller_of
        self._loop.call(
            lambda: core.client.in_background(_keep_in_touch(core, poller_of), "looking after an iteration")
        )

    def _refuse_nameless_group(self) -> None:
        """As in kafka-python, the broker refuses a group without a name, in the first poll."""

    def _notifier(self) -> Callable[[], None]:
        poller_of, wake = self._poller_of, self._waiting.wake

        def notify() -> None:
            poller = poller_of()
            if poller is not None:
                poller._attend()
            wake()

        return notify

    @property
    def core(self) -> ConsumerCore:
        return self._core

    @property
    def _poller(self) -> RecordPoller:
        """For calls that the poller itself makes."""
        poller = self._poller_of()
        assert poller is not None
        return poller

    # Records

    def take_records(self, max_records: int, timeout: float) -> RecordsByPartition:
        """Up to `max_records` records, by kafka-python's TopicPartition; waits up to `timeout` seconds for
        the first. Raises: what the core's poll raises; what a program is to see of errors of partitions."""
        self.serve_commits()
        try:
            return self._next(lambda: self._take(max_records), timeout) or {}
        except BaseException as error:
            self._interrupted(error)
            raise

    def next_record(self, timeout: float) -> Any | None:
        """The next record, and those behind it are lent; None after `timeout` seconds. Raises: as
        `take_records`."""
        # Before it is looked what there is to attend to: what comes up later is not forgotten.
        self._poller._attended()
        self.serve_commits()
        try:
            return self._next(self._lend_next, timeout)
        except BaseException as error:
            self._interrupted(error)
            raise

    def _take(self, max_records: int) -> RecordsByPartition:
        self._raise_failure()
        taken: RecordsByPartition = {}
        missing = max_records
        while missing > 0 and (lent := self._buffer.lend()):
            state, reader = lent
            try:
                records, refused = self._poller._take(reader, missing)
            except CorruptBatchError as error:
                self._buffer.stop(state, reader, error)
                if taken:
                    break
                self._raise_failure()
                continue
            is_exhausted = not records and refused is None
            self._buffer.settle(state, reader, len(records), is_exhausted=is_exhausted)
            if records:
                partition = self._struct(state.partition)
                taken[partition] = taken[partition] + records if partition in taken else records
                missing -= len(records)
            if refused is not None:
                offset, error = refused
                self._partitions.seek(state.partition, offset)
                if not taken:
                    raise error
                # It comes again, as the first of its poll.
                break
        return taken

    def _lend_next(self) -> Any | None:
        self._raise_failure()
        while lent := self._buffer.lend():
            state, reader = lent
            self._loan = state
            self._poller._lend(reader)
            try:
                record = self._poller._next_lent()
            except CorruptBatchError as error:
                self._end_loan()
                self._buffer.stop(state, reader, error)
                self._raise_failure()
                continue
            if record is not None:
                return record
            self._end_loan(is_exhausted=True)
        return None

    def was_refused(self, offset: int) -> None:
        """A deserializer raised an error for a record of the loan: it is the next one again."""
        state = self._loan
        self._end_loan()
        if state is not None:
            self._partitions.seek(state.partition, offset)

    def _struct(self, partition: TopicPartition) -> Any:
        struct = self._struct_of.get(partition)
        if struct is None:
            struct = self._struct_of[partition] = STRUCTS["TopicPartition"](*partition)
        return struct

    def _give_back(self) -> None:
        """Positions are exact from here on. Raises: MisuseError while another thread polls."""
        if not self._polls.acquire(blocking=False):
            raise polled_by_two(ONE_FOR_EACH)
        try:
            self._end_loan()
        finally:
            self._polls.release()

    def _end_loan(self, *, is_exhausted: bool = False) -> None:
        state, self._loan = self._loan, None
        poller = self._poller_of()
        returned = None if poller is None else poller._take_back()
        if state is None or returned is None:
            return
        _, reader, taken, next_offset, _ = returned
        if taken or is_exhausted:
            self._buffer.settle(state, reader, taken, is_exhausted=is_exhausted)
        being_made = poller._being_made if self._is_ending and poller is not None else None
        if being_made is not None:
            # Another thread makes it, and its deserializer may refuse it yet: it does not count.
            self._partitions.seek(state.partition, being_made)
        elif taken:
            # All but the last: that is what the program has in hand.
            self._partitions.note_handled({state.partition: OffsetAndMetadata(next_offset - 1)})

    # Errors of partitions

    def _raise_failure(self) -> None:
        while (failure := self._partitions.failures.take()) is not None:
            error = self._error_of(failure)
            if error is not None:
                raise error

    def _error_of(self, failure: Failure) -> BaseException | None:
        """What a program sees of it. None for what a consumer of kafka-python only logs, and tries again."""
        error, partition = failure.error, failure.partition
        if partition is not None:
            # What is wrong is asked for again, and told again, until it is not any more.
            loop, go_on = self._loop, partial(self._partitions.try_again, partition)
            loop.call(lambda: loop.loop.call_later(RETRY_SECONDS, go_on))
        if isinstance(error, OffsetOutOfRangeError) and partition is not None:
            if failure.position < 0:
                return no_offset(self._struct(partition))
            return CLASSES["OffsetOutOfRangeError"]({self._struct(partition): failure.position})
        if isinstance(
            error,
            (UnknownTopicOrPartitionError, KafkaConnectionError, BootstrapError, KafkaTimeoutError),
        ):
            log.warning("%s", error)
            return None
        return failure_of(error)

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
        return self._partitions.positions()

    # The end

    def end(self, *, commit: bool, timeout: float | None) -> None:
        """`close`, with or without a last commit of what was handed out. `timeout` in seconds."""
        self._is_ending = True
        timeout_ms = as_timeout_ms(timeout, CLOSE_TIMEOUT_MS)
        self._close(self._closing(timeout_ms, commit=commit), is_hurried=timeout is None)
        self.serve_commits()


async def _keep_in_touch(core: ConsumerCore, poller_of: Callable[[], RecordPoller | None]) -> None:
    """Records that the kernel hands out alone leave no other trace, and keep nobody from committing."""
    seen = 0
    while not core.is_closed:
        await asyncio.sleep(PROGRESS_SECONDS)
        poller = poller_of()
        if poller is None:
            return
        if poller._handed_out != seen:
            seen = poller._handed_out
            core.note_progress()
            poller._attend()
        del poller
