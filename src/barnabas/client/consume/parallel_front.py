"""What both ParallelConsumers share: what is asked of them, when partitions pause, when commits are due, when
a record is tried again.

Must not know how its fronts run handlers: one has threads, the other tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barnabas._kernel import Record
from barnabas.backoff import Backoff
from barnabas.client.arguments import check_callbacks
from barnabas.client.cluster.lifetimes import OfThisProcess
from barnabas.client.consume.consumer_front import ConsumerFront
from barnabas.client.consume.work_queue import Ordering, Work, WorkQueue
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, InvalidSettingError, MisuseError
from barnabas.types import OffsetAndMetadata, TopicPartition
from barnabas.wording import counted

logger = logging.getLogger("barnabas.client")

# How often the group, the commits and the pauses are looked after while no records come.
POLL_SECONDS = 0.1
# How long a handler that was cancelled is waited for.
CANCEL_SECONDS = 1.0


class NotTriedAgainError(Exception):
    """A handler failed while its partition was given up: the record is neither finished nor a failure."""


class ParallelFront(OfThisProcess):
    """The part that `barnabas.ParallelConsumer` and `barnabas.aio.ParallelConsumer` share."""

    def __init__(
        self,
        consumer: ConsumerFront[Any, Any],
        *,
        handler: object,
        on_failure: object,
        max_concurrency: int,
        ordering: Ordering,
        max_backlog: int,
        retries: int,
        drain_timeout_ms: int,
    ) -> None:
        """Raises: InvalidSettingError, MisuseError."""
        if not callable(handler):
            raise MisuseError(f"handler must be callable, not {handler!r}")
        check_callbacks(on_failure=on_failure)
        lowest = {"max_concurrency": 1, "max_backlog": 1, "retries": 0, "drain_timeout_ms": 0}
        given = (max_concurrency, max_backlog, retries, drain_timeout_ms)
        for (name, low), value in zip(lowest.items(), given, strict=True):
            if value < low:
                raise InvalidSettingError(f"{name} must be at least {low}, not {value!r}")
        if ordering not in ("key", "partition", "none"):
            raise InvalidSettingError(f"ordering must be one of key, partition, none, not {ordering!r}")
        config = consumer.config
        if config.group_id is None:
            raise InvalidSettingError("a ParallelConsumer commits what was handled: it needs group_id")
        self.config = config
        self._max_concurrency = max_concurrency
        self._max_backlog = max_backlog
        self._retries = retries
        self._drain_timeout_ms = drain_timeout_ms
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._queue = WorkQueue(ordering)
        self._front = consumer
        self._held_back: set[TopicPartition] = set()
        """Partitions paused until their backlog is worked off."""
        self._commit_at = CLOCK.monotonic() + config.auto_commit_interval_ms / 1000
        self._failure: BaseException | None = None
        self._is_stopping = False
        self._made_again: list[TopicPartition] = []
        """Partitions whose topic was deleted and created again: their backlog is of the old one."""
        consumer._on_made_again(self._made_again.extend)  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        waiting = counted(sum(self.backlog().values()), "record")
        return f"<{type(self).__name__} {waiting} to handle, by {self._front!r}>"

    def backlog(self) -> dict[TopicPartition, int]:
        """Records that were read and are not handled yet, by partition. Any thread."""
        return self._queue.backlogs()

    @property
    def _goes_on(self) -> bool:
        return self._failure is None and not self._is_stopping

    def _retry_delay_seconds(self, work: Work) -> float | None:
        """Until a record whose handler failed is tried again; None if it was tried often enough.

        Raises: NotTriedAgainError where it would be, but is left to whoever reads on.
        """
        work.attempts += 1
        if work.attempts > self._retries:
            return None
        if work.partition.is_given_up or not self._goes_on:
            raise NotTriedAgainError
        return self._backoff.delay_ms(work.attempts) / 1000

    def _take_in(self, records: Sequence[Record[Any, Any]]) -> None:
        """What a poll returned."""
        gone = self._made_again.copy()
        self._made_again.clear()
        self._queue.give_up(gone)
        self._queue.forget(gone)
        for partition in self._held_back.intersection(gone):
            self._held_back.remove(partition)
            self._front.resume(partition)
        self._queue.add(records)

    def _hold_back(self) -> None:
        """Pauses partitions that run ahead of their handlers, and resumes those that were caught up with."""
        assigned = set(self._front.assignment())
        self._held_back &= assigned
        for partition, backlog in self._queue.backlogs().items():
            if partition not in assigned:
                continue
            if backlog >= self._max_backlog and partition not in self._held_back:
                self._held_back.add(partition)
                self._front.pause(partition)
            elif partition in self._held_back and backlog <= self._max_backlog // 2:
                self._held_back.remove(partition)
                self._front.resume(partition)

    def _is_caught_up(self, work: Work) -> bool:
        """Whether this record was the one after which its partition, held back, should be resumed."""
        partition = work.partition
        return partition.partition in self._held_back and partition.backlog == self._max_backlog // 2

    def _due_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What should be committed now."""
        if CLOCK.monotonic() < self._commit_at:
            return {}
        self._commit_at = CLOCK.monotonic() + self.config.auto_commit_interval_ms / 1000
        return self._queue.committable()

    def _committed(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], error: BarnabasError | None
    ) -> None:
        if error is None:
            self._queue.note_commit(offsets.items())
        else:
            logger.warning(
                "group %r: committing what was handled failed, the next commit covers it: %s",
                self.config.group_id,
                error,
            )

    def _warn_of_unfinished(self, partitions: Iterable[TopicPartition]) -> None:
        left = self._queue.under_way(partitions)
        if left:
            logger.warning(
                "group %r: %d handlers still run after drain_timeout_ms (%d ms) for partitions that are "
                "given up; their records will be handled again by whoever reads on",
                self.config.group_id,
                left,
                self._drain_timeout_ms,
            )

    def _note_failure(self, record: Record[Any, Any], error: BaseException) -> None:
        """The first one ends `run`."""
        if self._failure is None and not isinstance(error, NotTriedAgainError):
            where = f"{record.topic}-{record.partition} at offset {record.offset}"
            error.add_note(f"while handling {where}; it is not committed, so a restart begins with it")
            self._failure = error


def refuse_automatic_commits(settings: Mapping[str, object]) -> None:
    """Raises: InvalidSettingError."""
    if "enable_auto_commit" in settings:
        raise InvalidSettingError(
            "enable_auto_commit is not for a ParallelConsumer: it commits what was handled, every "
            "auto_commit_interval_ms"
        )
