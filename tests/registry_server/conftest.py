"""A registry, and asking it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from barnabas.testing import EmbeddedRegistry


@pytest.fixture(scope="session")
def registry_url() -> Iterator[str]:
    with EmbeddedRegistry() as registry:
        yield registry.url


Ask = Callable[..., tuple[int, Any]]
"""`ask("GET /subjects", body)` gives the status and what the JSON says."""


def asking(client: httpx.Client) -> Ask:
    def ask(line: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        method, _, path = line.partition(" ")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = client.request(method, path, json=body, headers=named)
        return answer.status_code, answer.json() if answer.content else None

    return ask


@pytest.fixture
def ask() -> Iterator[Ask]:
    """A registry of the test's own, with nothing in it."""
    with EmbeddedRegistry() as registry, httpx.Client(base_url=registry.url) as client:
        yield asking(client)
