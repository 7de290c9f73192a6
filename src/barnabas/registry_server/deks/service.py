"""The registry of keys: its state, the journal that it comes from, and one write at a time.

Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TypeVar

from barnabas.registry_server.deks.changes import Written
from barnabas.registry_server.deks.state import DekState
from barnabas.registry_server.journal.journal import Journal

T = TypeVar("T")


class DekService:
    """For one event loop. `kms_hosts`: at which a KMS may be asked whose address a KEK names."""

    def __init__(self, journal: Journal, kms_hosts: Collection[str] = ()) -> None:
        self.state = DekState()
        self.kms_hosts = kms_hosts
        self.journal = journal
        self._writing = asyncio.Lock()

    async def start(self) -> None:
        """Raises: JournalError."""
        await self.journal.start(self.state.apply)

    async def write(self, decide: Callable[[DekState], tuple[Written, T]]) -> T:
        """What is decided when all that was written before is known; returns when it is durable, and known.

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
