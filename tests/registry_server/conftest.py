"""A registry, and asking it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from barnabas.registry_server.deks.service import DekService
from barnabas.registry_server.journal.memory import MemoryJournal
from barnabas.registry_server.rest.app import RegistryApp
from barnabas.registry_server.service import RegistryService
from barnabas.testing import EmbeddedRegistry


@pytest.fixture(scope="session")
def registry_url() -> Iterator[str]:
    with EmbeddedRegistry() as registry:
        yield registry.url


Ask = Callable[..., tuple[int, Any]]
"""`ask("GET /subjects", body)` gives the status and what the JSON says."""


@contextmanager
def asking(*, kms_hosts: Collection[str] = (), **settings: Any) -> Generator[Ask]:
    """A registry with nothing in it, without a socket. `settings`: of its service."""
    with asyncio.Runner() as runner:
        service = RegistryService(MemoryJournal(), deks=DekService(MemoryJournal(), kms_hosts), **settings)
        runner.run(service.start())
        transport = httpx.ASGITransport(app=RegistryApp(service), raise_app_exceptions=True)
        client = httpx.AsyncClient(transport=transport, base_url="http://registry")

        def ask(line: str, body: Any = None, **headers: str) -> tuple[int, Any]:
            method, _, path = line.partition(" ")
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
            answer = runner.run(client.request(method, path, content=content, headers=named))
            return answer.status_code, answer.json() if answer.content else None

        try:
            yield ask
        finally:
            runner.run(client.aclose())
            runner.run(service.close())


@pytest.fixture
def ask() -> Iterator[Ask]:
    """A registry of the test's own."""
    with asking() as found:
        yield found
