"""Writing DataFrames to topics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.spark.conftest import Kafka, Message

TIMEOUT_SECONDS = 120


def write(frame: DataFrame, kafka: Kafka, mode: str = "append", **options: Any) -> None:
    options = {"kafka.bootstrap.servers": kafka.bootstrap} | options
    frame.write.format("barnabas").mode(mode).options(**options).save()


@pytest.fixture
def rows(spark: SparkSession) -> Callable[..., DataFrame]:
    """`rows(["key string", ...], [...])` in one partition, so that the order is that of the list."""

    def make(schema: str, data: list[tuple[Any, ...]]) -> DataFrame:
        return spark.createDataFrame(data, schema).coalesce(1)

    return make


@pytest.mark.integration
def test_strings_and_bytes_are_written(kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    topic = kafka.create()
    write(rows("key string, value binary", [("k", b"v"), (None, b""), ("", None)]), kafka, topic=topic)
    write(rows("key binary, value string", [(b"k", "é")]), kafka, topic=topic)
    write(rows("value string", [("alone",)]), kafka, topic=topic)
    assert kafka.read(topic, 5) == [
        Message(b"v", b"k"),
        Message(b"", None),
        Message(None, b""),
        Message("é".encode(), b"k"),
        Message(b"alone", None),
    ]


def test_headers_timestamp_and_partition_are_written(kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    topic = kafka.create(3)
    schema = (
        "value string, headers array<struct<key string, value binary>>, "
        "partition int, millis long, other date"
    )
    data = [
        ("a", [("h", b"1"), ("h", None)], 2, 1_372_636_800_123, None),
        ("b", None, 1, 1, None),
        ("c", [], 1, 2, None),
    ]
    write(rows(schema, data).withColumn("timestamp", f.timestamp_millis("millis")), kafka, topic=topic)
    written = kafka.read(topic, 3)
    assert written == [
        Message(b"b", None, 1),
        Message(b"c", None, 1),
        Message(b"a", None, 2, (("h", b"1"), ("h", None))),
    ]
    assert [message.timestamp for message in written] == [1, 2, 1_372_636_800_123]


def test_rows_without_a_partition_go_where_javas_client_puts_them(
    kafka: Kafka, rows: Callable[..., DataFrame]
) -> None:
    topic, expected = kafka.create(8), kafka.create(8)
    keys = [f"key {number}" for number in range(50)]
    data = [(key, key, None) for key in keys]
    write(rows("key string, value string, partition int", data), kafka, topic=topic)
    messages = [Message(key.encode(), key.encode(), partition=-1) for key in keys]
    kafka.write(expected, messages, partitioner="murmur2_random")
    assert kafka.read(topic, 50) == kafka.read(expected, 50)


def test_a_column_sends_each_row_to_its_topic_in_order(kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    topics = [kafka.create() for _ in range(3)]
    data = [(f"{number}", topics[number % 3]) for number in range(300)]
    write(rows("value string, topic string", data), kafka)
    for remainder, topic in enumerate(topics):
        assert [message.value for message in kafka.read(topic, 100)] == [
            b"%d" % number for number in range(remainder, 300, 3)
        ]


def test_the_option_topic_overrules_the_column(kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    topic, other = kafka.create(), kafka.create()
    write(rows("value string, topic string", [("a", other), ("b", None)]), kafka, topic=topic)
    assert [message.value for message in kafka.read(topic, 2)] == [b"a", b"b"]
    assert kafka.count(other) == 0


def test_what_was_read_can_be_written_as_it_is(
    kafka: Kafka, read: Callable[..., DataFrame], rows: Callable[..., DataFrame]
) -> None:
    topic, copy = kafka.create(2), kafka.create(2)
    messages = [
        Message(b"%d" % number, b"k", number % 2, (("h", b"%d" % number),), timestamp=1_000 + number)
        for number in range(10)
    ]
    kafka.write(topic, messages)
    write(read(kafka, subscribe=topic, includeHeaders="true"), kafka, topic=copy)
    original, copied = kafka.read(topic, 10), kafka.read(copy, 10)
    assert copied == original
    assert [message.timestamp for message in copied] == [message.timestamp for message in original]


def test_many_rows_from_several_tasks_all_arrive(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.create(3)
    frame = spark.range(0, 20_000, numPartitions=4).selectExpr("cast(id as string) value")
    write(frame, kafka, topic=topic, **{"kafka.compression.type": "zstd"})
    assert sorted(int(message.value or b"") for message in kafka.read(topic, 20_000)) == list(range(20_000))
    assert kafka.count(topic) == 20_000


def test_no_rows_are_written_well(kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    topic = kafka.create()
    write(rows("value string", []), kafka, topic=topic)
    assert kafka.count(topic) == 0


def test_a_row_without_a_topic_fails_the_write(kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    with pytest.raises(PySparkException, match="column 'topic' is null in 1 of 2 rows"):
        write(rows("value string, topic string", [("a", kafka.create()), ("b", None)]), kafka)


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ("key string", {"topic": "t"}, "required column 'value' is missing"),
        ("value int", {"topic": "t"}, "column 'value' must be string or binary, not int"),
        ("value string, key double", {"topic": "t"}, "column 'key' must be string or binary, not double"),
        ("value string, partition long", {"topic": "t"}, "column 'partition' must be int, not bigint"),
        ("value string, timestamp long", {"topic": "t"}, "column 'timestamp' must be timestamp, not bigint"),
        ("value string, headers string", {"topic": "t"}, "column 'headers' must be array<struct"),
        ("value string, topic binary", {}, "column 'topic' must be string, not binary"),
        ("value string", {}, "Give the option topic, or a column"),
        ("value string", {"topic": "t", "startingOffsets": "latest"}, "means nothing to a write"),
        ("value string", {"topic": "t", "kafka.acks": "some"}, "acks must be one of"),
        ("value string", {"topic": "t", "kafka.partitioner.class": "x"}, "names a Java class"),
    ],
)
def test_rows_and_options_that_cannot_work_are_refused_before_anything_runs(
    real_kafka: Kafka, rows: Callable[..., DataFrame], schema: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        write(rows(schema, []), real_kafka, **options)


def test_a_topic_cannot_be_overwritten(real_kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    with pytest.raises(PySparkException, match="cannot be overwritten, only appended"):
        write(rows("value string", []), real_kafka, mode="overwrite", topic="t")


def test_a_row_larger_than_the_topic_takes_fails_the_write(
    kafka: Kafka, rows: Callable[..., DataFrame]
) -> None:
    topic = kafka.create(config={"max.message.bytes": "10000"})
    with pytest.raises(PySparkException, match=rf"(?s){topic}.*MESSAGE_TOO_LARGE|{topic}.*larger"):
        write(rows("value string", [("small",), ("x" * 50_000,)]), kafka, topic=topic)


def test_a_missing_topic_fails_the_write_in_time(real_kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    with pytest.raises(PySparkException, match="no such topic"):
        write(
            rows("value string", [("a",)]), real_kafka, topic="no such topic", **{"kafka.max.block.ms": 2000}
        )


def test_a_partition_that_does_not_exist_fails_the_write(
    kafka: Kafka, rows: Callable[..., DataFrame]
) -> None:
    topic = kafka.create(2)
    with pytest.raises(PySparkException, match=rf"(?s){topic}.*\b7\b"):
        write(rows("value string, partition int", [("a", 7)]), kafka, topic=topic)


def test_a_failed_write_does_not_spoil_the_next(kafka: Kafka, rows: Callable[..., DataFrame]) -> None:
    topic = kafka.create()
    with pytest.raises(PySparkException):
        write(rows("value string, partition int", [("a", 7)]), kafka, topic=topic)
    write(rows("value string", [("b",)]), kafka, topic=topic)
    assert kafka.read(topic, 1) == [Message(b"b")]


@pytest.mark.from_pyspark_4_2
def test_a_stream_is_written_and_goes_on_after_a_restart(
    kafka: Kafka, read_stream: Callable[..., DataFrame], tmp_path: Path
) -> None:
    source, target = kafka.create(2), kafka.create(2)

    def copy() -> None:
        stream = read_stream(kafka, subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=40)
        writer = stream.select("key", "value", "partition").writeStream.format("barnabas").queryName("copy")
        options = {
            "kafka.bootstrap.servers": kafka.bootstrap,
            "topic": target,
            "checkpointLocation": str(tmp_path / "checkpoint"),
        }
        query = writer.options(**options).trigger(availableNow=True).start()
        assert query.awaitTermination(TIMEOUT_SECONDS)

    for start in (0, 100):
        messages = [Message(b"%d" % number, b"k", number % 2) for number in range(start, start + 100)]
        kafka.write(source, messages)
        copy()
        assert kafka.read(target, start + 100) == kafka.read(source, start + 100)
    assert kafka.count(target) == 200


def test_a_stream_that_cannot_be_written_fails_with_the_reason(
    kafka: Kafka, read_stream: Callable[..., DataFrame], tmp_path: Path
) -> None:
    source, target = kafka.create(), kafka.create(config={"max.message.bytes": "10000"})
    kafka.write(source, [b"x" * 50_000])
    stream = read_stream(kafka, subscribe=source, startingOffsets="earliest").select("value")
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": target}
    writer = stream.writeStream.format("barnabas").options(**options).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(StreamingQueryException, match=rf"(?s){target}.*MESSAGE_TOO_LARGE|{target}.*larger"):
        query.awaitTermination(TIMEOUT_SECONDS)
