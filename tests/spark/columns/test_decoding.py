"""Typed columns out of the source."""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import DayTimeIntervalType, IntegerType, StringType, StructField, StructType
from tests.spark.conftest import Kafka, Message

from barnabas.errors import ConfigError
from barnabas.spark.data_source import COLUMNS, DefaultSource
from barnabas.spark.options import source_options

Read = Callable[..., DataFrame]
FLIGHT = "id BIGINT, carrier STRING, delays ARRAY<INT>, place STRUCT<x: DOUBLE, y: DOUBLE>"
AVRO_FLIGHT = json.dumps(
    {
        "type": "record",
        "name": "Flight",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "carrier", "type": ["null", "string"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {
                "name": "fare",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
            },
            {"name": "tags", "type": {"type": "map", "values": "int"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "either", "type": ["string", "long"]},
        ],
    }
)
HEADER = b"\0\0\0\0\x07"
ERRORS = "__connect.errors."


def lower(options: dict[str, str]) -> dict[str, str]:
    """As Spark hands options over."""
    return {name.lower(): value for name, value in options.items()} | {"kafka.bootstrap.servers": "nowhere:1"}


def rows_of(frame: DataFrame, *columns: str) -> list[Any]:
    return [tuple(row) for row in frame.orderBy("partition", "offset").select(*columns).collect()]


def avro_bytes(count: int) -> list[bytes]:
    schema = fastavro.parse_schema(json.loads(AVRO_FLIGHT))
    found: list[bytes] = []
    for number in range(count):
        output = io.BytesIO()
        row = {
            "id": number,
            "carrier": None if number % 3 == 0 else f"c{number}",
            "at": 1_372_636_800_000 + number,
            "fare": Decimal(f"{number}.25"),
            "tags": {f"t{number}": number},
            "kind": "AB"[number % 2],
            "either": number if number % 2 else str(number),
        }
        fastavro.schemaless_writer(output, schema, row)
        found.append(output.getvalue())
    return found


def test_json_values_are_a_struct_beside_the_records_own_columns(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    values = [b'{"id": 1, "carrier": "AA", "delays": [1, null], "place": {"y": 2}}', None, b"{}"]
    kafka.write(topic, [Message(value, b"k", headers=[("h", b"1")]) for value in values])
    frame = read(
        kafka, subscribe=topic, includeHeaders="true", **{"value.format": "json", "value.schema": FLIGHT}
    )
    assert frame.columns == [
        "key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers",
    ]  # fmt: skip
    assert frame.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,carrier:string,delays:array<int>,place:struct<x:double,y:double>>"
    )
    assert rows_of(frame, "key", "value", "topic", "offset") == [
        (b"k", (1, "AA", [1, None], (None, 2.0)), topic, 0),
        (b"k", None, topic, 1),
        (b"k", (None, None, None, None), topic, 2),
    ]
    assert frame.select("headers").first() == ([("h", b"1")],)
    assert rows_of(frame.where("value.id = 1"), "value.carrier") == [("AA",)]


def test_keys_are_decoded_as_values_are(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    kafka.write(topic, [Message(b'"v"', b"7"), Message("é".encode(), None)])
    frame = read(
        kafka, subscribe=topic, **{"key.format": "json", "key.schema": "bigint", "value.format": "string"}
    )
    assert rows_of(frame, "key", "value") == [(7, '"v"'), (None, "é")]


@pytest.mark.parametrize(
    "schema",
    ["array<int>", "map<string, int>", "struct<a: int>", "a int", "decimal(5, 2)", "`a b` int, c date"],
)
def test_a_json_schema_is_a_type_or_a_list_of_fields(
    kafka: Kafka, read: Read, spark: SparkSession, schema: str
) -> None:
    frame = read(kafka, subscribe=kafka.create(), **{"value.format": "json", "value.schema": schema})
    text = "null" if "decimal" in schema else "{}"
    expected = spark.range(1).select(
        f.from_json(f.lit(text), "x " + schema if "decimal" in schema else schema)
    )
    expected_type = expected.schema[0].dataType
    found = frame.schema["value"].dataType
    assert found == (expected_type["x"].dataType if "decimal" in schema else expected_type)


def test_a_schema_of_spark_as_json_is_taken(kafka: Kafka, read: Read, spark: SparkSession) -> None:
    given = spark.createDataFrame([], "a int, `odd ``name` array<string>").schema
    frame = read(kafka, subscribe=kafka.create(), **{"value.format": "json", "value.schema": given.json()})
    assert frame.schema["value"].dataType == given


def test_json_is_read_as_sparks_from_json_reads_it(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    schema = (
        "a INT, b DOUBLE, c STRING, d DATE, e TIMESTAMP, f DECIMAL(10,2), g MAP<STRING,INT>, h BINARY, "
        "i BOOLEAN, j ARRAY<STRUCT<k: SMALLINT>>, l TIMESTAMP_NTZ, m FLOAT"
    )
    texts = [
        '{"a": 1, "b": 1.5, "c": "x", "d": "2013-01-31", "e": "2013-01-31T05:06:07.123456Z", "f": 1.255}',
        '{"b": 3, "c": {"x":[1,2]}, "e": "2013-01-31 05:06:07", "f": 7, "g": {"a": 1, "b": null}}',
        '{"b": "NaN", "c": 1.5, "e": "2013-01-31T05:06:07+02:00", "h": "AQI=", "i": true}',
        '{"b": "-Infinity", "c": true, "j": [{"k": 1}, {}, null], "l": "2013-01-31T05:06:07.5", "m": 0.1}',
        '{"unknown": [{"a": 1}], "e": 1359608767, "c": "\\u00e9\\n", "d": null}',
    ]
    kafka.write(topic, [text.encode() for text in texts])
    raw = read(kafka, subscribe=topic)
    expected = raw.withColumn("value", f.from_json(f.col("value").cast("string"), schema))
    found = read(kafka, subscribe=topic, **{"value.format": "json", "value.schema": schema})
    assert found.schema["value"].dataType == expected.schema["value"].dataType
    assert repr(rows_of(found, "value")) == repr(rows_of(expected, "value"))


def test_avro_is_read_as_fastavro_wrote_it(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    kafka.write(topic, avro_bytes(4))
    frame = read(kafka, subscribe=topic, **{"value.format": "avro", "value.schema": AVRO_FLIGHT})
    assert frame.schema["value"].dataType.simpleString() == (
        "struct<id:bigint,carrier:string,at:timestamp,fare:decimal(10,2),tags:map<string,int>,kind:string,"
        "either:struct<member0:string,member1:bigint>>"
    )
    fields = [
        "value.id",
        "value.carrier",
        "cast(value.fare as string)",
        "value.tags",
        "value.kind",
        "value.either",
    ]
    rows = [
        tuple(row) for row in frame.orderBy("offset").selectExpr(*fields, "unix_millis(value.at)").collect()
    ]
    assert rows[:2] == [
        (0, None, "0.25", {"t0": 0}, "A", ("0", None), 1_372_636_800_000),
        (1, "c1", "1.25", {"t1": 1}, "B", (None, 1), 1_372_636_800_001),
    ]


def descriptor_file(path: Path) -> Path:
    file = descriptor_pb2.FileDescriptorProto(name="f.proto", package="p", syntax="proto3")
    message = file.message_type.add(name="Flight")
    message.field.add(name="id", number=1, type=3, label=1)
    message.field.add(name="tags", number=2, type=9, label=3)
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    return path


def test_protobuf_is_read_by_a_file_of_descriptors_or_inline(
    kafka: Kafka, read: Read, tmp_path: Path
) -> None:
    topic = kafka.create()
    kafka.write(topic, [b"\x08\x05\x12\x01a\x12\x01b", b""])
    path = descriptor_file(tmp_path / "f.desc")
    for given in (
        {"value.schemaFile": str(path)},
        {"value.schema": base64.b64encode(path.read_bytes()).decode()},
    ):
        frame = read(
            kafka, subscribe=topic, **{"value.format": "protobuf", "value.message": "p.Flight"}, **given
        )
        assert rows_of(frame, "value.id", "value.tags") == [(5, ["a", "b"]), (0, [])]


def test_a_registrys_header_is_checked_and_left_out(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    kafka.write(topic, [HEADER + b"\x02", HEADER + b"\x04"])
    options = {
        "subscribe": topic,
        "value.format": "avro",
        "value.schema": '"long"',
        "value.framing": "confluent",
    }
    assert rows_of(read(kafka, **options), "value") == [(1,), (2,)]
    assert rows_of(read(kafka, **options, **{"value.schemaId": "7"}), "value") == [(1,), (2,)]
    with pytest.raises(PySparkException, match=rf"{topic}-0 at offset 0: .* schema id 7, not 8"):
        read(kafka, **options, **{"value.schemaId": "8"}).collect()


# Their times are of 1970.
KEEP = {"retention.ms": "-1"}


@pytest.fixture
def bad_topic(kafka: Kafka) -> str:
    """Six records, of which the second and the fifth are bad, and the fourth has none."""
    topic = kafka.create(config=KEEP)
    values = [b'{"id": 0}', b'{"id": "one"}', b'{"id": 2}', None, b"nonsense", b'{"id": 5}']
    headers = [("h", b"1"), ("h", None)]
    kafka.write(
        topic,
        [Message(value, b"k%d" % n, headers=headers, timestamp=1000 + n) for n, value in enumerate(values)],
    )
    return topic


JSON_ID = {"value.format": "json", "value.schema": "id INT"}


def test_a_bad_record_ends_the_query_and_is_named(kafka: Kafka, read: Read, bad_topic: str) -> None:
    with pytest.raises(PySparkException) as raised:
        read(kafka, subscribe=bad_topic, **JSON_ID).collect()
    assert f"{bad_topic}-0 at offset 1: the value, field 'id' cannot be read as json" in str(raised.value)
    assert 'invalid type: string "one", expected int' in str(raised.value)


def test_permissive_gives_bad_records_with_their_bytes_and_error(
    kafka: Kafka, read: Read, bad_topic: str
) -> None:
    frame = read(kafka, subscribe=bad_topic, mode="PERMISSIVE", includeHeaders="true", **JSON_ID)
    assert frame.columns[-2:] == ["headers", "valueError"]
    rows = rows_of(frame, "value", "valueError.bytes", "valueError.field", "valueError.message", "offset")
    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        ((0,), None, None, 0),
        (None, b'{"id": "one"}', "id", 1),
        ((2,), None, None, 2),
        (None, None, None, 3),
        (None, b"nonsense", "", 4),
        ((5,), None, None, 5),
    ]
    assert "expected int" in rows[1][3]


def test_both_sides_have_a_column_of_errors(kafka: Kafka, read: Read) -> None:
    topic = kafka.create()
    kafka.write(topic, [Message(b"1", b"x"), Message(b"y", b"2"), Message(b"3", b"4")])
    frame = read(
        kafka, subscribe=topic, mode="permissive",
        **{"key.format": "json", "key.schema": "int", "value.format": "json", "value.schema": "int"},
    )  # fmt: skip
    assert rows_of(frame, "key", "value", "keyError.bytes", "valueError.bytes") == [
        (None, 1, b"x", None),
        (2, None, None, b"y"),
        (4, 3, None, None),
    ]


def dead_letters(topic: str, letters: str) -> dict[str, str]:
    return {"subscribe": topic, "mode": "dead-letter", "deadLetterTopic": letters} | JSON_ID


def test_dead_letters_have_the_record_and_where_it_was_and_why(
    kafka: Kafka, read: Read, bad_topic: str
) -> None:
    letters = kafka.create(config=KEEP)
    frame = read(kafka, **dead_letters(bad_topic, letters))
    assert "headers" not in frame.columns
    # Spark would read twice to put the rows in order, and write the dead letters each time.
    rows = [(row.value, row.offset) for row in frame.collect()]
    assert rows == [((0,), 0), ((2,), 2), (None, 3), ((5,), 5)]
    first, second = kafka.read(letters, 2)
    assert (first.key, first.value, first.timestamp) == (b"k1", b'{"id": "one"}', 1001)
    assert first.headers[:2] == (("h", b"1"), ("h", None))
    details = dict(first.headers[2:])
    assert b"expected int" in details.pop(ERRORS + "exception.message")
    assert abs(int(details.pop(ERRORS + "read.at")) / 1000 - time.time()) < 600
    assert details == {
        ERRORS + "topic": bad_topic.encode(),
        ERRORS + "partition": b"0",
        ERRORS + "offset": b"1",
        ERRORS + "stage": b"VALUE_CONVERTER",
        ERRORS + "field": b"id",
    }
    assert (second.key, second.value) == (b"k4", b"nonsense")
    assert kafka.count(letters) == 2


def test_only_dead_letters_are_no_rows(kafka: Kafka, read: Read) -> None:
    topic, letters = kafka.create(), kafka.create()
    kafka.write(topic, [b"x"] * 500)
    assert read(kafka, **dead_letters(topic, letters), includeHeaders="true").collect() == []
    assert kafka.count(letters) == 500


def test_a_stream_is_decoded_and_its_bad_records_go_to_the_dead_letter_topic(
    kafka: Kafka, read_stream: Read, bad_topic: str, spark: SparkSession, tmp_path: Path
) -> None:
    letters = kafka.create(config=KEEP)
    stream = read_stream(kafka, startingOffsets="earliest", **dead_letters(bad_topic, letters))
    query_id = ""
    for expected in (4, 5):
        writer = stream.select("offset", "value.id").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.option("path", str(tmp_path / "rows")).trigger(availableNow=True).start()
        assert query.awaitTermination(60)
        query_id = str(query.id)
        assert spark.read.parquet(str(tmp_path / "rows")).count() == expected
        kafka.write(bad_topic, [b"more", b'{"id": 7}'])
    assert kafka.count(letters) == 3
    told = [dict(letter.headers) for letter in kafka.read(letters, 3)]
    assert [(each[ERRORS + "query"], each[ERRORS + "batch"]) for each in told] == [
        (query_id.encode(), batch) for batch in (b"0", b"0", b"1")
    ]


def test_predicates_still_bound_what_is_fetched(
    kafka: Kafka, read: Read, bad_topic: str, spark: SparkSession
) -> None:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = read(kafka, subscribe=bad_topic, **JSON_ID).where("offset >= 2 and offset < 4")
        # The bad records lie outside: in mode failfast they would end the query.
        assert rows_of(frame, "value", "offset") == [((2,), 2), (None, 3)]
        assert rows_of(frame.where("value.id = 2"), "offset") == [(2,)]
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value.format": "xml"}, "value.format must be one of binary, string, json, avro, protobuf"),
        ({"value.format": "json"}, "value.format=json needs value.schema"),
        ({"value.format": "avro"}, "value.format=avro needs value.schema or value.schemaFile"),
        ({"value.format": "avro", "value.schema": "{"}, "value.schema: the Avro schema is not JSON"),
        (
            {"value.format": "avro", "value.schemaFile": "/none"},
            "value.schemaFile cannot be read on the driver",
        ),
        ({"value.format": "protobuf", "value.schema": "AA=="}, "value.message is needed by"),
        (
            {"value.format": "protobuf", "value.schema": "é", "value.message": "M"},
            "must be a descriptor set in base64",
        ),
        (
            {"value.format": "json", "value.schema": "a int", "mode": "dropmalformed"},
            "mode must be one of failfast",
        ),
        (
            {"value.format": "json", "value.schema": "a int", "mode": "dead-letter"},
            "say where to, with deadLetterTopic",
        ),
        (
            {"value.format": "json", "value.schema": "a int", "deadLetterTopic": "t"},
            "is for mode=dead-letter",
        ),
        ({"mode": "permissive"}, "mode means nothing without value.format"),
        ({"value.schema": "a int"}, "value.schema means nothing without value.format"),
        ({"value.format": "string", "value.schemaId": "1"}, "set value.framing to confluent"),
        ({"value.framing": "none"}, "value.framing means nothing without value.format"),
        ({"value.fromat": "json"}, "did you mean 'value.format'"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DefaultSource(lower(options | {"subscribe": "any"})).schema()


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (StructField("a", IntegerType(), nullable=False), "field 'a' is NOT NULL"),
        (StructField("a", DayTimeIntervalType()), "a: JSON has no form for duration"),
    ],
)
def test_fields_that_json_cannot_fill_are_refused(field: StructField, message: str) -> None:
    source = DefaultSource(lower(JSON_ID | {"subscribe": "any"}))
    columns = [StructField(name, StringType()) for name in COLUMNS if name != "value"]
    columns.insert(1, StructField("value", StructType([field])))
    with pytest.raises(ConfigError, match=message):
        source.reader(StructType(columns))


def test_the_dead_letter_topic_is_not_read_itself() -> None:
    for subscription in ({"subscribe": "a,b"}, {"assign": '{"b": [0]}'}, {"subscribePattern": "[bc]"}):
        options = JSON_ID | {"mode": "dead-letter", "deadLetterTopic": "b"} | subscription
        with pytest.raises(ConfigError, match="deadLetterTopic is 'b', which is read itself"):
            source_options(lower(options))
