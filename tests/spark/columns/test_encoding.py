"""Typed columns into the sink."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.spark.conftest import Kafka, Message

from barnabas import Consumer, TopicPartition
from barnabas.errors import ConfigError
from barnabas.spark.data_source import DefaultSource

SCHEMA = "key bigint, value struct<id: bigint, name: string, tags: array<string>>"
ROWS: list[tuple[Any, ...]] = [(1, (10, "é", ["a", None])), (2, None), (None, (11, None, []))]
AVRO = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "name", "type": ["null", "string"]},
        {"name": "id", "type": "int"},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "more", "type": ["null", "double"]},
    ],
}


def write(frame: DataFrame, kafka: Kafka, **options: Any) -> None:
    options = {"kafka.bootstrap.servers": kafka.bootstrap} | options
    frame.write.format("barnabas").mode("append").options(**options).save()


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA).coalesce(1)


def test_structs_are_written_as_json(kafka: Kafka, rows: DataFrame) -> None:
    topic = kafka.create()
    write(rows, kafka, topic=topic, **{"value.format": "json", "key.format": "json"})
    assert kafka.read(topic, 3) == [
        Message('{"id":10,"name":"é","tags":["a",null]}'.encode(), b"1"),
        Message(None, b"2"),
        Message(b'{"id":11,"tags":[]}', None),
    ]


def test_json_is_written_as_sparks_to_json_writes_it(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.create()
    frame = spark.range(1).selectExpr(
        """named_struct(
            'a', 1, 'b', 1.5D, 'c', 'x"y', 'd', date'2013-01-31', 'e', timestamp'2013-01-31 05:06:07.25Z',
            'f', 1.25BD, 'g', map('k', 1), 'h', X'0102', 'i', true, 'j', array(named_struct('k', 1S)),
            'l', timestamp_ntz'2013-01-31 05:06:07', 'm', double('NaN'), 'n', 0.1F, 'o', cast(null as int)
        ) as value"""
    )
    write(frame, kafka, topic=topic, **{"value.format": "json"})
    (expected,) = frame.select(f.to_json("value")).first()
    assert kafka.read(topic, 1)[0].value == expected.encode()


def test_structs_are_written_as_avro_by_the_names_of_their_fields(kafka: Kafka, rows: DataFrame) -> None:
    topic = kafka.create()
    options = {"value.format": "avro", "value.schema": json.dumps(AVRO)}
    write(rows, kafka, topic=topic, **options, **{"key.format": "avro", "key.schema": '["null", "long"]'})
    schema = fastavro.parse_schema(AVRO)
    messages = kafka.read(topic, 3)
    values = [
        None if message.value is None else fastavro.schemaless_reader(io.BytesIO(message.value), schema, None)
        for message in messages
    ]
    assert values == [
        {"name": "é", "id": 10, "tags": ["a", None], "more": None},
        None,
        {"name": None, "id": 11, "tags": [], "more": None},
    ]
    assert [message.key for message in messages] == [b"\x02\x02", b"\x02\x04", None]


def test_a_registrys_header_is_written(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.create()
    file = descriptor_pb2.FileDescriptorProto(name="f.proto", package="p", syntax="proto3")
    file.message_type.add(name="Other")
    file.message_type.add(name="Row").field.add(name="id", number=1, type=3, label=1)
    descriptors = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    options = {
        "value.format": "protobuf",
        "value.schema": base64.b64encode(descriptors).decode(),
        "value.message": "p.Row",
        "value.framing": "confluent",
        "value.schemaId": "258",
    }
    write(spark.sql("select named_struct('id', 5) as value"), kafka, topic=topic, **options)
    assert kafka.read(topic, 1)[0].value == b"\0\0\0\1\2" + b"\x02\x02" + b"\x08\x05"


def test_strings_are_written_as_they_are(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.create()
    write(spark.sql("select 'é' as value"), kafka, topic=topic, **{"value.format": "string"})
    assert kafka.read(topic, 1)[0].value == "é".encode()


def committed(kafka: Kafka, topic: str, count: int) -> list[bytes]:
    with Consumer(
        kafka.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        found: list[bytes] = []
        while len(found) < count:
            records = consumer.poll(30.0)
            assert records
            found += [bytes(record.value) for record in records]
    return sorted(found)


def test_a_stream_goes_from_json_to_avro_exactly_once(
    real_kafka: Kafka, read_stream: Callable[..., DataFrame], tmp_path: Path
) -> None:
    kafka = real_kafka
    source, target = kafka.create(), kafka.create()
    kafka.write(source, [b'{"id": %d}' % number for number in range(300)])
    stream = read_stream(
        kafka,
        subscribe=source,
        startingOffsets="earliest",
        **{"value.format": "json", "value.schema": "id INT"},
    )
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "topic": target,
        "delivery": "exactly-once",
        "decisionTopic": kafka.create(config={"cleanup.policy": "compact"}),
        "checkpointLocation": str(tmp_path),
        "value.format": "avro",
        "value.schema": '"int"',
    }
    writer = stream.selectExpr("value.id as value").writeStream.format("barnabas").options(**options)
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(150)
    expected = []
    for number in range(300):
        output = io.BytesIO()
        fastavro.schemaless_writer(output, "int", number)
        expected.append(output.getvalue())
    assert committed(kafka, target, 300) == sorted(expected)


def test_a_value_that_does_not_fit_ends_the_write_and_is_named(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.create()
    frame = spark.sql("select named_struct('id', cast(null as int), 'tags', array('a')) as value")
    with pytest.raises(PySparkException, match="column 'value', field 'id' cannot be written as avro: null"):
        write(frame, kafka, topic=topic, **{"value.format": "avro", "value.schema": json.dumps(AVRO)})
    assert kafka.count(topic) == 0


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("1 as key", {"value.format": "json"}, "value.format is given, and there is no column 'value'"),
        ("named_struct('a', 1) as value", {}, "string or binary, not struct<a:int>; or give value.format"),
        ("'a' as value", {"key.format": "json"}, "key.format is given, and there is no column 'key'"),
        (
            "1 as value",
            {"value.format": "string"},
            "value: int32|the value: int32, where the schema has string",
        ),
        ("1 as value", {"value.format": "avro"}, "value.format=avro needs value.schema"),
        (
            "named_struct('x', 1) as value",
            {"value.format": "avro", "value.schema": json.dumps(AVRO)},
            "does not fit value.schema: the schema has no field 'x'; it has name, id, tags, more",
        ),
        ("map(1, 2) as value", {"value.format": "json"}, "the keys of a map in JSON are strings"),
        ("1 as value", {"value.format": "json", "value.schema": "int"}, "goes by its column's type"),
        (
            "1 as value",
            {"value.format": "avro", "value.schema": '"int"', "value.framing": "confluent"},
            "give the id in value.schemaId",
        ),
        ("1 as value", {"value.format": "json", "mode": "permissive"}, "'mode' means nothing to a write"),
    ],
)
def test_columns_and_options_that_cannot_work_are_refused(
    spark: SparkSession, columns: str, options: dict[str, str], message: str
) -> None:
    given = {name.lower(): value for name, value in options.items()}
    sink = DefaultSource(given | {"kafka.bootstrap.servers": "nowhere:1", "topic": "any"})
    with pytest.raises(ConfigError, match=message):
        sink.writer(spark.sql(f"select {columns}").schema, False)
