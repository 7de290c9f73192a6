"""Streaming queries on topics."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming import StreamingQuery
from tests.spark.conftest import Kafka, Message

from barnabas import Admin, OffsetAndMetadata
from barnabas.spark.options import source_options
from barnabas.spark.planning.offsets import from_document, starts_of, to_document
from barnabas.spark.pyspark_features import ReadAllAvailable
from barnabas.spark.reading.stream_source import KafkaStreamReader
from barnabas.types import TopicPartition

TIMEOUT_SECONDS = 120
Read = Callable[..., DataFrame]


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [f"{number}".encode() for number in range(start, start + count)]


class Copy:
    """A query that copies the values of a stream to files, exactly once, with a checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.checkpoint = folder / "checkpoint"
        self.output = folder / "output"

    def start(self, stream: DataFrame, **trigger: object) -> StreamingQuery:
        writer = stream.select("topic", "partition", "offset", "value").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self.checkpoint)).option("path", str(self.output))
        return writer.trigger(**trigger).start()

    def run(self, stream: DataFrame) -> StreamingQuery:
        """Reads what is there, then ends."""
        query = self.start(stream, availableNow=True)
        assert query.awaitTermination(TIMEOUT_SECONDS)
        return query

    def values(self) -> list[bytes]:
        if not (self.output / "_spark_metadata").exists():
            return []
        rows = self.spark.read.schema("topic string, partition int, offset long, value binary").parquet(
            str(self.output)
        )
        return [bytes(row.value) for row in rows.orderBy("topic", "partition", "offset").collect()]

    def offsets(self, batch: int) -> object:
        """What Spark logged as the end of a batch, without the ids of topics."""
        document = json.loads((self.checkpoint / "offsets" / str(batch)).read_text().splitlines()[2])
        return to_document(from_document(document))


@pytest.fixture
def copy(spark: SparkSession, tmp_path: Path) -> Copy:
    return Copy(spark, tmp_path)


@pytest.mark.integration
def test_a_query_reads_what_is_there_and_goes_on_where_it_ended(
    kafka: Kafka, read_stream: Read, copy: Copy
) -> None:
    topic = kafka.create(2)
    kafka.write(topic, [*numbered(10), Message(b"other", partition=1)])
    stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest")
    copy.run(stream)
    assert copy.values() == [*numbered(10), b"other"]
    kafka.write(topic, numbered(5, 10))
    copy.run(stream)
    assert copy.values() == [*numbered(15), b"other"]
    copy.run(stream)
    assert copy.values() == [*numbered(15), b"other"]
    assert copy.offsets(1) == {topic: {"0": 15, "1": 1}}


@pytest.mark.from_pyspark_4_2
def test_a_limit_divides_a_query_into_batches(kafka: Kafka, read_stream: Read, copy: Copy) -> None:
    topic = kafka.create(2)
    kafka.write(topic, numbered(90) + [Message(value, partition=1) for value in numbered(10, 90)])
    stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=30)
    query = copy.run(stream)
    assert [progress.numInputRows for progress in query.recentProgress if progress.numInputRows] == [
        30,
        30,
        30,
        10,
    ]
    assert copy.values() == numbered(100)
    assert copy.offsets(1) == {topic: {"0": 54, "1": 6}}


def test_a_new_query_starts_at_latest(kafka: Kafka, read_stream: Read, copy: Copy, eventually) -> None:
    topic = kafka.create()
    kafka.write(topic, [b"before"] * 3)
    query = copy.start(read_stream(kafka, subscribe=topic), processingTime="0 seconds")
    try:
        eventually(lambda: query.lastProgress, timeout=TIMEOUT_SECONDS)
        kafka.write(topic, [b"after"])
        query.processAllAvailable()
    finally:
        query.stop()
    assert copy.values() == [b"after"]


