"""The commits of one open consumer: of what the program names, of what is stored, and automatic ones; and who
is called back.

Owns what is done and not told yet. What is stored is in `stored_offsets`. Knows nothing of messages.
"""

# The constants of KafkaError have an underscore.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.client.groups.offsets import commit_offsets
from barnabas.clock import CLOCK
from barnabas.compat.librdkafka.consume.stored_offsets import HandedOut, StoredOffsets
from barnabas.compat.librdkafka.values.errors import KafkaError, kafka_error_of
from barnabas.errors import BarnabasError
from barnabas.loop_thread import loop_thread
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition

COMMIT_TIMEOUT_MS = 60_000
LEAVE_COMMIT_TIMEOUT_MS = 10_000

Told = tuple[TopicPartition, ...]
CommitCallback = Callable[[KafkaError | None, Told, Mapping[TopicPartition, OffsetAndMetadata]], object]
"""With the partitions to tell of, and the offsets of those of them that were committed."""


class SessionCommits:
    """`on_commit` is called by `serve`, after each commit that nobody waits for. `assigned` gives the
    partitions that are read, `handed_out` how far single polls have come with what is lent; `wake` has polls
    look again."""

    def __init__(
        self,
        core: ConsumerCore,
        offsets: StoredOffsets,
        *,
        on_commit: CommitCallback | None,
        assigned: Callable[[], Iterable[TopicPartition]],
        handed_out: Callable[[], HandedOut | None],
        wake: Callable[[], None],
    ) -> None:
        self._core = core
        self._offsets = offsets
        self._on_commit = on_commit
        self._assigned = assigned
        self._handed_out = handed_out
        self._wake = wake
        self._loop = loop_thread()
        self._finished: deque[Callable[[], object]] = deque()

    def serve(self) -> None:
        """Tells of commits that are done."""
        finished = self._core.commits.take_finished()
        # One that raises leaves the others for the next time.
        self._finished.extendleft(partial(*each) for each in reversed(finished))
        while self._finished:
            self._finished.popleft()()

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], *, was_member: bool) -> None:
        """Raises: what the core raises."""
        core = self._core
        if core.subscription.is_automatic and not was_member:
            # librdkafka commits on its way into the group, too: brokers take that while the group is empty.
            stranger = GroupIdentity(core.group_metadata().group_id)
            work = commit_offsets(
                core.client, stranger, offsets, timeout_ms=COMMIT_TIMEOUT_MS, retries_unknown=False
            )
        else:
            work = core.commit(offsets, COMMIT_TIMEOUT_MS, retries_unknown=False)
        self._loop.run(work, what="consumer")
        self._offsets.were_committed(offsets)

    def commit_async(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """`on_commit` is told of exactly these."""
        self._loop.call(partial(self._start, dict(offsets), tuple(offsets)))

    def commit_stored_async(self) -> None:
        """What is stored; positions were settled. `on_commit` is told of all assigned partitions."""
        assigned = tuple(self._assigned())
        due = self._offsets.due(assigned)
        if due:
            self._loop.call(partial(self._start, due, assigned))
        elif self._on_commit is not None:
            error = KafkaError(KafkaError._NO_OFFSET)
            self._finished.append(partial(self._on_commit, error, assigned, due))
            self._wake()

    def commit_before_leaving(self, partitions: list[TopicPartition]) -> None:
        """What is stored of partitions that are given up, while this member may still commit it."""
        stored = self._offsets.stored(partitions)
        if not stored:
            return
        error: KafkaError | None = None
        work = self._core.commit(stored, LEAVE_COMMIT_TIMEOUT_MS, retries_unknown=False)
        try:
            self._loop.run(work, what="consumer")
        except BarnabasError as raised:
            error = kafka_error_of(raised)
        if self._on_commit is not None:
            self._finished.append(partial(self._on_commit, error, tuple(partitions), stored))
            self._wake()

    async def keep_committing(self, interval_ms: float) -> None:
        """Automatically, until it is cancelled."""
        interval_seconds = interval_ms / 1000
        due_at = CLOCK.monotonic() + interval_seconds
        while True:
            await asyncio.sleep(due_at - CLOCK.monotonic())
            # One that was late puts the next ones off no further.
            due_at = max(due_at + interval_seconds, CLOCK.monotonic())
            self._offsets.note(self._handed_out)
            assigned = tuple(self._assigned())
            due = self._offsets.due(assigned)
            if due:
                self._start(due, assigned)

    def _start(self, offsets: dict[TopicPartition, OffsetAndMetadata], told: Told) -> None:
        """On the event loop."""
        if self._core.is_closed:
            return
        # Until the answer is there it is not committed again.
        self._offsets.were_committed(offsets)
        self._core.commit_async(offsets, partial(self._committed, told))

    def _committed(
        self,
        told: Told,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        error: BarnabasError | None,
    ) -> None:
        if error is not None:
            self._offsets.were_not_committed(offsets)
        if self._on_commit is not None:
            self._on_commit(None if error is None else kafka_error_of(error), told, offsets)
