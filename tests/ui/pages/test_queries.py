from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from starlette.testclient import TestClient

from barnabas.http.server import Page, PageServer
from barnabas.spark.queries.progress import BatchProgress, PartitionProgress, SourceProgress
from barnabas.spark.queries.query_figures import Queries
from barnabas.types import TopicPartition

OpenPage = Callable[..., TestClient]
Written = Callable[..., str]


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
