"""A journal in memory: for one registry, and for as long as it runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from barnabas.registry_server.journal.journal import Apply, JournalError, Record


class MemoryJournal:
    """Keeps the last value of each key, as a compacted topic does. `records`: what it begins with."""

    def __init__(self, records: Sequence[Record] = ()) -> None:
        self._latest: dict[bytes, bytes] = {}
        self._begins_with = list(records)
        self._next_offset = 0
        self._apply: Apply | None = None

    @property
    def records(self) -> list[tuple[bytes, bytes]]:
        """Those that are left, the one that was written first first."""
        return list(self._latest.items())

    async def start(self, apply: Apply) -> None:
        self._apply = apply
        await self.append(self._begins_with)

    async def caught_up(self) -> None:
        """It always is."""

    async def append(self, records: Sequence[Record]) -> None:
        apply = self._apply
        if apply is None:
            raise JournalError("the journal is not open")
        for key, value in records:
            self._latest.pop(key, None)
            if value is not None:
                self._latest[key] = value
            apply(key, value, self._next_offset, time.time_ns() // 1_000_000)
            self._next_offset += 1

    def leader_url(self) -> str | None:
        return None

    async def close(self) -> None:
        self._apply = None
