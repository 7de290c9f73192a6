"""A SimpleConsumer between start and stop: the core's consumer for plain calls, which reads partitions from
given offsets, with messages as the kernel makes them for pykafka.

Owns what is lent to the kernel, which hands messages out one by one, and the order of threads. What offsets
mean, and when they are committed, is the SimpleConsumer's: no group is known here.
"""
# The methods of PartitionPoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from barnabas._kernel import PartitionPoller
from barnabas.broker_errors import OffsetOutOfRangeError
from barnabas.client.cluster.lifetimes import Lifetime
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS
from barnabas.client.consume.failures import Failure
from barnabas.client.consume.partition_state import PartitionState
from barnabas.compat.pykafka._consume.auto_commits import AutoCommits, Commit
from barnabas.compat.pykafka._consume.turns import Turns
from barnabas.compat.pykafka._network.ending import LastSteps
from barnabas.compat.pykafka._network.outage import Outage
from barnabas.compat.pykafka._produce.failures import failure_of, is_of_connection
from barnabas.errors import BarnabasError, CorruptBatchError
from barnabas.loop_thread import Steps, is_on_loop_thread
from barnabas.sync.consumer import Consumer
from barnabas.types import TopicPartition

RETRY_SECONDS = 0.5
# Between two looks of a greenlet, whose hub a wait in the kernel would hold up.
GREENLET_SECONDS = 0.005
# How long the end of the interpreter waits for a thread that reads, which may be in a deserializer.
READER_SECONDS = 1.0


class HeldOffset:
    """How far a partition was consumed: what is known of ended loans, and of one that goes on.

    Any thread may ask. A loan ends, and an offset is set, under the lock, so that whoever asks meanwhile
    gets what was before or what is after.
    """

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._offset = -1
        self.topic_id: UUID | None = None
        """Of the topic that it was lent from; None since it was set."""
        self._loan: int | None = None
        self._poller_of: Callable[[], PartitionPoller | None] = _nobody

    def get(self) -> int:
        with self._lock:
            poller = None if self._loan is None else self._poller_of()
            progress = None if poller is None else poller._progress
            if progress is not None and progress[0] == self._loan:
                self._offset = progress[2] - 1
            return self._offset

    def set(self, offset: int) -> None:
        """While nothing is lent."""
        with self._lock:
            self._offset = offset
            self.topic_id = None

    def lent(self, loan: int, poller_of: Callable[[], PartitionPoller | None], topic_id: UUID | None) -> None:
        with self._lock:
            self._poller_of = poller_of
            self._loan = loan
            self.topic_id = topic_id

    def take_back(self, poller: PartitionPoller) -> tuple[Any, int]:
        """Ends the loan: its reader, and how many messages were handed out of it."""
        with self._lock:
            self._loan = None
            returned = poller._take_back()
            if returned is None:
                return None, 0
            _, reader, taken, next_offset, _ = returned
            if taken:
                self._offset = next_offset - 1
            return reader, taken


def _nobody() -> None:
    return None


class OutOfRange(Exception):
    """The partition of this number has nothing at its position."""

    def __init__(self, partition_id: int) -> None:
        super().__init__(partition_id)
        self.partition_id = partition_id


