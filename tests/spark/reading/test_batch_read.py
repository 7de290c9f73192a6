"""Batch queries on topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.spark.conftest import Kafka, Message

Read = Callable[..., DataFrame]


def values(frame: DataFrame) -> list[bytes]:
    rows = frame.select("partition", "offset", "value").collect()
    return [bytes(row.value) for row in sorted(rows, key=lambda row: (row.partition, row.offset))]


def numbered(count: int, start: int = 0) -> list[bytes]:
    return [f"{number}".encode() for number in range(start, start + count)]


@pytest.mark.integration
def test_every_column_of_a_record_is_read(kafka: Kafka, read: Read) -> None:
    # Half a minute after its start a broker deletes what is older than retention.ms, and these records are.
    topic = kafka.create(2, config={"retention.ms": "-1"})
    headers = [("a", b"1"), ("a", None), ("b", b"")]
    written = [
        Message(b"v", b"k", 0, headers, timestamp=1_372_636_800_123),
        Message(None, b"k", 0, timestamp=1),
        Message(b"", None, 1, timestamp=2),
    ]
    kafka.write(topic, written)
    frame = read(kafka, subscribe=topic, includeHeaders="true")
    assert [(field.name, field.dataType.simpleString()) for field in frame.schema] == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    rows = sorted(frame.collect(), key=lambda row: (row.partition, row.offset))
    milliseconds = frame.orderBy("partition", "offset").select(f.unix_millis("timestamp")).collect()
    assert [row[0] for row in milliseconds] == [1_372_636_800_123, 1, 2]
    assert [
        (row.key, row.value, row.topic, row.partition, row.offset, row.timestampType) for row in rows
    ] == [
        (b"k", b"v", topic, 0, 0, 0),
        (b"k", None, topic, 0, 1, 0),
        (None, b"", topic, 1, 0, 0),
    ]
    assert [(header.key, header.value) for header in rows[0].headers] == headers
    assert [row.headers for row in rows[1:]] == [None, None]


def test_without_include_headers_there_is_no_such_column(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    kafka.write(topic, [Message(b"v", headers=[("a", b"1")])])
    frame = read(kafka, subscribe=topic)
    assert "headers" not in frame.columns
    assert frame.collect()[0].value == b"v"


def test_all_partitions_of_several_topics_are_read_once(kafka: Kafka, read: Read) -> None:
    topics = [kafka.create(3), kafka.create(1)]
    for topic in topics:
        for partition in range(3 if topic == topics[0] else 1):
            kafka.write(topic, [Message(value, partition=partition) for value in numbered(500)])
    frame = read(kafka, subscribe=", ".join(topics))
    counts = frame.groupBy("topic", "partition").agg(f.count("*"), f.countDistinct("offset")).collect()
    assert sorted(tuple(row) for row in counts) == sorted(
        [(topics[0], partition, 500, 500) for partition in range(3)] + [(topics[1], 0, 500, 500)]
    )


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_every_codec_are_read(kafka: Kafka, read: Read, codec: str) -> None:
    topic = kafka.create()
    written = [number * 10 for number in numbered(3000)]
    kafka.write(topic, written, **{"compression.type": codec})
    assert values(read(kafka, subscribe=topic)) == written


@pytest.mark.from_pyspark_4_1
def test_a_frame_keeps_the_offsets_of_its_first_action(kafka: Kafka, read: Read) -> None:
    """Spark itself plans a Python data source once for each frame."""
    topic = kafka.create()
    kafka.write(topic, numbered(3))
    frame = read(kafka, subscribe=topic)
    assert frame.count() == 3
    kafka.write(topic, numbered(2))
    assert frame.count() == 3
    assert read(kafka, subscribe=topic).count() == 5


def test_an_empty_topic_has_no_rows(kafka: Kafka, read: Read) -> None:
    assert read(kafka, subscribe=kafka.create(2)).collect() == []


def test_offsets_by_partition_are_read_exactly(kafka: Kafka, read: Read) -> None:
    topic = kafka.create(2)
    kafka.write(topic, numbered(10) + [Message(value, partition=1) for value in numbered(10, 100)])
    frame = read(
        kafka,
        subscribe=topic,
        startingOffsets=f'{{"{topic}": {{"0": 3, "1": -2}}}}',
        endingOffsets=f'{{"{topic}": {{"0": 7, "1": -1}}}}',
    )
    assert values(frame) == numbered(4, 3) + numbered(10, 100)


def test_only_assigned_partitions_are_read(kafka: Kafka, read: Read) -> None:
    topic = kafka.create(3)
    kafka.write(topic, [Message(b"%d" % partition, partition=partition) for partition in range(3)])
    assert values(read(kafka, assign=f'{{"{topic}": [0, 2]}}')) == [b"0", b"2"]


def test_topics_are_read_in_whose_names_the_pattern_is_found(kafka: Kafka, read: Read) -> None:
    stem = kafka.create()
    for suffix in ("-eu", "-us", "-eu.old"):
        kafka.write(kafka.create(name=stem + suffix), [suffix.encode()])
    pattern = rf"\Q{stem}\E-(?<region>\p{{Lower}}+)"
    assert sorted(values(read(kafka, subscribePattern=pattern))) == [b"-eu", b"-eu.old", b"-us"]
    assert sorted(values(read(kafka, subscribePattern=pattern + "$"))) == [b"-eu", b"-us"]


def test_a_pattern_that_nothing_matches_gives_no_rows(kafka: Kafka, read: Read) -> None:
    assert read(kafka, subscribePattern="no-topic-has-this-name").collect() == []


def test_internal_topics_are_left_out_of_a_pattern(kafka: Kafka, read: Read) -> None:
    topic = kafka.create(name="__spark" + kafka.create())
    kafka.write(topic, [b"v"])
    kafka.commit_somewhere(topic)
    frame = read(kafka, subscribePattern="__.*")
    topics = {row.topic for row in frame.select("topic").distinct().collect()}
    assert topic in topics
    assert "__consumer_offsets" not in topics


def test_large_records_are_read(kafka: Kafka, read: Read) -> None:
    topic = kafka.create(config={"max.message.bytes": "8000000"})
    written = [bytes([number]) * 3_000_000 for number in range(4)]
    kafka.write(topic, written, **{"message.max.bytes": 8_000_000})
    assert values(read(kafka, subscribe=topic)) == written


def test_a_missing_topic_is_named(kafka: Kafka, read: Read, missing_topic: str) -> None:
    with pytest.raises(PySparkException, match=f"topic '{missing_topic}'.* does not exist"):
        read(kafka, subscribe=missing_topic).collect()


def test_a_missing_partition_is_named(kafka: Kafka, read: Read) -> None:
    topic = kafka.create(2)
    with pytest.raises(PySparkException, match=f"{topic}-2 does not exist"):
        read(kafka, assign=f'{{"{topic}": [0, 2]}}').collect()


def test_an_unreachable_server_is_named(read: Read, free_port: int) -> None:
    nowhere = Kafka(f"127.0.0.1:{free_port}")
    settings = {"kafka.default.api.timeout.ms": 2000, "kafka.request.timeout.ms": 1000}
    with pytest.raises(PySparkException, match=f"127.0.0.1:{free_port}"):
        read(nowhere, subscribe="flights", **settings).collect()


def test_offsets_that_leave_a_partition_out_are_refused(kafka: Kafka, read: Read) -> None:
    topic = kafka.create(2)
    with pytest.raises(PySparkException, match=f"startingOffsets must name every partition.*{topic}-1"):
        read(kafka, subscribe=topic, startingOffsets=f'{{"{topic}": {{"0": 3}}}}').collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of assign, subscribe, subscribePattern"),
        ({"subscribe": "a", "minPartitions": "0"}, "minPartitions must be a whole number above 0"),
        ({"subscribe": "a", "startingOffset": "earliest"}, "did you mean 'startingOffsets'"),
        ({"subscribe": "a", "kafka.auto.offset.reset": "latest"}, r"kafka.auto.offset.reset cannot be set"),
        ({"subscribe": "a", "kafka.fetch.max.bites": "g"}, "did you mean 'kafka.fetch.max.bytes'"),
    ],
)
def test_wrong_options_are_refused_before_anything_runs(
    real_kafka: Kafka, read: Read, options: dict[str, str], message: str
) -> None:
    with pytest.raises(PySparkException, match=message):
        read(real_kafka, **options)


def test_a_batch_that_starts_at_latest_is_refused(real_kafka: Kafka, read: Read) -> None:
    with pytest.raises(PySparkException, match="startingOffsets cannot be latest"):
        read(real_kafka, subscribe="a", startingOffsets="latest").collect()


def test_other_columns_than_the_sources_are_refused(real_kafka: Kafka, spark) -> None:
    reader = spark.read.format("barnabas").schema("value string")
    reader = reader.options(**{"kafka.bootstrap.servers": real_kafka.bootstrap, "subscribe": "a"})
    with pytest.raises(PySparkException, match="the columns are fixed"):
        reader.load().collect()


def test_expired_offsets_are_named_with_what_is_there(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(10))
    kafka.delete_records_before(topic, 0, 6)
    options = {"subscribe": topic, "startingOffsets": f'{{"{topic}": {{"0": 2}}}}'}
    with pytest.raises(
        PySparkException, match=rf"{topic}-0: offsets \[2, 10\) .* \[6, 10\) are available.*failOnDataLoss"
    ):
        read(kafka, **options).collect()
    assert values(read(kafka, **options, failOnDataLoss="false")) == numbered(4, 6)


def test_records_that_expire_after_planning_are_a_loss_unless_the_start_was_earliest(
    kafka: Kafka, read: Read
) -> None:
    topic = kafka.create()
    kafka.write(topic, numbered(10))
    from_earliest = read(kafka, subscribe=topic)
    from_number = read(kafka, subscribe=topic, startingOffsets=f'{{"{topic}": {{"0": 0}}}}')
    for frame in (from_earliest, from_number):
        assert frame.rdd.getNumPartitions() == 1
    kafka.delete_records_before(topic, 0, 6)
    assert [bytes(row.value) for row in from_earliest.rdd.collect()] == numbered(4, 6)
    with pytest.raises(Exception, match=rf"{topic}-0: offsets \[0, 10\) .* \[6, 10\) are available"):
        from_number.rdd.collect()


def test_aborted_and_open_transactions_are_hidden_from_read_committed(real_kafka: Kafka, read: Read) -> None:
    topic = real_kafka.create()
    real_kafka.write_in_transaction(topic, [b"aborted"] * 5, commit=False)
    real_kafka.write_in_transaction(topic, numbered(5), commit=True)
    real_kafka.write_in_transaction(topic, [b"aborted"] * 5, commit=False)
    committed = read(real_kafka, subscribe=topic, **{"kafka.isolation.level": "read_committed"})
    assert values(committed) == numbered(5)
    # The log ends with control records, where there is never a row.
    assert values(read(real_kafka, subscribe=topic)).count(b"aborted") == 10


def test_a_range_within_a_gap_ends(real_kafka: Kafka, read: Read) -> None:
    topic = real_kafka.create()
    real_kafka.write_in_transaction(topic, [b"aborted"] * 50, commit=False)
    real_kafka.write(topic, [b"last"])
    frame = read(
        real_kafka,
        subscribe=topic,
        endingOffsets=f'{{"{topic}": {{"0": 20}}}}',
        **{"kafka.isolation.level": "read_committed"},
    )
    assert frame.collect() == []


def test_a_compacted_topic_is_read_to_its_end(compacting_kafka: Kafka, read: Read, eventually) -> None:
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": "1048576",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    }
    topic = compacting_kafka.create(config=config)
    old = [Message(b"%d" % number, b"key %d" % (number % 5)) for number in range(1000)]
    compacting_kafka.write(topic, old)

    def is_compacted() -> bool:
        # A segment is closed by the next write only.
        compacting_kafka.write(topic, [Message(b"x", b"another key")])
        return read(compacting_kafka, subscribe=topic).count() < 500

    eventually(is_compacted, timeout=90)
    rows = read(compacting_kafka, subscribe=topic).collect()
    latest = {bytes(row.key): bytes(row.value) for row in sorted(rows, key=lambda row: row.offset)}
    assert latest == {b"key %d" % key: b"%d" % (995 + key) for key in range(5)} | {b"another key": b"x"}
    ending = f'{{"{topic}": {{"0": 500}}}}'
    assert read(compacting_kafka, subscribe=topic, endingOffsets=ending).collect() == []


TIMES = [1000, 2000, 3000, 4000]


@pytest.fixture
def timed_topic(kafka: Kafka) -> str:
    """Two partitions with a record at each of TIMES, whose values are these times."""
    topic = kafka.create(2)
    for partition in range(2):
        kafka.write(topic, [Message(b"%d" % at, partition=partition, timestamp=at) for at in TIMES])
    return topic


def test_a_batch_is_bounded_by_times(kafka: Kafka, read: Read, timed_topic: str) -> None:
    frame = read(kafka, subscribe=timed_topic, startingTimestamp=1500, endingTimestamp=4000)
    assert values(frame) == [b"2000", b"3000"] * 2
    by_partition = f'{{"{timed_topic}": {{"0": 4000, "1": 2000}}}}'
    frame = read(kafka, subscribe=timed_topic, startingOffsetsByTimestamp=by_partition, endingTimestamp=9000)
    assert values(frame) == [b"4000", b"2000", b"3000", b"4000"]
    frame = read(kafka, subscribe=timed_topic, endingOffsetsByTimestamp=by_partition)
    assert values(frame) == [b"1000", b"2000", b"3000", b"1000"]


def test_a_start_by_time_that_matches_nothing_goes_by_the_strategy(
    kafka: Kafka, read: Read, timed_topic: str
) -> None:
    with pytest.raises(PySparkException, match=r"startingTimestamp: .*-0 has no record at or after 9000"):
        read(kafka, subscribe=timed_topic, startingTimestamp=9000).collect()
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    assert read(kafka, subscribe=timed_topic, startingTimestamp=9000, **latest).collect() == []


def test_work_is_cut_into_as_many_tasks_as_told(kafka: Kafka, read: Read) -> None:
    topic = kafka.create(2)
    kafka.write(topic, numbered(1000))
    kafka.write(topic, [Message(b"other", partition=1)])
    for options, tasks in (
        ({}, 2),
        ({"minPartitions": 5}, 5),
        ({"maxRecordsPerPartition": 300}, 5),
        ({"maxPartitions": 1}, 1),
    ):
        frame = read(kafka, subscribe=topic, **options)
        assert frame.rdd.getNumPartitions() == tasks
        assert values(frame) == [*numbered(1000), b"other"]


@pytest.fixture
def pushes_filters(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.from_pyspark_4_1
@pytest.mark.usefixtures("pushes_filters")
@pytest.mark.parametrize(
    ("predicate", "tasks", "expected"),
    [
        ("partition = 1", 1, [b"1000", b"2000", b"3000", b"4000"]),
        ("partition <> 1 and offset >= 2", 1, [b"3000", b"4000"]),
        ("offset in (0, 3) and partition in (0, 1)", 2, [b"1000", b"4000"] * 2),
        ("topic = 'another'", 0, []),
        ("timestamp > timestamp '1970-01-01 00:00:02'", 2, [b"3000", b"4000"] * 2),
        ("timestamp > timestamp '2030-01-01 00:00:00'", 0, []),
        ("timestamp <= timestamp '1970-01-01 00:00:02'", 2, [b"1000", b"2000"] * 2),
        ("offset = 1 and value <> 'x'", 2, [b"2000"] * 2),
    ],
)
def test_what_a_predicate_rules_out_is_not_fetched(
    kafka: Kafka, read: Read, timed_topic: str, predicate: str, tasks: int, expected: list[bytes]
) -> None:
    frame = read(kafka, subscribe=timed_topic).where(predicate)
    # Spark makes one task where there is nothing to do.
    assert frame.rdd.getNumPartitions() == max(1, tasks)
    assert values(frame) == expected
