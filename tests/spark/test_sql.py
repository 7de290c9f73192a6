"""SQL on topics: views and tables, read and written, and what Spark refuses."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from tests.spark.conftest import Kafka, Message

from barnabas.spark.errors import InvalidOptionError, UnsupportedOptionError
from barnabas.spark.options import sink_options, source_options

BOTH_WAYS = {
    "kafka.bootstrap.servers": "localhost:9092",
    "subscribe": "flights",
    "topic": "delays",
    "includeheaders": "true",
    "delivery": "exactly-once",
    "maxoffsetspertrigger": "5",
    "kafka.isolation.level": "read_committed",
    "kafka.compression.type": "zstd",
}


@pytest.fixture
def name() -> str:
    return f"t_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def table(spark: SparkSession) -> Iterator[Callable[[], str]]:
    """`table()` is the name of a new table without options."""
    made: list[str] = []

    def create() -> str:
        made.append(f"t_{uuid.uuid4().hex[:12]}")
        spark.sql(f"CREATE TABLE {made[-1]} USING barnabas")
        return made[-1]

    yield create
    for each in made:
        spark.sql(f"DROP TABLE {each}")


def options(kafka: Kafka, **others: str) -> str:
    """As SQL lists them in OPTIONS and in WITH alike."""
    pairs = {"kafka.bootstrap.servers": kafka.bootstrap} | others
    return ", ".join(f"'{option}' = '{value}'" for option, value in pairs.items())


def test_a_view_is_read_and_inserted_into(spark: SparkSession, real_kafka: Kafka, name: str) -> None:
    topic = real_kafka.create()
    real_kafka.write(topic, [Message(b"1", b"a"), Message(b"2", b"b")])
    given = options(real_kafka, subscribe=topic, topic=topic)
    spark.sql(f"CREATE TEMPORARY VIEW {name} USING barnabas OPTIONS ({given})")
    query = f"SELECT CAST(key AS string) AS key, offset FROM {name} WHERE offset > 0"
    assert [tuple(row) for row in spark.sql(query).collect()] == [("b", 1)]
    spark.sql(f"INSERT INTO {name} (key, value) VALUES (X'63', X'33')")
    spark.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE offset = 0")
    assert [(each.key, each.value) for each in real_kafka.read(topic, 4)] == [
        (b"a", b"1"),
        (b"b", b"2"),
        (b"c", b"3"),
        (b"a", b"1"),
    ]
    with pytest.raises(PySparkException, match="a topic cannot be overwritten"):
        spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM {name}")


def test_a_table_takes_its_options_where_it_is_used(
    spark: SparkSession, real_kafka: Kafka, table: Callable[[], str]
) -> None:
    topic = real_kafka.create()
    real_kafka.write(topic, [b"1", b"2"])
    name = table()
    reading, writing = options(real_kafka, subscribe=topic), options(real_kafka, topic=topic)
    assert spark.sql(f"SELECT count(*) FROM {name} WITH ({reading})").first()[0] == 2
    spark.sql(f"INSERT INTO {name} WITH ({writing}) (value) VALUES (X'33')")
    given = {"kafka.bootstrap.servers": real_kafka.bootstrap, "subscribe": topic}
    assert spark.read.options(**given).table(name).count() == 3
    stream = spark.readStream.options(**given, startingOffsets="earliest").table(name)
    query = stream.writeStream.format("noop").trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert sum(progress.numInputRows for progress in query.recentProgress) == 3


def test_a_table_with_options_is_refused_since_spark_would_lose_them(
    spark: SparkSession, real_kafka: Kafka, name: str, table: Callable[[], str]
) -> None:
    given = options(real_kafka, subscribe="flights")
    with pytest.raises(AnalysisException, match=r"Spark hands no OPTIONS of .* CREATE TEMPORARY VIEW"):
        spark.sql(f"CREATE TABLE {name} USING barnabas OPTIONS ({given})")
    assert not spark.catalog.tableExists(name)


def test_a_table_that_is_used_without_options_says_how(spark: SparkSession, table: Callable[[], str]) -> None:
    name = table()
    with pytest.raises(PySparkException, match=r"there are no options\. .*FROM name WITH"):
        spark.sql(f"SELECT * FROM {name}").collect()
    with pytest.raises(PySparkException, match=r"there are no options\. .*FROM name WITH"):
        spark.sql(f"INSERT INTO {name} (value) VALUES (X'31')")


def test_options_of_both_sides_are_taken_where_they_say_what_to_read_and_where_to_write() -> None:
    reading, writing = source_options(BOTH_WAYS), sink_options(BOTH_WAYS)
    assert reading.max_offsets_per_trigger == 5
    assert reading.consumer_settings["isolation_level"] == "read_committed"
    assert "compression_type" not in reading.consumer_settings
    assert (writing.topic, writing.delivery) == ("delays", "exactly-once")
    assert writing.producer_settings["compression_type"] == "zstd"
    assert "isolation_level" not in writing.producer_settings


def test_options_of_the_other_side_alone_are_still_refused() -> None:
    reading = {option: value for option, value in BOTH_WAYS.items() if option != "topic"}
    with pytest.raises(UnsupportedOptionError, match="'delivery' means nothing to a read"):
        source_options(reading)
    writing = {option: value for option, value in BOTH_WAYS.items() if option != "subscribe"}
    with pytest.raises(UnsupportedOptionError, match="'maxoffsetspertrigger' means nothing to a write"):
        sink_options(writing)
    with pytest.raises(InvalidOptionError, match="topic is an option of the sink"):
        source_options({"kafka.bootstrap.servers": "localhost:9092", "topic": "flights"})