class MessageSession(Consumer):
    """`poller`: the program's SimpleConsumer, which is not kept alive by this. `held`: of each partition, by
    number, of one topic."""

    def __init__(
        self, poller: PartitionPoller, settings: Mapping[str, Any], topic: str, held: Mapping[int, HeldOffset]
    ) -> None:
        """Raises: what the core's Consumer raises for `settings`."""
        self._poller_of = weakref.ref(poller)
        self._topic = topic
        self._held = held
        self._loan: PartitionState | None = None
        super().__init__(**settings)
        self._partitions, self._buffer = self._core.partitions, self._core.buffer
        self._turns = Turns(self.wakeup)
        self._commits: AutoCommits | None = None
        self._outage = self._on_loop(lambda: Outage(self._client))

    def __del__(self) -> None:
        # Without a warning: programs for pykafka may drop a consumer that they do not stop.
        core = getattr(self, "_core", None)
        if core is not None and not core.is_closed:
            if self._commits is not None:
                self._loop.call(self._commits.end)
            self._life.end()
            self._loop.submit(core.close())

    def leave_end_to_owner(self) -> None:
        """At the end of the interpreter, whoever calls `steps_at_exit` closes this one."""
        self._life.end()

    def _steps_at_exit(self) -> Steps:
        return self.steps_at_exit()

    def steps_at_exit(self, *, commits: bool = True) -> Steps:
        """When the interpreter ends: what was handed out is committed, where that is done by the clock, as if
        the program had stopped its consumer. `commits`: False for partitions that may be another's."""
        if self._core.is_closed:
            return
        poller: Any = self._poller_of()
        if poller is not None:
            poller._running = False
            poller._session = None
        if self._turns.claim_for_good(READER_SECONDS):
            self._end_loan()
        if self._commits is not None and commits:
            yield self._commits.make_last()
        yield self._end_core()

    def _notifier(self) -> Callable[[], None]:
        poller_of, wake = self._poller_of, self._waiting.wake

        def notify() -> None:
            poller = poller_of()
            if poller is not None:
                poller._attend()
            wake()

        return notify

    def read_from(self, offsets: Mapping[int, int]) -> None:
        """Reads these partitions from now on."""
        wanted = {TopicPartition(self._topic, number): offset for number, offset in offsets.items()}

        def assign() -> None:
            self._core.assign(list(wanted))
            for partition, offset in wanted.items():
                self._partitions.seek(partition, offset)

        self._on_loop(assign)

    def move(self, offsets: Mapping[int, int]) -> None:
        """Sets how far partitions were consumed; what was fetched of them is dropped."""
        with self._turns.claimed():
            self._end_loan()
            for number, offset in offsets.items():
                # In this order: no offset in a topic that is gone seems to be one in the topic made again.
                self._partitions.seek(TopicPartition(self._topic, number), max(offset + 1, 0))
                self._held[number].set(offset)

    @property
    def topic_id(self) -> UUID | None:
        """Of the topic that has the name now, as far as is known here (KIP-516)."""
        states = self._partitions.states()
        known = [each.next_topic_id for each in states] + [each.topic_id for each in states]
        return next((each for each in known if each is not None), None)

    def is_in_topic(self, number: int) -> bool:
        """Whether what was consumed of the partition was in the topic that has the name now. One that was
        deleted and created again has other messages at the same offsets."""
        state = self._partitions.state(TopicPartition(self._topic, number))
        topic_id = self._held[number].topic_id or state.topic_id
        return topic_id is None or topic_id == self.topic_id

    def next_message(self, timeout: float) -> Any | None:
        """The next message, and those behind it are lent; None after `timeout` seconds, or earlier.

        Raises: OutOfRange; what a program is to see of errors; what its deserializer raises.
        """
        with self._turns.reading():
            poller = self._poller_of()
            if poller is None:
                return None
            # Before it is looked what there is to attend to: what comes up later is not forgotten.
            poller._attended()
            message = poller._next_lent() if self._loan is not None else None
            if message is None:
                message = self._next(self._lend_next, timeout)
                self._is_woken = False
                if message is None and (error := self._outage.error) is not None:
                    raise failure_of(error)
            return message

    def await_messages(self, timeout: float) -> None:
        """Returns when there is something to hand out, or after `timeout` seconds; at once where a thread
        waits for a message already."""
        if self._turns.is_taken:
            return
        with self._turns.reading():
            if self._loan is None:
                self._next(self._something, timeout)
                self._is_woken = False

    def _something(self) -> bool | None:
        return self._buffer.has_data or None

    def next_for_greenlet(self, timeout: float, sleep: Callable[[float], object]) -> Any | None:
        """The same for a thread that others share, who go on while `sleep` is called."""
        deadline = time.monotonic() + timeout
        while (message := self.next_message(0)) is None and time.monotonic() < deadline:
            sleep(GREENLET_SECONDS)
        return message

    def _lend_next(self) -> Any | None:
        self._raise_failure()
        poller = self._poller_of()
        while poller is not None and (lent := self._buffer.lend()):
            state, reader = lent
            self._loan = state
            held = self._held[state.partition.partition]
            held.lent(poller._lend(reader), self._poller_of, state.topic_id)
            try:
                message = poller._next_lent()
            except CorruptBatchError as error:
                self._end_loan()
                self._buffer.stop(state, reader, error)
                self._raise_failure()
                continue
            if message is not None:
                return message
            self._end_loan(is_exhausted=True)
        return None

    def _give_back(self) -> None:
        self._end_loan()

    def _end_loan(self, *, is_exhausted: bool = False) -> None:
        state, self._loan = self._loan, None
        poller = self._poller_of()
        if state is None or poller is None:
            return
        reader, taken = self._held[state.partition.partition].take_back(poller)
        if reader is not None and (taken or is_exhausted):
            self._buffer.settle(state, reader, taken, is_exhausted=is_exhausted)

    def _raise_failure(self) -> None:
        while (failure := self._partitions.failures.take()) is not None:
            error = self._error_of(failure)
            if error is not None:
                raise error

    def _error_of(self, failure: Failure) -> BaseException | None:
        """What a program sees of it; None for what the original asks again for."""
        error, partition = failure.error, failure.partition
        if partition is not None:
            if isinstance(error, OffsetOutOfRangeError):
                return OutOfRange(partition.partition)
            loop, go_on = self._loop, partial(self._partitions.try_again, partition)
            loop.call(lambda: loop.loop.call_later(RETRY_SECONDS, go_on))
        if is_of_connection(error):
            return None
        return failure_of(error)

    def commit_every(
        self,
        seconds: float,
        group: str,
        due: Callable[[], Commit],
        failed: Callable[[BarnabasError], object],
    ) -> None:
        """Commits by the clock from now on, and at the end of the interpreter; see AutoCommits."""
        self._commits = self._on_loop(lambda: AutoCommits(self._client, seconds, due, failed))
        self._life.end()
        what = f"consumer of {self._topic!r}"
        self._life = Lifetime(self._steps_at_exit, what, self._loop, LastSteps(group, 1))

    @contextlib.contextmanager
    def commits_held(self) -> Generator[None]:
        """None is made by the clock inside."""
        commits = self._commits
        if commits is None:
            yield
            return
        self._loop.run(commits.hold(), what="consumer")
        try:
            yield
        finally:
            self._loop.call(commits.let_go)

    def end_commits(self) -> None:
        """None is made by the clock any more; one that is under way is over when this returns."""
        commits = self._commits
        if commits is not None:
            with self.commits_held():
                self._loop.call(commits.end)

    def hold(self) -> None:
        """Hands out nothing any more; what was handed out counts."""
        with self._turns.claimed():
            self._end_loan()

    def end(self) -> None:
        """Hands out nothing any more; a thread that reads returns."""
        if is_on_loop_thread():
            # Wherever the collector happens to run, the loop does not wait for itself.
            self._life.end()
            self._loop.submit(self._core.close())
            return
        self.hold()
        self._close(self._closing(CLOSE_TIMEOUT_MS, commit=False), is_hurried=False)
