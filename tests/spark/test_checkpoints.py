"""Checkpoints of Spark's own Kafka connector go on under ours, and ours under it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.spark.conftest import Kafka, Message

from barnabas.spark.planning.offsets import from_document, to_document

TIMEOUT_SECONDS = 150
SPARKS_OWN, OURS = "kafka", "barnabas"
BOTH_WAYS = [pytest.param(SPARKS_OWN, OURS, id="to ours"), pytest.param(OURS, SPARKS_OWN, id="to Spark's")]


def numbered(start: int, end: int, partition: int = 0) -> list[Message]:
    return [Message(b"%d" % number, partition=partition) for number in range(start, end)]


def values(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


class Query:
    """A query whose connector is changed between runs. Its rows stay, batch by batch."""

    def __init__(self, spark: SparkSession, kafka: Kafka, folder: Path) -> None:
        self.spark, self.kafka, self.checkpoint = spark, kafka, folder / "checkpoint"
        self.batches: list[list[bytes]] = []
        self.fails = False

    def stream(self, connector: str, topic: str, **options: object) -> DataFrame:
        reader = self.spark.readStream.format(connector).option("subscribe", topic)
        return reader.option("kafka.bootstrap.servers", self.kafka.bootstrap).options(**options).load()

    def run(self, frame: DataFrame) -> None:
        def handle(batch: DataFrame, batch_id: int) -> None:
            if self.fails:
                raise RuntimeError("the sink is broken")
            self.batches.append(sorted((bytes(row.value) for row in batch.collect()), key=int))

        writer = frame.writeStream.foreachBatch(handle).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.checkpoint)).start()
        assert query.awaitTermination(TIMEOUT_SECONDS)

    def run_until_the_sink_breaks(self, frame: DataFrame) -> None:
        self.fails = True
        with pytest.raises(StreamingQueryException, match="the sink is broken"):
            self.run(frame)
        self.fails = False

    def rows(self) -> list[bytes]:
        return sorted((value for batch in self.batches for value in batch), key=int)

    def carry_over(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "barnabas.cli", "pipeline", "carry-over", str(self.checkpoint)]
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)

    def offsets(self, batch: int, source: int = 0) -> object:
        lines = (self.checkpoint / "offsets" / str(batch)).read_text().splitlines()
        return to_document(from_document(json.loads(lines[2 + source])))


@pytest.fixture
def query(spark: SparkSession, real_kafka: Kafka, tmp_path: Path) -> Query:
    return Query(spark, real_kafka, tmp_path)


@pytest.mark.parametrize(("first", "second"), BOTH_WAYS)
def test_a_checkpoint_goes_on_under_the_other_connector_and_back_again(
    query: Query, first: str, second: str
) -> None:
    topic = query.kafka.create(12)
    for run, connector in enumerate([first, second, first, second]):
        query.kafka.write(
            topic, numbered(run * 20, run * 20 + 10) + numbered(run * 20 + 10, run * 20 + 20, 11)
        )
        query.run(query.stream(connector, topic, startingOffsets="earliest", maxOffsetsPerTrigger=15))
    assert query.rows() == values(0, 80)
    assert all(len(batch) < 20 for batch in query.batches)


@pytest.mark.parametrize(("first", "second"), BOTH_WAYS)
def test_the_first_batch_alone_is_enough_to_go_on_from(query: Query, first: str, second: str) -> None:
    topic = query.kafka.create(2)
    query.kafka.write(topic, numbered(0, 5))
    query.run(query.stream(first, topic, startingOffsets="earliest"))
    assert query.batches == [values(0, 5)]
    query.kafka.write(topic, numbered(5, 9, 1))
    query.run(query.stream(second, topic))
    assert query.rows() == values(0, 9)


@pytest.mark.parametrize(("first", "second"), BOTH_WAYS)
def test_a_later_batch_that_failed_is_repeated_by_the_other_connector(
    query: Query, first: str, second: str
) -> None:
    topic = query.kafka.create(2)
    query.kafka.write(topic, numbered(0, 5))
    query.run(query.stream(first, topic, startingOffsets="earliest"))
    query.kafka.write(topic, numbered(5, 9))
    query.run_until_the_sink_breaks(query.stream(first, topic))
    query.kafka.write(topic, numbered(9, 12, 1))
    query.run(query.stream(second, topic))
    assert query.batches == [values(0, 5), values(5, 9), values(9, 12)]


@pytest.mark.parametrize(("first", "second"), BOTH_WAYS)
def test_a_first_batch_that_failed_is_repeated_by_the_other_connector_once_carried_over(
    query: Query, first: str, second: str
) -> None:
    """A new query begins at "latest", which is later when the other connector asks for it."""
    topic = query.kafka.create(2)
    query.kafka.write(topic, numbered(0, 3))
    query.kafka.write(topic, numbered(3, 8))
    query.run_until_the_sink_breaks(
        query.stream(first, topic, startingOffsets=json.dumps({topic: {"0": 3, "1": 0}}))
    )
    query.kafka.write(topic, numbered(8, 10, 1))
    shown = query.carry_over()
    assert json.loads(shown.stdout) == {topic: {"0": 3, "1": 0}}
    assert "not done, say --execute" in shown.stderr
    assert "not done" not in query.carry_over("--execute").stderr
    assert "as it is" in query.carry_over().stderr
    query.run(query.stream(second, topic, startingOffsets="latest"))
    assert query.batches == [values(3, 8), values(8, 10)]


def test_a_first_batch_that_failed_under_sparks_connector_is_not_guessed(query: Query) -> None:
    topic = query.kafka.create()
    query.kafka.write(topic, numbered(0, 3))
    query.run_until_the_sink_breaks(query.stream(SPARKS_OWN, topic, startingOffsets="earliest"))
    with pytest.raises(StreamingQueryException, match="barnabas pipeline carry-over CHECKPOINT --execute"):
        query.run(query.stream(OURS, topic, startingOffsets="latest"))
    query.run(query.stream(OURS, topic, startingOffsets="earliest"))
    # The JSON has ids of topics now, so Spark makes an empty batch of that.
    assert query.batches == [values(0, 3), []]


@pytest.mark.parametrize(("first", "second"), BOTH_WAYS)
def test_each_source_of_a_query_goes_on_from_its_own_offsets(query: Query, first: str, second: str) -> None:
    left, right = query.kafka.create(), query.kafka.create(3)

    def both(left_connector: str, right_connector: str) -> DataFrame:
        options = {"startingOffsets": "earliest"}
        return query.stream(left_connector, left, **options).union(
            query.stream(right_connector, right, **options)
        )

    for run, connectors in enumerate([(first, first), (second, second), (first, second), (second, first)]):
        query.kafka.write(left, numbered(run * 10, run * 10 + 4))
        query.kafka.write(right, numbered(run * 10 + 4, run * 10 + 10, 2))
        query.run(both(*connectors))
    assert query.rows() == values(0, 40)
    assert [query.offsets(3, source) for source in (0, 1)] == [
        {left: {"0": 16}},
        {right: {"0": 0, "1": 0, "2": 24}},
    ]


@pytest.mark.parametrize(("first", "second"), BOTH_WAYS)
def test_state_that_a_query_keeps_goes_on_under_the_other_connector(
    query: Query, first: str, second: str
) -> None:
    topic = query.kafka.create()
    for run, connector in enumerate([first, second, first]):
        query.kafka.write(topic, numbered(run * 5, run * 5 + 10))
        stream = query.stream(connector, topic, startingOffsets="earliest", includeHeaders="true")
        query.run(stream.dropDuplicates(["topic", "value"]))
    assert query.rows() == values(0, 20)


@pytest.mark.parametrize(("first", "second"), BOTH_WAYS)
def test_partitions_found_under_the_other_connector_begin_at_their_first_record(
    query: Query, first: str, second: str
) -> None:
    topic = query.kafka.create()
    query.kafka.write(topic, numbered(0, 5))
    query.run(query.stream(first, topic, startingOffsets="earliest"))
    query.kafka.grow(topic, 2)
    query.kafka.write(topic, numbered(5, 9, 1))
    query.run(query.stream(second, topic))
    assert query.rows() == values(0, 9)
