"""A registry: its state, the journal that it comes from, and one write at a time.

Owns the order of decisions. Knows nothing of HTTP, nor of what is decided.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from barnabas.registry_server import api_errors
from barnabas.registry_server.api_errors import ApiError
from barnabas.registry_server.deks.service import DekService
from barnabas.registry_server.journal.journal import Journal, Record
from barnabas.registry_server.state import DEFAULT_LEVEL, RegistryState
from barnabas.registry_server.work import Decision, SlowCall, SlowCalls, walk
from barnabas.registry_server.workers import Workers

T = TypeVar("T")
MOST_TIMES = 100
"""So often a decision is begun, where all that it rests on changes again and again."""
Decide = Callable[[RegistryState], Decision[tuple[Sequence[Record], T]]]


class _OutdatedError(Exception):
    """A decision has looked at a state that is not the registry's any more."""


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

    async def read(self, look: Callable[[RegistryState], Decision[T]]) -> T:
        """What is found in the state as it is at one time. Raises: what `look` raises, ApiError."""
        return await self._decided(look, SlowCalls(), self._workers)

    async def write(
        self,
        decide: Decide[T],
        *,
        unless: Callable[[RegistryState], Decision[T | None]] | None = None,
    ) -> T:
        """What is decided against the state when all that was written before is in it; returns when it is
        durable, and in the state. `unless`: what may be answered without writing, by any registry; None
        where it has to be decided.

        Raises: what `decide` raises, NotLeaderError, JournalError, ApiError.
        """
        known = SlowCalls()
        if unless is not None:
            found = await self._decided(unless, known, self._writers)
            if found is not None:
                return found
        if self.journal.leader_url() is None:
            await self._prepare(decide, known)
        async with self._writing:
            for _ in range(MOST_TIMES):
                await self.journal.caught_up()
                try:
                    # What was prepared may be for another state. After a slow call, this has to catch up
                    # again before it may append.
                    written, answer = await self._walk(decide, known, self._writers, valid_for=None)
                except _OutdatedError:
                    continue
                if written:
                    await self.journal.append(written)
                return answer
        raise api_errors.too_busy()

    async def _prepare(self, decide: Decide[T], known: SlowCalls) -> None:
        """Has the work done that a decision needs as things are, while others may write."""

        async def prepared(state: RegistryState) -> None:
            # An error is decided, and told, when it is this one's turn.
            with contextlib.suppress(ApiError):
                await decide(state)

        await self._decided(prepared, known, self._writers)

    async def _decided(
        self, decide: Callable[[RegistryState], Decision[T]], known: SlowCalls, workers: Workers
    ) -> T:
        """From the beginning again where the state has become another one, with all that is known by then."""
        for _ in range(MOST_TIMES):
            try:
                return await self._walk(decide, known, workers, valid_for=self.state.applied)
            except _OutdatedError:
                continue
        raise api_errors.too_busy()

    async def _walk(
        self,
        decide: Callable[[RegistryState], Decision[T]],
        known: SlowCalls,
        workers: Workers,
        *,
        valid_for: int | None,
    ) -> T:
        """`valid_for`: the state that it may go on with after a slow call; None: with none.

        Raises: _OutdatedError.
        """

        async def have_done(call: SlowCall) -> None:
            await workers.do(known, call)
            if self.state.applied != valid_for:
                raise _OutdatedError

        return await walk(decide(self.state), known, have_done)

    async def close(self) -> None:
        await self.journal.close()
        if self.deks is not None:
            await self.deks.close()
        await self._workers.close()
        await self._writers.close()
