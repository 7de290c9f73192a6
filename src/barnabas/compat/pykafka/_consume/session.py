"""A SimpleConsumer between start and stop: the core's consumer for plain calls, which reads partitions from
given offsets, with messages as the kernel makes them for pykafka.

Owns the order of threads. What is lent to the kernel, which hands messages out one by one, is in
`message_loans`. What offsets mean, and when they are committed, is the SimpleConsumer's: no group is known
here.
"""
# The methods of PartitionPoller that are not for programs have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Generator, Mapping
from typing import Any
from uuid import UUID

from barnabas._kernel import PartitionPoller
from barnabas.client.cluster.lifetimes import Lifetime
from barnabas.client.consume.consumer_core import CLOSE_TIMEOUT_MS
from barnabas.compat.pykafka._consume.auto_commits import AutoCommits, Commit
from barnabas.compat.pykafka._consume.message_loans import HeldOffset, MessageLoans
from barnabas.compat.pykafka._consume.turns import Turns
from barnabas.compat.pykafka._network.ending import LastSteps
from barnabas.compat.pykafka._network.outage import Outage
from barnabas.compat.pykafka._produce.failures import failure_of
from barnabas.errors import BarnabasError
from barnabas.loop_thread import Steps, is_on_loop_thread
from barnabas.sync.consumer import Consumer
from barnabas.sync.reader_loans import attending
from barnabas.types import TopicPartition

# Between two looks of a greenlet, whose hub a wait in the kernel would hold up.
GREENLET_SECONDS = 0.005
# How long the end of the interpreter waits for a thread that reads, which may be in a deserializer.
READER_SECONDS = 1.0


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
        super().__init__(**settings)
        self._partitions = self._core.partitions
        self._loans = MessageLoans(self._core, self._poller_of, held)
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
            self._loans.take_back()
        if self._commits is not None and commits:
            yield self._commits.make_last()
        yield self._end_core()

    def _notifier(self) -> Callable[[], None]:
        return attending(self._poller_of, self._waiting.wake)

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
            self._loans.take_back()
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
            message = self._loans.next_lent()
            if message is None:
                message = self._next(self._loans.next, timeout)
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
            if not self._loans.is_lent:
                self._next(self._something, timeout)
                self._is_woken = False

    def _something(self) -> bool | None:
        return self._core.buffer.has_data or None

    def next_for_greenlet(self, timeout: float, sleep: Callable[[float], object]) -> Any | None:
        """The same for a thread that others share, who go on while `sleep` is called."""
        deadline = time.monotonic() + timeout
        while (message := self.next_message(0)) is None and time.monotonic() < deadline:
            sleep(GREENLET_SECONDS)
        return message

    def _give_back(self) -> None:
        self._loans.take_back()

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
            self._loans.take_back()

    def end(self) -> None:
        """Hands out nothing any more; a thread that reads returns."""
        if is_on_loop_thread():
            # Wherever the collector happens to run, the loop does not wait for itself.
            self._life.end()
            self._loop.submit(self._core.close())
            return
        self.hold()
        self._close(self._closing(CLOSE_TIMEOUT_MS, commit=False), is_hurried=False)
