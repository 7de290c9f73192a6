"""Commits of a SimpleConsumer by the clock, on the core's event loop.

Owns when they are made, and their order with those of threads. All of it belongs to the loop; a thread that
commits, or ends the consumer, holds commits first: what is under way is over then, and none begins before it
lets go. So no commit of what was consumed earlier comes behind one of what was consumed later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.groups.offsets import commit_offsets
from barnabas.errors import BarnabasError
from barnabas.types import GroupIdentity, OffsetAndMetadata, TopicPartition

__all__ = ["AutoCommits", "Commit"]

log = logging.getLogger("pykafka.simpleconsumer")

PATIENCE_SECONDS = 3.0
"""How long a thread waits for a commit that is not answered, before that is cancelled."""

Commit = tuple[GroupIdentity, Mapping[TopicPartition, OffsetAndMetadata], Mapping[TopicPartition, UUID]]
"""Who commits, what, and the ids of the topics that it is in, as far as they are known."""


class AutoCommits:
    """Made on the loop. `due()`: what is to be committed now, asked just before it is sent. `failed(error)`:
    what no other attempt would mend."""

    def __init__(
        self,
        client: KafkaClient,
        interval_seconds: float,
        due: Callable[[], Commit],
        failed: Callable[[BarnabasError], object],
        commit: Callable[..., Awaitable[None]] = commit_offsets,
    ) -> None:
        self._client = client
        self._interval_seconds = interval_seconds
        self._due = due
        self._failed = failed
        self._commit = commit
        self._loop = asyncio.get_running_loop()
        self._holds = 0
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle = self._loop.call_later(interval_seconds, self._begin)

    async def hold(self) -> None:
        """Returns when no commit is under way; none is until `let_go`, as often as it was held."""
        self._holds += 1
        task = self._task
        if task is not None:
            await asyncio.wait([task], timeout=PATIENCE_SECONDS)
            task.cancel()

    def let_go(self) -> None:
        self._holds -= 1

    async def make_last(self) -> None:
        """Makes one now, behind the one that is under way, and none after it."""
        self._timer.cancel()
        try:
            await self.hold()
            await self._commit_now()
        except asyncio.CancelledError:
            log.warning("What was consumed last is not committed: no broker has answered in time")
            raise

    def end(self) -> None:
        """There are no more."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._timer = self._loop.call_later(self._interval_seconds, self._begin)
        if self._holds == 0 and self._task is None:
            self._task = self._client.in_background(self._commit_now(), "committing by the clock")
            self._task.add_done_callback(self._over)

    async def _commit_now(self) -> None:
        try:
            identity, offsets, topic_ids = self._due()
            await self._commit(
                self._client,
                identity,
                offsets,
                timeout_ms=self._client.config.request_timeout_ms,
                topic_ids=topic_ids,
                retries_unknown=False,
            )
        except BarnabasError as error:
            log.error("Error committing offsets: %s", error)
            self._failed(error)

    def _over(self, _: asyncio.Task[None]) -> None:
        self._task = None