def test_a_running_query_follows_its_topic_until_it_is_stopped(
    kafka: Kafka, read_stream: Read, copy: Copy
) -> None:
    topic = kafka.create()
    query = copy.start(
        read_stream(kafka, subscribe=topic, startingOffsets="earliest"), processingTime="100 milliseconds"
    )
    try:
        for start in range(0, 30, 10):
            kafka.write(topic, numbered(10, start))
            query.processAllAvailable()
            assert copy.values() == numbered(start + 10)
    finally:
        query.stop()
    assert query.exception() is None


def test_partitions_and_topics_found_later_are_read_from_their_beginning(
    kafka: Kafka, read_stream: Read, copy: Copy
) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(1))
    stream = read_stream(kafka, subscribePattern=f"{topic}.*", startingOffsets="earliest")
    copy.run(stream)
    kafka.grow(topic, 2)
    kafka.write(topic, [Message(b"1", partition=1)])
    kafka.write(kafka.create(name=topic + "-later"), numbered(2, 2))
    copy.run(stream)
    assert copy.values() == numbered(4)


@pytest.mark.from_pyspark_4_2
def test_what_is_written_during_an_available_now_query_is_left_for_the_next(
    kafka: Kafka, read_stream: Read, copy: Copy, spark: SparkSession
) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(10))
    seen: list[int] = []

    def write_more(batch: DataFrame, batch_id: int) -> None:
        seen.append(batch.count())
        kafka.write(topic, numbered(10, 10 * (batch_id + 1)))

    stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=5)
    writer = stream.writeStream.foreachBatch(write_more).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(copy.checkpoint)).start()
    assert query.awaitTermination(TIMEOUT_SECONDS)
    assert seen == [5, 5]


def test_a_query_whose_first_batch_failed_misses_nothing(kafka: Kafka, read_stream: Read, copy: Copy) -> None:
    """A new query starts at latest. When it is started again, "latest" is after what came in between."""
    topic = kafka.create()
    kafka.write(topic, [b"before"] * 3)
    stream = read_stream(kafka, subscribe=topic)
    rows: list[bytes] = []
    fails = True

    def handle(batch: DataFrame, batch_id: int) -> None:
        if fails:
            raise RuntimeError("the sink is broken")
        rows.extend(bytes(row.value) for row in batch.collect())

    def start() -> StreamingQuery:
        writer = stream.writeStream.foreachBatch(handle)
        return writer.option("checkpointLocation", str(copy.checkpoint)).start()

    with pytest.raises(StreamingQueryException, match="the sink is broken"):
        start().awaitTermination(TIMEOUT_SECONDS)
    kafka.write(topic, numbered(5))
    fails = False
    query = start()
    try:
        query.processAllAvailable()
        kafka.write(topic, numbered(5, 5))
        query.processAllAvailable()
    finally:
        query.stop()
    assert rows == numbered(10)


def bounds(parts: Sequence[InputPartition]) -> list[tuple[TopicPartition, int, int]]:
    return [(each.partition, each.start, each.end) for part in parts for each in part.value]


