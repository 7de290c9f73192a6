"""`barnabas ui` shows what is in the checkpoint of a query, running or not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from starlette.testclient import TestClient
from tests.spark.conftest import Kafka, Message

from barnabas.spark.listener import PipelineListener
from barnabas.ui.app import make_app
from barnabas.ui.settings import UiSettings

TIMEOUT_SECONDS = 150
CONNECTORS = pytest.mark.parametrize("connector", ["kafka", "barnabas"])
Row = list[str]


class Query:
    """A query that ends when it has read what there is, into a sink that can be broken."""

    def __init__(self, spark: SparkSession, kafka: Kafka, checkpoint: Path) -> None:
        self.spark, self.kafka, self.checkpoint = spark, kafka, checkpoint

    def run(self, connector: str, *topics: str, is_broken: bool = False, **options: object) -> None:
        frames = [self._stream(connector, topic, options) for topic in topics]
        frame = frames[0]
        for other in frames[1:]:
            frame = frame.union(other)

        def handle(batch: DataFrame, batch_id: int) -> None:
            if is_broken:
                raise RuntimeError("the sink is broken")
            batch.collect()

        writer = frame.writeStream.foreachBatch(handle).trigger(availableNow=True).queryName("delays")
        query = writer.option("checkpointLocation", str(self.checkpoint)).start()
        if is_broken:
            with pytest.raises(StreamingQueryException, match="the sink is broken"):
                query.awaitTermination(TIMEOUT_SECONDS)
        else:
            assert query.awaitTermination(TIMEOUT_SECONDS)

    def _stream(self, connector: str, topic: str, options: dict[str, object]) -> DataFrame:
        reader = self.spark.readStream.format(connector).option("subscribe", topic)
        reader = reader.option("kafka.bootstrap.servers", self.kafka.bootstrap)
        return reader.options(startingOffsets="earliest", **options).load()

    @property
    def id(self) -> str:
        return json.loads((self.checkpoint / "metadata").read_text())["id"]


@contextmanager
def page_on(kafka: Kafka, *checkpoints: object, listener: str | None = None) -> Iterator[TestClient]:
    settings = UiSettings(
        client={"bootstrap_servers": kafka.bootstrap},
        checkpoints=tuple(map(str, checkpoints)),
        listener=listener,
    )
    with TestClient(make_app(settings), base_url="http://127.0.0.1") as page:
        yield page


def rows(html: str) -> list[Row]:
    """What the last table shows."""
    body = html.rpartition("<tbody>")[2].partition("</tbody>")[0]
    found = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in found]


def shown(page: TestClient, place: object) -> str:
    answer = page.get("/query/checkpoint", params={"at": str(place)})
    assert answer.status_code == 200
    return answer.text


@pytest.fixture
def query(spark: SparkSession, real_kafka: Kafka, tmp_path: Path) -> Query:
    return Query(spark, real_kafka, tmp_path / "of-delays")


@CONNECTORS
def test_what_is_committed_and_what_is_left_is_shown_of_a_query_that_is_down(
    query: Query, connector: str
) -> None:
    topic, place = query.kafka.create(2), query.checkpoint
    query.kafka.write(topic, [*[b"x"] * 6, *[Message(b"y", partition=1)] * 2])
    query.run(connector, topic)
    query.kafka.write(topic, [b"x"] * 3)
    with page_on(query.kafka, place) as page:
        assert rows(page.get("/queries").text) == [["of-delays", "0", "0", "–", str(place), "3"]]
        text = shown(page, place)
        assert rows(text) == [[f"{topic}-0", "6", "6", "9", "3"], [f"{topic}-1", "2", "2", "2", "0"]]
        assert query.id in text
        assert "not committed" not in text


@CONNECTORS
def test_a_batch_that_was_planned_and_not_committed_is_told_with_its_records(
    query: Query, connector: str
) -> None:
    topic, place = query.kafka.create(), query.checkpoint
    query.kafka.write(topic, [b"x"] * 2)
    query.run(connector, topic)
    query.kafka.write(topic, [b"x"] * 5)
    query.run(connector, topic, is_broken=True)
    query.kafka.write(topic, [b"x"])
    with page_on(query.kafka, place) as page:
        assert rows(page.get("/queries").text) == [["of-delays", "0", "1", "1", str(place), "6"]]
        text = shown(page, place)
        assert rows(text) == [[f"{topic}-0", "2", "7", "8", "6"]]
        assert "Planned and not committed: batch 1, 5 records." in text


@CONNECTORS
def test_a_first_batch_that_is_not_committed_is_told_from_where_it_began(
    query: Query, connector: str
) -> None:
    topic, place = query.kafka.create(), query.checkpoint
    query.kafka.write(topic, [b"x"] * 4)
    query.run(connector, topic, is_broken=True)
    with page_on(query.kafka, place) as page:
        assert rows(page.get("/queries").text) == [["of-delays", "–", "0", "0", str(place), "4"]]
        assert rows(shown(page, place)) == [[f"{topic}-0", "0", "4", "4", "4"]]


def test_partitions_are_told_with_their_source_where_a_query_has_several(query: Query) -> None:
    left, right = sorted((query.kafka.create(), query.kafka.create()))
    query.kafka.write(left, [b"x"])
    query.kafka.write(right, [b"x"] * 2)
    query.run("barnabas", left, right)
    with page_on(query.kafka, query.checkpoint) as page:
        assert rows(shown(page, query.checkpoint)) == [
            [f"{left}-0", "0", "1", "1", "1", "0"],
            [f"{right}-0", "1", "2", "2", "2", "0"],
        ]


def test_a_checkpoint_is_read_from_a_file_system_of_pyarrow(query: Query) -> None:
    topic = query.kafka.create()
    query.kafka.write(topic, [b"x"] * 2)
    query.run("barnabas", topic)
    place = query.checkpoint.as_uri()
    with page_on(query.kafka, place) as page:
        assert rows(page.get("/queries").text) == [["of-delays", "0", "0", "–", place, "0"]]
        assert rows(shown(page, place)) == [[f"{topic}-0", "2", "2", "2", "0"]]


def test_a_query_and_its_checkpoint_lead_to_each_other_while_the_driver_is_up(query: Query) -> None:
    topic, place = query.kafka.create(), query.checkpoint
    query.kafka.write(topic, [b"x"])
    with PipelineListener(port=0) as listener:
        query.spark.streams.addListener(listener)
        try:
            query.run("barnabas", topic)
            with page_on(query.kafka, place, listener=str(listener.url)) as page:
                assert rows(page.get("/queries").text)[0][0] == "delays"
                assert str(place) in page.get("/query", params={"id": query.id}).text
                assert f'href="/query?id={query.id}"' in shown(page, place)
        finally:
            query.spark.streams.removeListener(listener)
    with page_on(query.kafka, place, listener=str(listener.url)) as page:
        text = page.get("/queries").text
        assert "does not answer" in text
        assert rows(text) == [["of-delays", "0", "0", "–", str(place), "0"]]
        assert page.get("/query", params={"id": query.id}).status_code == 502


def test_the_lag_of_a_topic_that_is_gone_is_not_known(query: Query) -> None:
    topic = query.kafka.create()
    query.kafka.write(topic, [b"x"])
    query.run("barnabas", topic)
    query.kafka.delete(topic)
    with page_on(query.kafka, query.checkpoint) as page:
        assert rows(shown(page, query.checkpoint)) == [[f"{topic}-0", "1", "1", "–", "–"]]
