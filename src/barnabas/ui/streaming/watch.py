"""The streaming queries that the listener reports, looked at on demand, and at an interval for charts of lag.

Owns the task that looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from barnabas import background
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.ui.figures import Groups, GroupSummary
from barnabas.ui.groups.lag_history import LagHistory
from barnabas.ui.kept import Kept
from barnabas.ui.settings import UiSettings
from barnabas.ui.streaming.checkpoints import (
    ReadCheckpoint,
    SeenCheckpoint,
    partitions_of,
    read_checkpoints,
    seen_checkpoint,
)
from barnabas.ui.streaming.listened import (
    ListenerError,
    SeenQuery,
    Told,
    partitions_told,
    seen_query,
    told_at,
)
from barnabas.values import frozen

EndsOf = Callable[[Iterable[TopicPartition]], Awaitable[Mapping[TopicPartition, int]]]


@frozen
class SeenTogether:
    """What there is to see. `problem`: why the listener says nothing."""

    queries: Sequence[SeenQuery] = ()
    checkpoints: Sequence[SeenCheckpoint] = ()
    problem: str | None = None


class QueryWatch:
    """`ends_of`: the brokers' ends of those partitions that are there."""

    def __init__(self, settings: UiSettings, ends_of: EndsOf) -> None:
        self._settings = settings
        self._ends_of = ends_of
        self._checkpoints: Kept[list[ReadCheckpoint]] = Kept(
            "checkpoints", self._read_checkpoints, settings.refresh_seconds
        )
        self._task: asyncio.Task[None] | None = None
        self.lags = LagHistory(settings.sample_seconds)
        """By the ids of queries."""
        self.last = SeenTogether()
        """The last look, for pages that only name queries."""

    @property
    def is_of_use(self) -> bool:
        return self._settings.listener is not None or bool(self._settings.checkpoints)

    def start(self) -> None:
        if self._settings.listener is not None:
            self._task = background.start(self._watch(), what="the page's watch of streaming queries")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._checkpoints.close()

    async def look(self) -> SeenTogether:
        """At this moment. Raises: BarnabasError where the brokers do not answer; ListenerError where the
        listener does not, and there are no checkpoints to show."""
        listener, places = self._settings.listener, self._settings.checkpoints
        told: list[Told] = []
        problem = None
        if listener is not None:
            try:
                told = [*await asyncio.to_thread(told_at, listener)]
            except ListenerError as error:
                # A driver that is down left its checkpoints.
                if not places:
                    raise
                problem = str(error)
        read = await self._checkpoints.get()
        ends = await self._ends_of(partitions_told(told) | partitions_of(read))
        names = {query["id"]: query["name"] for query in told}
        self.last = SeenTogether(
            [seen_query(each, ends) for each in told],
            [seen_checkpoint(each, ends, names) for each in read],
            problem,
        )
        self.lags.saw(time.time(), _as_groups(self.last.queries))
        return self.last

    def reading(self, topics: Iterable[str]) -> list[SeenQuery]:
        """The queries that read one of these topics, as of the last look."""
        wanted = set(topics)
        return [query for query in self.last.queries if wanted & set(query.topics)]

    async def _watch(self) -> None:
        """Charts of lag go on while nobody looks."""
        while True:
            # It is told where it is shown.
            with contextlib.suppress(BarnabasError):
                await self.look()
            await asyncio.sleep(self._settings.sample_seconds)

    async def _read_checkpoints(self) -> list[ReadCheckpoint]:
        return await asyncio.to_thread(read_checkpoints, self._settings.checkpoints)


def _as_groups(queries: Iterable[SeenQuery]) -> Groups:
    """Queries that run, each with where it is: their lag has a history as that of groups."""
    return Groups(
        {
            query.query_id: GroupSummary(
                query.query_id,
                "query",
                query.state,
                "",
                {each.partition: each.position for each in query.partitions},
                {each.partition: each.lag for each in query.partitions if each.lag is not None},
            )
            for query in queries
            if query.is_running
        },
        {},
        {},
    )