def test_a_first_batch_is_planned_again_from_where_it_began(kafka: Kafka) -> None:
    topic = kafka.create(2)
    kafka.write(topic, [b"before"] * 3)
    options = source_options({"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic})
    first, second = KafkaStreamReader(options), KafkaStreamReader(options)
    try:
        start = first.initialOffset()
        kafka.write(topic, numbered(5))
        end = first.latestOffset(start, ReadAllAvailable())
        kafka.write(topic, numbered(5, 5))
        planned = [first.partitions(start, end), second.partitions(second.initialOffset(), end)]
        for ranges in planned:
            assert bounds(ranges) == [(TopicPartition(topic, 0), 3, 8)]
        following = second.latestOffset(end, ReadAllAvailable())
        assert bounds(second.partitions(end, following)) == [(TopicPartition(topic, 0), 8, 13)]
        assert to_document(from_document(following)) == {topic: {"0": 13, "1": 0}}
        assert starts_of(following) == {}
    finally:
        first.stop()
        second.stop()
        second.stop()


def test_without_new_records_the_latest_offset_is_the_start_itself(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(3))
    options = source_options(
        {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "startingoffsets": "earliest"}
    )
    reader = KafkaStreamReader(options)
    try:
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
        again = reader.latestOffset(end, ReadAllAvailable())
        assert again == end
        assert reader.partitions(end, again) == []
        assert reader.reportLatestOffset() == {topic: {"0": 3}}
    finally:
        reader.stop()


def test_records_that_expired_between_batches_are_named(kafka: Kafka, read_stream: Read, copy: Copy) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(5))
    copy.run(read_stream(kafka, subscribe=topic, startingOffsets="earliest"))
    kafka.write(topic, numbered(10, 5))
    kafka.delete_records_before(topic, 0, 8)
    query = copy.start(read_stream(kafka, subscribe=topic), availableNow=True)
    with pytest.raises(
        StreamingQueryException, match=rf"{topic}-0: offsets \[5, 15\).*\[8, 15\) are available"
    ):
        query.awaitTermination(TIMEOUT_SECONDS)
    copy.run(read_stream(kafka, subscribe=topic, failOnDataLoss="false"))
    assert copy.values() == numbered(5) + numbered(7, 8)


def test_a_topic_that_was_made_anew_is_told(kafka: Kafka, read_stream: Read, copy: Copy, eventually) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(5))
    stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest")
    copy.run(stream)
    kafka.delete(topic)
    eventually(lambda: kafka.try_to_create(topic), timeout=120)
    kafka.write(topic, numbered(2))
    query = copy.start(stream, availableNow=True)
    with pytest.raises(
        StreamingQueryException,
        match=rf"{topic}-0: offset 5 was wanted, \[0, 2\) are available: the topic was deleted and created",
    ):
        query.awaitTermination(TIMEOUT_SECONDS)


def test_a_stream_with_an_end_is_refused(real_kafka: Kafka, read_stream: Read, copy: Copy) -> None:
    query = copy.start(read_stream(real_kafka, subscribe="a", endingOffsets="latest"), availableNow=True)
    with pytest.raises(StreamingQueryException, match="endingOffsets is not for streaming"):
        query.awaitTermination(TIMEOUT_SECONDS)


@pytest.mark.from_pyspark_4_2
def test_a_bounded_stream_reads_to_its_end_and_no_further(
    kafka: Kafka, read_stream: Read, copy: Copy
) -> None:
    topic = kafka.create(2)
    kafka.write(
        topic, [Message(b"%d" % each, partition=each % 2, timestamp=1000 + each) for each in range(10)]
    )
    bounds = {"startingTimestamp": "1002", "endingTimestamp": "1007", "maxOffsetsPerTrigger": "3"}
    stream = read_stream(kafka, subscribe=topic, boundedStream="true", **bounds)
    copy.run(stream)
    assert sorted(copy.values()) == numbered(5, 2)
    kafka.write(topic, [Message(b"10", timestamp=1003)])
    copy.run(stream)
    assert sorted(copy.values()) == numbered(5, 2)


def test_a_missing_topic_is_named(kafka: Kafka, read_stream: Read, copy: Copy, missing_topic: str) -> None:
    query = copy.start(read_stream(kafka, subscribe=missing_topic), availableNow=True)
    with pytest.raises(StreamingQueryException, match=f"topic '{missing_topic}'.* does not exist"):
        query.awaitTermination(TIMEOUT_SECONDS)


@pytest.mark.from_pyspark_4_2
def test_two_streams_are_joined_each_with_its_own_offsets(
    kafka: Kafka, read_stream: Read, spark: SparkSession, tmp_path: Path
) -> None:
    left, right = kafka.create(), kafka.create()
    kafka.write(left, [Message(b"l%d" % number, b"%d" % number) for number in range(20)])
    kafka.write(right, [Message(b"r%d" % number, b"%d" % number) for number in range(0, 20, 2)])

    def keyed(topic: str, name: str) -> DataFrame:
        stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=7)
        return stream.selectExpr("cast(key as string) key", f"cast(value as string) {name}")

    joined = keyed(left, "l").join(keyed(right, "r"), "key")
    writer = joined.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.option("path", str(tmp_path / "output")).trigger(availableNow=True).start()
    assert query.awaitTermination(TIMEOUT_SECONDS)
    rows = spark.read.schema("key string, l string, r string").parquet(str(tmp_path / "output")).collect()
    assert sorted((row.key, row.l, row.r) for row in rows) == sorted(
        (f"{number}", f"l{number}", f"r{number}") for number in range(0, 20, 2)
    )


