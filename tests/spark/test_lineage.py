"""Lineage of streaming queries: the events that OpenLineage's client sends to a receiver and to a file."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from openlineage.client import OpenLineageClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryProgress,
)
from tests.spark.conftest import Kafka

from barnabas.errors import InvalidSettingError
from barnabas.spark.lineage import LineageListener, dataset_namespace
from barnabas.spark.planning.offsets import Document
from barnabas.testing import EmbeddedBroker

TIMEOUT_SECONDS = 120
Read = Callable[..., DataFrame]
Events = list[dict[str, Any]]


@pytest.fixture
def embedded(embedded_broker: EmbeddedBroker) -> Kafka:
    """One kind of broker is enough: lineage is made of what Spark tells."""
    return Kafka(embedded_broker.bootstrap)


@pytest.fixture
def receiver() -> Iterator[tuple[str, Events]]:
    """Where events are sent, and those that came."""
    events: Events = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            events.append(json.loads(body) | {"path": self.path})
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", events
        server.shutdown()
        thread.join()


@pytest.fixture
def listen(spark: SparkSession) -> Iterator[Callable[[LineageListener], None]]:
    added: list[LineageListener] = []

    def add(listener: LineageListener) -> None:
        spark.streams.addListener(listener)
        added.append(listener)

    yield add
    for listener in added:
        spark.streams.removeListener(listener)
        listener.close()


class ToldQuery:
    """A query as Spark tells a listener of it, by Spark's own events."""

    def __init__(self, name: str | None) -> None:
        self._ids = uuid.uuid4(), uuid.uuid4()
        self.id = str(self._ids[0])
        self._name = name

    def started(self) -> QueryStartedEvent:
        return QueryStartedEvent(*self._ids, self._name, "2026-01-31T12:00:00.000Z", set())

    def progress(self, start: Document, end: Document) -> QueryProgressEvent:
        source = {
            "description": "flights",
            "startOffset": start,
            "endOffset": end,
            "latestOffset": end,
            "numInputRows": 1,
            "inputRowsPerSecond": 1.0,
            "processedRowsPerSecond": 1.0,
            "metrics": {},
        }
        told: dict[str, Any] = {
            "id": self.id,
            "runId": str(self._ids[1]),
            "name": self._name,
            "timestamp": "2026-01-31T12:00:00.000Z",
            "batchId": 0,
            "batchDuration": 5,
            "durationMs": {},
            "eventTime": {},
            "stateOperators": [],
            "sources": [source],
            "sink": {"description": "noop", "numOutputRows": -1, "metrics": {}},
            "numInputRows": 1,
            "inputRowsPerSecond": 1.0,
            "processedRowsPerSecond": 1.0,
            "observedMetrics": {},
        }
        return QueryProgressEvent(StreamingQueryProgress.fromJson(told))

    def terminated(self, error: str | None) -> QueryTerminatedEvent:
        return QueryTerminatedEvent(*self._ids, error, None)


def states(events: Events, job: str) -> list[str]:
    return [event["eventType"] for event in events if event["job"]["name"] == job]


