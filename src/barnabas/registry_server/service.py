"""A registry: its state, the journal that it comes from, and one write at a time.

Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from barnabas.registry_server.deks.service import DekService
from barnabas.registry_server.journal.journal import Journal, Record
from barnabas.registry_server.state import RegistryState

T = TypeVar("T")


class RegistryService:
    """For one event loop. `cluster_id`: of the Kafka cluster with the journal; `group_id`: of the registries
    that share it. `deks`: the registry of keys, if there is one."""

    def __init__(
        self,
        journal: Journal,
        *,
        deks: DekService | None = None,
        cluster_id: str = "",
        group_id: str = "schema-registry",
    ) -> None:
        self.state = RegistryState()
        self.journal = journal
        self.deks = deks
        self.cluster_id = cluster_id
        self.group_id = group_id
        self._writing = asyncio.Lock()

    async def start(self) -> None:
        """Raises: JournalError."""
        if self.deks is not None:
            await self.deks.start()
        await self.journal.start(self.state.apply)

    async def write(self, decide: Callable[[RegistryState], tuple[Sequence[Record], T]]) -> T:
        """What is decided against the state when all that was written before is in it; returns when it is
        durable, and in the state.

        Raises: what `decide` raises, NotLeaderError, JournalError.
        """
        async with self._writing:
            await self.journal.caught_up()
            written, answer = decide(self.state)
            if written:
                await self.journal.append(written)
            return answer

    async def close(self) -> None:
        await self.journal.close()
        if self.deks is not None:
            await self.deks.close()
