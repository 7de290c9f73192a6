"""MultiProcessConsumer of kafka-python 1: processes that read, and one program that gets what they read.

Each process has a client and a SimpleConsumer of its own, which commit nothing: offsets are committed by the
program's process, for messages that the program got. None of them outlives the program.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait
from multiprocessing.managers import SyncManager
from typing import Any, NamedTuple

from barnabas.compat.kafka.consumer.base import (
    AUTO_COMMIT_INTERVAL,
    AUTO_COMMIT_MSG_COUNT,
    FULL_QUEUE_WAIT_TIME_SECONDS,
    MAX_BACKOFF_SECONDS,
    NO_MESSAGES_WAIT_TIME_SECONDS,
    Consumer,
)
from barnabas.compat.kafka.consumer.simple import SimpleConsumer
from barnabas.compat.kafka.errors import (  # pyright: ignore[reportAttributeAccessIssue]
    KafkaError,  # pyright: ignore[reportUnknownVariableType]
)

__all__ = ["Events", "MultiProcessConsumer"]

log = logging.getLogger("kafka.consumer.multiprocess")


class Events(NamedTuple):
    """What the processes wait for: to begin, to go on after so many messages as were asked for, to end."""

    start: Any
    pause: Any
    exit: Any


_QUEUED_MESSAGES = 1024
_FIRST_BACKOFF_SECONDS = 1
_LOOK_SECONDS = 1.0
# Programs for 1.2 begin processes without asking whether they are the main module.
_METHOD = "fork" if "fork" in multiprocessing.get_all_start_methods() else None


class MultiProcessConsumer(Consumer):
    """A Consumer that has `num_procs` processes read, or one for each `partitions_per_proc` partitions.
    `simple_consumer_options`: those of their SimpleConsumers."""

    def __init__(
        self,
        client: Any,
        group: Any,
        topic: Any,
        partitions: Iterable[int] | None = None,
        auto_commit: bool = True,
        auto_commit_every_n: int | None = AUTO_COMMIT_MSG_COUNT,
        auto_commit_every_t: float | None = AUTO_COMMIT_INTERVAL,
        num_procs: int = 1,
        partitions_per_proc: int = 0,
        **simple_consumer_options: Any,
    ) -> None:
        self.procs: list[Any] = []
        super().__init__(
            *(client, group, topic),
            partitions=partitions,
            auto_commit=auto_commit,
            auto_commit_every_n=auto_commit_every_n,
            auto_commit_every_t=auto_commit_every_t,
        )
        wanted = list(self.offsets)
        if partitions_per_proc:
            num_procs = -(-len(wanted) // partitions_per_proc)
        options = dict(simple_consumer_options)
        options.pop("partitions", None)
        processes: Any = multiprocessing.get_context(_METHOD)
        with warnings.catch_warnings():
            # A child makes a thread of its own where it needs one, and uses none of this process.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._manager = SyncManager(ctx=processes)
            self._manager.start(_end_manager_with_program)
            self.queue = self._manager.Queue(_QUEUED_MESSAGES)
            self.events = Events(
                start=self._manager.Event(), pause=self._manager.Event(), exit=self._manager.Event()
            )
            self.size = self._manager.Value("i", 0)
            for number in range(num_procs):
                chunk = wanted[number::num_procs]
                arguments = (client.copy(), group, topic, self.queue, self.size, self.events)
                process = processes.Process(
                    target=_consume, args=arguments, kwargs={"partitions": chunk, **options}, daemon=True
                )
                process.start()
                self.procs.append(process)
        # What is registered last runs first: `multiprocessing` ends the manager when the program ends.
        atexit.unregister(self.stop)
        atexit.register(self.stop)

    def __repr__(self) -> str:
        count = len(self.procs)
        return f"<MultiProcessConsumer group={self.group}, topic={self.topic}, consumers={count}>"

    def stop(self) -> None:
        """Ends the processes, and commits for the last time."""
        if self.procs:
            self.events.exit.set()
            self.events.pause.set()
            self.events.start.set()
            for process in self.procs:
                process.join()
            self.procs = []
            self._manager.shutdown()
        super().stop()

    def __iter__(self) -> Iterator[Any]:
        """Messages until none has come for a second."""
        self.size.value = 0
        self.events.pause.set()
        while True:
            self.events.start.set()
            try:
                partition, message = self.queue.get(block=True, timeout=1)
            except queue.Empty:
                break
            self.offsets[partition] = message.offset + 1
            self.events.start.clear()
            self._count(1)
            self._auto_commit()
            yield message
        self.events.start.clear()

    def get_messages(self, count: int = 1, block: Any = True, timeout: float | None = 10) -> list[Any]:
        """Up to `count` messages. With `block` it waits for all of them, or for so many where it is a number,
        for `timeout` seconds (None: without end)."""
        # Each process reads so many at most, and what is not taken now is there the next time.
        self.size.value = count
        self.events.pause.clear()
        deadline = None if timeout is None else time.monotonic() + timeout
        messages: list[Any] = []
        offsets: dict[int, int] = {}
        while len(messages) < count:
            remaining = None if deadline is None else deadline - time.monotonic()
            if remaining is not None and remaining <= 0:
                break
            if self.queue.empty():
                self.events.start.set()
            is_waiting = block is True or block > len(messages)
            try:
                partition, message = self.queue.get(is_waiting, remaining)
            except queue.Empty:
                break
            messages.append((partition, message) if self.partition_info else message)
            offsets[partition] = message.offset + 1
        self.size.value = 0
        self.events.start.clear()
        self.events.pause.set()
        self.offsets.update(offsets)
        self._count(len(messages))
        self._auto_commit()
        return messages


def _when_program_is_gone(end: Callable[[], object]) -> None:
    """Has a thread of this process call `end` once the process that began it has ended, killed or not."""
    program = multiprocessing.parent_process()
    assert program is not None

    def watch() -> None:
        # The pipe tells it at once, but stays open in processes that the program forked after this one.
        while os.getppid() == program.pid and not wait([program.sentinel], _LOOK_SECONDS):
            pass
        end()

    threading.Thread(target=watch, name="end with the program", daemon=True).start()


def _end_manager_with_program() -> None:
    def end(*_: object) -> None:
        sys.exit()

    # By way of its main thread, which removes the manager's files.
    signal.signal(signal.SIGTERM, end)
    _when_program_is_gone(lambda: os.kill(os.getpid(), signal.SIGTERM))


def _consume(
    client: Any, group: Any, topic: Any, messages: Any, size: Any, events: Any, **options: Any
) -> None:
    """What a process does."""
    _when_program_is_gone(lambda: os._exit(0))  # It has nothing to finish, and may wait for anything.
    warnings.simplefilter("ignore", DeprecationWarning)
    backoff_seconds = _FIRST_BACKOFF_SECONDS
    offsets: dict[int, int] = {}
    try:
        while not events.exit.is_set():
            try:
                client.reinit()
                consumer = SimpleConsumer(
                    *(client, group, topic),
                    auto_commit=False,
                    auto_commit_every_n=None,
                    auto_commit_every_t=None,
                    **options,
                )
                consumer.provide_partition_info()
                _go_on_from(consumer, offsets)
                _read(consumer, offsets, messages, size, events)
                consumer.stop()
            except KafkaError as error:
                log.error(
                    "Problem communicating with Kafka (%s), retrying in %d seconds...", error, backoff_seconds
                )
                time.sleep(backoff_seconds)
                backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)
    except (EOFError, OSError):
        # The program is gone, and its manager.
        log.debug("no program takes messages of %s any more", topic)
    finally:
        client.close()


def _go_on_from(consumer: SimpleConsumer, offsets: dict[int, int]) -> None:
    """What was read before an error is with the program already, though it may not be committed."""
    consumer.offsets.update(offsets)
    consumer.fetch_offsets.update(offsets)


def _read(consumer: SimpleConsumer, offsets: dict[int, int], messages: Any, size: Any, events: Any) -> None:
    """Until the program wants no more."""
    count = 0
    while True:
        events.start.wait()
        if events.exit.is_set():
            return
        found = consumer.get_message()
        if found is None:
            time.sleep(NO_MESSAGES_WAIT_TIME_SECONDS)
            continue
        while True:
            try:
                messages.put(found, timeout=FULL_QUEUE_WAIT_TIME_SECONDS)
            except queue.Full:
                if events.exit.is_set():
                    return
            else:
                break
        partition, message = found
        offsets[partition] = message.offset + 1
        count += 1
        # The program may be slow to say that it has enough.
        if count >= size.value > 0:
            count = 0
            events.pause.wait()