def test_a_query_is_told_from_its_start_to_its_end_with_the_topics_it_reads_and_writes(
    embedded: Kafka,
    read_stream: Read,
    receiver: tuple[str, Events],
    listen: Callable[[LineageListener], None],
    eventually: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, events = receiver
    monkeypatch.setenv("OPENLINEAGE_URL", url)
    topic, other, copy = embedded.create(2), embedded.create(), embedded.create()
    embedded.write(topic, [b"x"] * 3)
    listen(
        LineageListener(
            f"{embedded.bootstrap},second:9092",
            outputs={"copy": [copy]},
            queries={"copy"},
            namespace="flights",
        )
    )
    stream = read_stream(embedded, subscribe=f"{topic},{other}", startingOffsets="earliest")
    # Spark's own sink: what a query writes to is told by the listener's settings alone.
    query = stream.writeStream.format("noop").queryName("copy").start()
    unnamed = stream.writeStream.format("noop").start()
    query.processAllAvailable()
    embedded.write(topic, [b"y"] * 2)
    query.processAllAvailable()
    query.stop()
    unnamed.stop()
    eventually(lambda: "COMPLETE" in states(events, "copy"), timeout=TIMEOUT_SECONDS)

    assert states(events, "copy") == ["START", "RUNNING", "COMPLETE"]
    assert {event["job"]["name"] for event in events} == {"copy"}
    assert {(event["run"]["runId"], event["job"]["namespace"]) for event in events} == {
        (str(query.runId), "flights")
    }
    assert {event["path"] for event in events} == {"/api/v1/lineage"}
    start, running, complete = events
    cluster = f"kafka://{embedded.bootstrap}"
    assert start["inputs"] == []
    assert [(each["namespace"], each["name"]) for each in running["inputs"]] == sorted(
        [(cluster, topic), (cluster, other)]
    )
    assert [(each["namespace"], each["name"]) for each in complete["outputs"]] == [(cluster, copy)]
    rows = {each["name"]: each["inputFacets"]["inputStatistics"]["rowCount"] for each in complete["inputs"]}
    assert rows == {topic: 5, other: 0}
    assert complete["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert complete["run"]["facets"]["processing_engine"]["name"] == "spark"


def test_a_query_that_fails_is_told_with_its_error_in_a_file(tmp_path: Path) -> None:
    written = tmp_path / "lineage.json"
    transport = {"type": "file", "log_file_path": str(written), "append": True}
    client = OpenLineageClient(config={"transport": transport})
    with LineageListener("broker:9092", client=client, running_interval_seconds=3600) as listener:
        query = ToldQuery(None)
        listener.onQueryStarted(query.started())
        for end in (3, 5):
            listener.onQueryProgress(query.progress({"flights": {"0": end - 1}}, {"flights": {"0": end}}))
        listener.onQueryProgress(
            query.progress({"flights": {"0": 5}}, {"flights": {"0": 6}, "new": {"0": 2}})
        )
        listener.onQueryTerminated(query.terminated("StreamingQueryException: no such topic\n\tat Somewhere"))
        # All was told of this run.
        listener.onQueryTerminated(query.terminated(None))
    events = [json.loads(line) for line in written.read_text().splitlines()]
    assert states(events, query.id) == ["START", "RUNNING", "RUNNING", "FAIL"]
    assert [[each["name"] for each in event["inputs"]] for event in events] == [
        [],
        ["flights"],
        ["flights", "new"],
        ["flights", "new"],
    ]
    error = events[-1]["run"]["facets"]["errorMessage"]
    assert error["message"] == "StreamingQueryException: no such topic"
    assert "at Somewhere" in error["stackTrace"]


@pytest.mark.integration
def test_a_query_that_began_before_the_listener_is_told_to_start_at_its_next_batch(
    receiver: tuple[str, Events], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, events = receiver
    monkeypatch.setenv("OPENLINEAGE_URL", url)
    with LineageListener("broker:9092", queries={"copy"}, output_bootstrap_servers="other:9093") as listener:
        for query in (ToldQuery("copy"), ToldQuery("another")):
            listener.onQueryProgress(query.progress({"flights": {"0": 1}}, {"flights": {"0": 4}}))
            listener.onQueryTerminated(query.terminated(None))
    assert [event["eventType"] for event in events] == ["START", "RUNNING", "COMPLETE"]
    assert {event["job"]["name"] for event in events} == {"copy"}


@pytest.mark.integration
def test_a_receiver_that_is_gone_ends_no_query_and_is_logged_once(
    free_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    transport = {"type": "http", "url": f"http://127.0.0.1:{free_port}", "retry": {"total": 0}}
    client = OpenLineageClient(config={"transport": transport})
    query = ToldQuery("alone")
    with LineageListener("broker:9092", client=client, running_interval_seconds=0) as listener:
        for end in range(5):
            listener.onQueryProgress(query.progress({"flights": {"0": 0}}, {"flights": {"0": end}}))
    told = [record for record in caplog.records if "was sent to OpenLineage" in record.getMessage()]
    assert [record.levelno for record in told] == [logging.WARNING]
    assert "no START of query alone" in told[0].getMessage()


def test_a_cluster_is_named_by_its_first_broker() -> None:
    assert dataset_namespace("one:9092, two:9092") == "kafka://one:9092"
    assert dataset_namespace("SASL_SSL://[::1]:9093") == "kafka://[::1]:9093"
    with pytest.raises(InvalidSettingError, match="'one' is not host:port"):
        LineageListener("one")
