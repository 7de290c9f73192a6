"""One write at a time, and what is told where the journal does not take it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.registry_server.schemas import USER, USER_2

from barnabas.errors import RecordTooLargeError
from barnabas.registry_server.journal.journal import (
    JournalError,
    JournalTimeoutError,
    NotLeaderError,
    Record,
)
from barnabas.registry_server.journal.memory import MemoryJournal
from barnabas.registry_server.rest.app import RegistryApp
from barnabas.registry_server.service import RegistryService


class HeldJournal(MemoryJournal):
    """Takes records when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.appending = asyncio.Event()
        self.let = asyncio.Event()

    async def append(self, records: Sequence[Record]) -> None:
        if records:
            self.appending.set()
            await self.let.wait()
        await super().append(records)


class FailingJournal(MemoryJournal):
    def __init__(self, error: Exception, leader: str | None = None) -> None:
        super().__init__()
        self._error = error
        self._leader = leader

    async def caught_up(self) -> None:
        raise self._error

    def leader_url(self) -> str | None:
        return self._leader


async def asked(app: RegistryApp, path: str, body: object) -> httpx.Response:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
        return await client.post(path, json=body)


async def asked_once(journal: MemoryJournal, path: str, **settings: Any) -> httpx.Response:
    """By a registry that does nothing else."""
    service = RegistryService(journal)
    try:
        return await asked(RegistryApp(service, **settings), path, {"schema": USER})
    finally:
        await service.close()


def test_a_write_is_decided_when_the_one_before_is_in_the_state() -> None:
    async def run() -> list[dict[str, int]]:
        journal = HeldJournal()
        service = RegistryService(journal)
        await service.start()
        app = RegistryApp(service)
        path = "/subjects/s/versions"
        first = asyncio.create_task(asked(app, path, {"schema": USER}))
        await journal.appending.wait()
        second = asyncio.create_task(asked(app, path, {"schema": USER_2}))
        again = asyncio.create_task(asked(app, path, {"schema": USER}))
        for _ in range(50):
            await asyncio.sleep(0)
        # Nothing is answered before it is durable.
        assert not any(each.done() for each in (first, second, again))
        journal.let.set()
        found = [(await each).json() for each in (first, second, again)]
        assert len(journal.records) == 2
        await service.close()
        return found

    found = asyncio.run(run())
    assert [(each["id"], each["version"]) for each in found] == [(1, 1), (2, 2), (1, 1)]


@pytest.mark.parametrize(
    ("error", "status", "code", "words"),
    [
        (JournalError("no"), 500, 50001, "Register schema operation failed while writing to the Kafka store"),
        (
            JournalTimeoutError("no"),
            500,
            50002,
            "Register schema operation failed while writing to the Kafka store: it took too long",
        ),
        (RecordTooLargeError("no"), 422, 42209, "Register operation failed because schema is too large"),
        (NotLeaderError("no"), 500, 50004, "Leader not known."),
        (NotLeaderError("no", "http://other"), 500, 50004, "Leader not known."),
        (ZeroDivisionError(), 500, 500, "Internal Server Error"),
    ],
)
def test_what_the_journal_does_not_take_is_told(error: Exception, status: int, code: int, words: str) -> None:
    found = asyncio.run(asked_once(FailingJournal(error), "/subjects/s/versions"))
    assert (found.status_code, found.json()) == (status, {"error_code": code, "message": words})


@pytest.mark.parametrize("where", ["error", "journal"])
def test_a_write_goes_to_who_leads_as_it_came(where: str) -> None:
    sent: list[tuple[str, str, bytes]] = []

    async def forward(request: Request, body: bytes, leader_url: str) -> Response:
        sent.append((leader_url, str(request.url), body))
        return Response(b'{"id":9}', media_type="application/json")

    error = NotLeaderError("no", "http://leads" if where == "error" else None)
    journal = FailingJournal(error, None if where == "error" else "http://leads")
    path = "/contexts/c/subjects/s/versions?normalize=true"
    found = asyncio.run(asked_once(journal, path, forward=forward))
    assert found.json() == {"id": 9}
    (leader_url, url, body) = sent[0]
    assert (leader_url, url) == (
        "http://leads",
        "http://registry/contexts/c/subjects/s/versions?normalize=true",
    )
    assert json.loads(body) == {"schema": USER}


def test_what_is_there_is_found_by_every_registry() -> None:
    async def run() -> httpx.Response:
        leader = MemoryJournal()
        service = RegistryService(leader)
        await service.start()
        await asked(RegistryApp(service), "/subjects/s/versions", {"schema": USER})
        follower = RegistryService(FailingJournal(NotLeaderError("no")))
        for offset, (key, value) in enumerate(leader.records):
            follower.state.apply(key, value, offset, 0)
        try:
            return await asked(RegistryApp(follower), "/subjects/s/versions", {"schema": USER})
        finally:
            await service.close()
            await follower.close()

    assert asyncio.run(run()).json()["id"] == 1
