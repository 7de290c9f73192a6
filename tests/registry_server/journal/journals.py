"""Journals of one topic whose groups say what a test wants: two may believe at once that they lead."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any, cast

from barnabas.registry_server.journal.election import Instance
from barnabas.registry_server.journal.journal import NotLeaderError
from barnabas.registry_server.journal.kafka import JournalSettings, KafkaJournal


class Believing:
    """In place of a RegistryGroup: a member that takes itself for the leader while `leads` is True."""

    def __init__(self, name: str) -> None:
        self.leads = True
        self.leader: Instance | None = Instance(name, 8081)

    async def start(self, timeout_ms: float) -> None:
        pass

    async def confirm(self, *, freshly: bool = False) -> None:
        if not self.leads:
            raise NotLeaderError("another one leads")

    async def close(self) -> None:
        pass


class Counting:
    """A registry that knows nothing but numbers: each write takes the next one."""

    def __init__(self, bootstrap: str, topic: str, name: str = "sr", **settings: Any) -> None:
        self.group = Believing(name)
        self.journal = KafkaJournal(
            {"bootstrap_servers": bootstrap, "retry_backoff_ms": 20},
            cast("Any", self.group),
            JournalSettings(topic=topic, replication_factor=1, **settings),
        )
        self.applied: list[tuple[bytes, bytes | None]] = []
        self.numbers: dict[int, str] = {}
        self._writing = asyncio.Lock()

    def apply(self, key: bytes, value: bytes | None, offset: int, timestamp_ms: int) -> None:
        assert abs(timestamp_ms / 1000 - time.time()) < 3600
        self.applied.append((key, value))
        if value is not None and key.isdigit():
            assert int(key) not in self.numbers, f"{key!r} was given twice"
            self.numbers[int(key)] = value.decode()

    async def start(self) -> Counting:
        await self.journal.start(self.apply)
        return self

    async def take_number(self) -> tuple[int, str]:
        async with self._writing:
            await self.journal.caught_up()
            number = max(self.numbers, default=0) + 1
            owner = uuid.uuid4().hex
            await self.journal.append([(str(number).encode(), owner.encode())])
            return number, owner

    async def __aenter__(self) -> Counting:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.journal.close()
