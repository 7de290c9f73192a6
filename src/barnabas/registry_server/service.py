"""A registry: its state, the journal that it comes from, and one write at a time.

Owns the order of decisions. Knows nothing of HTTP, nor of what is decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from barnabas.registry_server import api_errors
from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.deks.service import DekService
from barnabas.registry_server.journal.journal import Journal, Record
from barnabas.registry_server.state import DEFAULT_LEVEL, RegistryState
from barnabas.registry_server.work import SlowCalls, Unfinished
from barnabas.registry_server.workers import Workers

T = TypeVar("T")
MOST_TIMES = 100
"""So often a decision is made anew, where all that it rests on changes again and again."""
Decide = Callable[[RegistryState], tuple[Sequence[Record], T]]


class RegistryService:
    """For one event loop. `cluster_id`: of the Kafka cluster with the journal; `group_id`: of the registries
    that share it. `deks`: the registry of keys, if there is one. `deployment_attributes`: what who runs it
    says of where it runs. `default_level`: of compatibility, where none is set; `modes_change`: whether they
    may be changed. `workers` do what takes long for those who read, `writers` for those who write; None: each
    their own threads, or `workers` for all."""

    def __init__(
        self,
        journal: Journal,
        *,
        deks: DekService | None = None,
        cluster_id: str = "",
        group_id: str = "schema-registry",
        deployment_attributes: Sequence[str] = (),
        default_level: str = DEFAULT_LEVEL,
        modes_change: bool = True,
        workers: Workers | None = None,
        writers: Workers | None = None,
    ) -> None:
        self.state = RegistryState(default_level)
        self.modes_change = modes_change
        self.journal = journal
        self.deks = deks
        self.cluster_id = cluster_id
        self.group_id = group_id
        self.deployment_attributes = deployment_attributes
        self._workers = workers or Workers()
        # Whoever reads may ask for what takes very long. Who writes does not wait for that.
        self._writers = writers or workers or Workers()
        self._writing = asyncio.Lock()

    async def start(self) -> None:
        """Raises: JournalError."""
        if self.deks is not None:
            await self.deks.start()
        await self.journal.start(self.state.apply)

    async def read(self, look: Callable[[RegistryState], T]) -> T:
        """What is found in the state as it is at one time. Raises: what `look` raises, ApiError."""
        return await self._read(look, SlowCalls(), self._workers)

    async def _read(self, look: Callable[[RegistryState], T], work: SlowCalls, workers: Workers) -> T:
        for _ in range(MOST_TIMES):
            try:
                return work.attempt(lambda: look(self.state))
            except Unfinished as missing:
                await workers.do(work, missing.call)
        raise api_errors.too_busy()

    async def write(
        self, decide: Decide[T], *, unless: Callable[[RegistryState], T | None] | None = None
    ) -> T:
        """What is decided against the state when all that was written before is in it; returns when it is
        durable, and in the state. `unless`: what may be answered without writing, by any registry; None
        where it has to be decided.

        Raises: what `decide` raises, NotLeaderError, JournalError, ApiError.
        """
        work = SlowCalls()
        if unless is not None:
            found = await self._read(unless, work, self._writers)
            if found is not None:
                return found
        if self.journal.leader_url() is None:
            await self._prepare(decide, work)
        async with self._writing:
            for _ in range(MOST_TIMES):
                await self.journal.caught_up()
                try:
                    written, answer = work.attempt(lambda: decide(self.state))
                except Unfinished as missing:
                    # What was prepared was for another state.
                    await self._writers.do(work, missing.call)
                    continue
                if written:
                    await self.journal.append(written)
                return answer
        raise api_errors.too_busy()

    async def _prepare(self, decide: Decide[T], work: SlowCalls) -> None:
        """Has the work done that a decision needs as things are, while others may write."""
        for _ in range(MOST_TIMES):
            try:
                work.attempt(lambda: decide(self.state))
                return
            except Unfinished as missing:
                await self._writers.do(work, missing.call)
            except ApiError:
                # It is decided, and told, when it is this one's turn.
                return

    async def close(self) -> None:
        await self.journal.close()
        if self.deks is not None:
            await self.deks.close()
        await self._workers.close()
        await self._writers.close()
