from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from barnabas import Consumer
from barnabas.http.server import Page, PageServer
from barnabas.spark.queries.progress import BatchProgress, PartitionProgress, SourceProgress, StateProgress
from barnabas.spark.queries.query_figures import Queries
from barnabas.testing import ApacheKafka, EmbeddedBroker
from barnabas.types import TopicPartition

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]


class Driver:
    """A listener's queries, as it serves them, on a clock of the test."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.queries = Queries(lambda: self.seconds)
        status = Page("application/json", lambda: json.dumps({"queries": self.queries.status()}).encode())
        self.server = PageServer("127.0.0.1", 0, {"/status": status})
        self.url = self.server.url

    def ended(self, topic: str, batch_id: int, position: int, seconds: float = 1.0) -> None:
        """A batch that began `batch_id` times ten seconds after noon."""
        partitions = {TopicPartition(topic, 0): PartitionProgress(position, position, 1)}
        batch = BatchProgress(
            batch_id,
            f"2026-01-31T12:{batch_id * 10 // 60:02}:{batch_id * 10 % 60:02}.000Z",
            seconds,
            (SourceProgress(0, 1, partitions),),
            rows=40,
            phases_ms={"addBatch": 700, "queryPlanning": 90, "triggerExecution": 1000},
            state=(StateProgress("stateStoreSave", 1_234, 5, 1 << 21, 3),),
            watermark="2026-01-31T11:50:00.000Z",
        )
        self.queries.progressed("id-1", "run-1", batch, {})


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    try:
        driver.queries.started("id-1", "run-1", "delays")
        yield driver
    finally:
        driver.server.close()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_queries_are_shown_with_their_lag_against_the_brokers(open_page: OpenPage, written: Written) -> None:
    topic = written("a", "b", "c")
    queries = Queries()
    queries.started("id-1", "run-1", "delays")
    position = {TopicPartition(topic, 0): PartitionProgress(1, 1, 1)}
    batch = BatchProgress(7, "2026-01-31T12:00:00.000Z", 1.0, (SourceProgress(0, 1, position),))
    queries.progressed("id-1", "run-1", batch, {})
    status = Page("application/json", lambda: json.dumps({"queries": queries.status()}).encode())
    server = PageServer("127.0.0.1", 0, {"/status": status})
    try:
        page = open_page(listener=server.url)
        listed = page.get("/queries").text
        assert "delays" in listed
        assert "running" in listed
        assert '<td class="n lag">2</td>' in listed
        assert f"{topic}-0" in page.get("/query", params={"id": "id-1"}).text
        queries.terminated("id-1", "run-1", "the disk is full")
        assert "the disk is full" in page.get("/query", params={"id": "id-1"}).text
    finally:
        server.close()


def test_a_listener_that_does_not_answer_is_told_as_such(open_page: OpenPage) -> None:
    answer = open_page(listener="http://127.0.0.1:1").get("/queries")
    assert answer.status_code == 502
    assert "does not answer" in answer.text


def test_a_checkpoint_that_cannot_be_read_says_why_beside_the_others(
    open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(checkpoints=(str(tmp_path), "carrier://pigeon"))
    listed = page.get("/queries").text
    assert "is not the checkpoint of a streaming query" in listed
    assert "on no file system that pyarrow reads" in listed
    shown = page.get("/query/checkpoint", params={"at": str(tmp_path)})
    assert "is not the checkpoint of a streaming query" in shown.text


def test_no_folder_is_read_that_the_page_was_not_told_of(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(checkpoints=(str(tmp_path / "told"),))
    assert page.get("/query/checkpoint", params={"at": str(tmp_path)}).status_code == 404


def test_a_page_without_listener_and_checkpoints_says_how_it_gets_some(open_page: OpenPage) -> None:
    page = open_page()
    assert "Queries" not in page.get("/topics").text
    answer = page.get("/queries")
    assert answer.status_code == 404
    assert "--checkpoint FOLDER" in answer.text


def test_a_query_has_its_batches_phases_and_state(
    open_page: OpenPage, written: Written, driver: Driver
) -> None:
    topic = written("a", "b", "c")
    driver.ended(topic, 1, 1)
    driver.ended(topic, 2, 2, seconds=4.0)
    text = text_of(open_page(listener=driver.url).get("/query", params={"id": "id-1"}).text)
    assert "2026-01-31T11:50:00.000Z" in text
    assert "stateStoreSave 1,234 5 2.0 MiB 3" in text
    batches = text.partition("Where the time went")[2]
    assert re.search(r" 2 2026-01-31 \S+ 4.0 s 40 10/s addBatch 0.7 s, queryPlanning 0.1 s 1 2026", batches)
    assert "Rows a second, at most 40/s" in text


def test_a_query_and_those_who_read_the_same_lead_to_each_other(
    open_page: OpenPage, written: Written, driver: Driver, shown_broker: ApacheKafka | EmbeddedBroker
) -> None:
    topic = written("a")
    with Consumer(shown_broker.bootstrap, group_id=f"{topic}/g") as consumer:
        consumer.commit({(topic, 0): 1})
    driver.ended(topic, 1, 1)
    page = open_page(listener=driver.url)
    of_query = page.get("/query", params={"id": "id-1"}).text
    assert f'href="/group?id={topic}%2Fg"' in of_query
    assert f'href="/topics/{topic}"' in of_query
    assert 'href="/query?id=id-1"' in page.get("/group", params={"id": f"{topic}/g"}).text


def test_a_query_that_is_stalled_stands_out_and_says_why(
    open_page: OpenPage, written: Written, driver: Driver
) -> None:
    topic = written("a", "b", "c")
    for batch in range(5):
        driver.ended(topic, batch, 1)
    page = open_page(listener=driver.url)
    assert "stands-out" not in page.get("/queries").text
    driver.seconds = 300.0
    listed = page.get("/queries").text
    reason = "No batch has ended for 5 min, though 2 records wait; one usually ends every 10 s."
    assert 'class="stands-out bad"' in listed
    assert reason in listed
    assert reason in page.get("/query", params={"id": "id-1"}).text


def test_a_query_that_falls_behind_stands_out(
    open_page: OpenPage, written: Written, driver: Driver, eventually: Callable[..., object]
) -> None:
    topic = written("a")
    driver.ended(topic, 1, 1)
    page = open_page(listener=driver.url, sample_seconds=0.05)
    position = 0

    def stands_out() -> bool:
        # As if more and more were left to read.
        nonlocal position
        position -= 20
        driver.ended(topic, 1, position)
        return "It falls behind" in page.get("/queries").text

    eventually(stands_out)
    assert "Lag in records, at most" in text_of(page.get("/query", params={"id": "id-1"}).text)


def test_a_listener_of_an_earlier_release_tells_less(open_page: OpenPage, written: Written) -> None:
    topic = written("a", "b")
    partition = {"topic": topic, "partition": 0, "position": 1, "rows_per_second": 2.0}
    query = {
        "id": "id-1",
        "name": None,
        "is_running": True,
        "error": None,
        "batch_id": 3,
        "batch_began": "2026-01-31T12:00:00.000Z",
        "sources": [{"partitions": [partition]}],
    }
    status = Page("application/json", lambda: json.dumps({"queries": [query]}).encode())
    server = PageServer("127.0.0.1", 0, {"/status": status})
    try:
        page = open_page(listener=server.url)
        assert "id-1" in page.get("/queries").text
        assert f"{topic}-0" in page.get("/query", params={"id": "id-1"}).text
    finally:
        server.close()