def test_a_query_starts_at_a_time(kafka: Kafka, read_stream: Read, copy: Copy) -> None:
    topic = kafka.create()
    kafka.write(topic, [Message(b"%d" % at, timestamp=at) for at in (1000, 2000, 3000)])
    copy.run(read_stream(kafka, subscribe=topic, startingTimestamp=1500, startingOffsets="latest"))
    assert copy.values() == [b"2000", b"3000"]


def test_a_micro_batch_is_cut_into_tasks(kafka: Kafka, read_stream: Read, copy: Copy) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(100))
    stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest", minPartitions=4)
    reader = KafkaStreamReader(
        source_options(
            {
                "kafka.bootstrap.servers": kafka.bootstrap,
                "subscribe": topic,
                "startingoffsets": "earliest",
                "minpartitions": "4",
            }
        )
    )
    try:
        start = reader.initialOffset()
        assert len(reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))) == 4
    finally:
        reader.stop()
    copy.run(stream)
    assert copy.values() == numbered(100)


@pytest.mark.from_pyspark_4_2
def test_a_batch_waits_for_enough_rows_but_not_for_ever(kafka: Kafka, eventually) -> None:
    topic = kafka.create()
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "subscribe": topic,
        "startingoffsets": "earliest",
        "minoffsetspertrigger": "10",
        "maxoffsetspertrigger": "20",
        "maxtriggerdelay": "6s",
    }
    reader = KafkaStreamReader(source_options(options))
    try:
        limit = reader.getDefaultReadLimit()
        kafka.write(topic, numbered(5))
        # As in Spark's connector, a query's first batch does not wait.
        first = reader.latestOffset(reader.initialOffset(), limit)
        assert from_document(first) == {TopicPartition(topic, 0): 5}
        kafka.write(topic, numbered(5))
        assert reader.latestOffset(first, limit) is first
        began = time.monotonic()
        late = eventually(lambda: (end := reader.latestOffset(first, limit)) is not first and end)
        assert from_document(late) == {TopicPartition(topic, 0): 10}
        assert time.monotonic() - began < 25
        kafka.write(topic, numbered(30))
        enough = reader.latestOffset(late, limit)
        assert from_document(enough) == {TopicPartition(topic, 0): 30}
    finally:
        reader.stop()


@pytest.mark.from_pyspark_4_2
def test_with_available_now_no_batch_waits_for_more(kafka: Kafka, read_stream: Read, copy: Copy) -> None:
    topic = kafka.create()
    options = {"subscribe": topic, "startingOffsets": "earliest", "minOffsetsPerTrigger": 100}
    for start in (0, 5):
        kafka.write(topic, numbered(5, start))
        copy.run(read_stream(kafka, **options))
    assert copy.values() == numbered(10)


def test_the_offsets_of_a_query_can_be_seen_in_a_group(
    kafka: Kafka, read_stream: Read, copy: Copy, eventually
) -> None:
    topic = kafka.create(2)
    group = f"pipeline-{topic}"
    kafka.write(topic, numbered(10))
    stream = read_stream(kafka, subscribe=topic, startingOffsets="earliest", commitOffsetsToGroup=group)
    query = copy.start(stream, processingTime="0 seconds")
    try:
        query.processAllAvailable()
        # Spark tells a source of a batch's end when it begins the next one.
        kafka.write(topic, numbered(1, 10))
        query.processAllAvailable()
        with Admin(kafka.bootstrap) as admin:
            eventually(
                lambda: admin.list_group_offsets(group).get(TopicPartition(topic, 0)) == OffsetAndMetadata(10)
            )
    finally:
        query.stop()
