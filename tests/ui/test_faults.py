from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from barnabas import Admin, Producer
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


def test_requests_are_shown_as_they_come_with_their_errors(open_page: OpenPage, own: EmbeddedBroker) -> None:
    page = open_page(own, faults=own.faults.url)
    page.get("/faults")
    own.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic="flights", times=1)
    with Producer(own.bootstrap, client_id="the-client", enable_idempotence=False) as producer:
        producer.send("flights", b"a").result(30)
    text = page.get("/faults?api=Produce&client=client").text
    rows = text.split('id="requests"')[1].split("<tr>")[2:]
    assert len(rows) == 2
    for row in rows:
        assert "<b>Produce</b>" in row
        assert "the-client" in row
        assert "User:ANONYMOUS" in row
        assert "flights" in row
        assert " ms</td>" in row
    assert "NOT_LEADER_OR_FOLLOWER" in rows[1]
    assert "tag bad" not in rows[0]


def test_requests_of_others_are_not_shown(open_page: OpenPage, own: EmbeddedBroker) -> None:
    page = open_page(own, faults=own.faults.url)
    page.get("/faults")
    own.faults.requests()
    for client in ("no-such", "*", "[a-z"):
        assert "No such request came" in page.get("/faults", params={"client": client}).text
    assert page.get("/faults?api=NoSuch").status_code == 400


def test_a_list_of_requests_is_short_and_says_what_it_leaves_out(
    open_page: OpenPage, own: EmbeddedBroker
) -> None:
    page = open_page(own, faults=own.faults.url)
    page.get("/faults")
    with Admin(own.bootstrap, client_id="the-client") as admin:
        for _ in range(150):
            admin.describe_cluster()
    text = page.get("/faults?client=the-client").text
    assert "100 shown, the newest first; " in text
    assert " older ones are left out" in text


def test_a_request_that_is_held_is_seen_under_way(
    open_page: OpenPage, own: EmbeddedBroker, eventually: Callable[..., object]
) -> None:
    page = open_page(own, faults=own.faults.url)
    barrier = own.faults.hold("Produce", times=1)
    with Producer(own.bootstrap) as producer:
        delivery = producer.send("flights", b"a")
        barrier.wait()
        assert "under way" in page.get("/faults?api=Produce").text
        barrier.release()
        delivery.result(30)
        eventually(lambda: "under way" not in page.get("/faults?api=Produce").text)
