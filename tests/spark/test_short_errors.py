"""What Spark shows of the mistakes that are made most: what is wrong, and what to do, is the last line before
Spark's own, and none of our own frames hides it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.errors import BarnabasError, KafkaTimeoutError
from barnabas.spark.short_errors import short_errors, short_errors_of_rows

from .conftest import Kafka

HURRIED = {"kafka.default.api.timeout.ms": "1000", "kafka.request.timeout.ms": "1000"}
ASIDE = {"fetchOffset.retryIntervalMs": "10"}


def shown_of(query: Callable[[], object]) -> list[str]:
    """The lines that Spark shows of what a query fails with, up to its own at the end."""
    with pytest.raises(Exception, match="Traceback") as raised:
        query()
    lines = str(raised.value).splitlines()
    ends = [number for number, line in enumerate(lines) if line.strip().startswith("SQLSTATE")]
    return lines[: ends[0]] if ends else lines


def check(query: Callable[[], object], last_line: str) -> None:
    """Our last line is the last one, and the only one of our files in it is that of the boundary."""
    lines = shown_of(query)
    assert re.fullmatch(last_line, lines[-1]), lines[-1]
    files = [line for line in lines if re.search(r'File ".*/barnabas/', line)]
    assert len(files) == 1, files
    assert "/barnabas/spark/short_errors.py" in files[0]
    assert not [line for line in lines if line.startswith(("The above exception", "During handling"))]


Run = Callable[[dict[str, Any]], object]


@pytest.fixture(params=["batch", "stream"])
def run(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    real_kafka: Kafka,
    read: Callable[..., DataFrame],
    read_stream: Callable[..., DataFrame],
    tmp_path: Path,
) -> Run:
    """Reads with these options, to the end."""

    def read_all(options: dict[str, Any]) -> object:
        return read(real_kafka, **options).count()

    def stream_all(options: dict[str, Any]) -> object:
        writer = read_stream(real_kafka, **options).writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        try:
            return query.awaitTermination(60)
        finally:
            query.stop()

    return read_all if request.param == "batch" else stream_all


def test_a_topic_that_is_missing(run: Run) -> None:
    check(
        lambda: run({"subscribe": "nope"} | ASIDE),
        r"barnabas.*UnknownTopicOrPartitionError: topic 'nope' does not exist: create it, or check .*",
    )


def test_a_broker_that_is_away(run: Run, free_port: int) -> None:
    address = f"127.0.0.1:{free_port}"
    check(
        lambda: run({"subscribe": "topic", "kafka.bootstrap.servers": address} | HURRIED),
        rf"barnabas.*Error: none of .*answered within \w+=1000: {address}: .*; check these addresses, "
        "and whether brokers run there",
    )


def test_an_option_that_is_not_known(run: Run) -> None:
    check(
        lambda: run({"subscribe": "topic", "startingOfsets": "earliest"}),
        r"barnabas.*UnsupportedOptionError: option .* is not supported by barnabas; did you mean "
        r"'startingOffsets'\?.*",
    )


def test_starting_offsets_that_cannot_be_read(run: Run) -> None:
    check(
        lambda: run({"subscribe": "topic", "startingOffsets": "erliest"}),
        r"barnabas.*InvalidOptionError: startingOffsets must be earliest, latest or JSON by partition, not "
        "'erliest'",
    )


def test_starting_offsets_of_a_partition_that_is_missing(run: Run, real_kafka: Kafka) -> None:
    topic = real_kafka.create(1)
    check(
        lambda: run({"subscribe": topic, "startingOffsets": f'{{"{topic}": {{"7": 0}}}}'}),
        rf"barnabas.*Error: startingOffsets must name every partition; it leaves out {topic}-0.*",
    )


def test_offsets_that_were_deleted(run: Run, real_kafka: Kafka) -> None:
    topic = real_kafka.create(1)
    real_kafka.write(topic, [b"v"] * 10)
    real_kafka.delete_records_before(topic, 0, 5)
    check(
        lambda: run({"subscribe": topic, "startingOffsets": f'{{"{topic}": {{"0": 2}}}}'}),
        rf"barnabas.*DataLossError: {topic}-0: offsets? .* To read on with what is there, set the option "
        "failOnDataLoss to false",
    )


def test_a_record_that_cannot_be_read(run: Run, real_kafka: Kafka) -> None:
    topic = real_kafka.create(1)
    real_kafka.write(topic, [b"no json"])
    check(
        lambda: run(
            {
                "subscribe": topic,
                "startingOffsets": "earliest",
                "value.format": "json",
                "value.schema": "a int",
            }
        ),
        rf"barnabas.*UnreadableRecordError: {topic}-0 at offset 0: the value cannot be read as json.*",
    )


@pytest.fixture
def write(spark: SparkSession, real_kafka: Kafka) -> Callable[..., None]:
    rows = spark.createDataFrame([(b"k", b"v")], "key binary, value binary")

    def start(columns: list[str], **options: str) -> None:
        writer = rows.selectExpr(*columns).write.format("barnabas").mode("append")
        writer.options(**{"kafka.bootstrap.servers": real_kafka.bootstrap} | options).save()

    return start


def test_a_write_to_a_topic_that_is_missing(write: Callable[..., None]) -> None:
    options = {"topic": "nope", "kafka.max.block.ms": "1000", "kafka.allow.auto.create.topics": "false"}
    check(
        lambda: write(["value"], **options),
        r"barnabas.*UnknownTopicOrPartitionError: topic 'nope': not known to the cluster within "
        r"max_block_ms=1000; create it first.*",
    )


def test_a_write_to_nowhere(write: Callable[..., None]) -> None:
    last_line = r"barnabas.*InvalidRowsError: where to\? Give the option topic, or a column of that name"
    check(lambda: write(["value"]), last_line)


def test_a_write_of_a_column_that_is_no_bytes(write: Callable[..., None]) -> None:
    last_line = (
        "barnabas.*InvalidRowsError: column 'value' must be string or binary, not int; or give value.format"
    )
    check(lambda: write(["1 as value"], topic="topic"), last_line)


def test_rows_without_a_topic(write: Callable[..., None]) -> None:
    last_line = (
        "barnabas.*InvalidRowsError: column 'topic' is null in 1 of 1 rows; give the option topic, or .*"
    )
    check(lambda: write(["value", "cast(null as string) as topic"]), last_line)


def test_a_fault_keeps_the_way_that_it_came_and_that_of_an_error_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def deeper(error: Exception) -> None:
        raise error from OSError("the cause")

    @short_errors
    def called(error: Exception) -> None:
        deeper(error)

    @short_errors_of_rows
    def rows(error: Exception) -> Iterator[int]:
        yield 1
        deeper(error)

    for call in (called, lambda error: list(rows(error))):
        with pytest.raises(ZeroDivisionError) as fault:
            call(ZeroDivisionError())
        assert "deeper" in [entry.name for entry in fault.traceback]
        assert isinstance(fault.value.__cause__, OSError)
        with caplog.at_level(logging.DEBUG), pytest.raises(BarnabasError) as error:
            call(KafkaTimeoutError("too late"))
        assert "deeper" not in [entry.name for entry in error.traceback]
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__
        assert "in deeper" in caplog.text
        assert "the cause" in caplog.text
        caplog.clear()
