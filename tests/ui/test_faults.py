from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from barnabas import Producer
from barnabas.broker_errors import NotLeaderOrFollowerError
from barnabas.testing import EmbeddedBroker

OpenPage = Callable[..., TestClient]


@pytest.fixture
def own() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


def test_a_fault_is_switched_on_seen_and_switched_off(open_page: OpenPage, own: EmbeddedBroker) -> None:
    page = open_page(own, faults=own.faults.url, allows_writes=True)
    csrf = page.get("/faults").text.split('name="csrf" value="')[1].split('"')[0]
    form = {"csrf": csrf, "effect": "error", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER"}
    assert "the fault is in force" in page.post("/faults", data=form).text
    with Producer(own.bootstrap, retries=0, enable_idempotence=False) as producer:
        assert isinstance(producer.send("flights", b"a").exception(30), NotLeaderOrFollowerError)
        cleared = page.post("/faults/switch", data={"csrf": csrf, "do": "clear"})
        assert "No faults are in force" in cleared.text
        producer.send("flights", b"a").result(30)


def test_a_rule_that_cannot_be_is_told_as_such(open_page: OpenPage, own: EmbeddedBroker) -> None:
    page = open_page(own, faults=own.faults.url, allows_writes=True)
    csrf = page.get("/faults").text.split('name="csrf" value="')[1].split('"')[0]
    text = page.post("/faults", data={"csrf": csrf, "effect": "error", "error": "NO_SUCH"}).text
    assert '<p class="told error"' in text
    assert "NO_SUCH" in text
