"""Columns whose schemas a registry keeps, out of the source and into the sink."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.registry.conftest import Stranger, stranger
from tests.registry.serializers import test_protobuf as shop
from tests.spark.columns.test_decoding import lower, rows_of
from tests.spark.conftest import Kafka, Message
from tests.waiting import wait_for

from barnabas import Registry
from barnabas.formats.protobuf_schema import ProtobufSchema
from barnabas.formats.protobuf_values import file_of, message_class
from barnabas.registry import AvroSerializer, RegistrySettings, Rule, RuleSet, Schema
from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.options import sink_options, source_options
from barnabas.testing import EmbeddedRegistry

Read = Callable[..., DataFrame]
__all__ = ["stranger"]
PASSWORD = "pass-word-of-nobody"


def flight(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Flight", "fields": list(fields)}


OLD = flight({"name": "id", "type": "int"}, {"name": "gone", "type": {"type": "array", "items": "string"}})
NEW = flight({"name": "carrier", "type": ["null", "string"], "default": None}, {"name": "id", "type": "long"})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with EmbeddedRegistry() as server:
        yield server.url


def registered(url: str, topic: str, *schemas: Any) -> list[int]:
    with Registry(url) as registry:
        registry.set_mode("READWRITE", f"{topic}-value")
        found = [registry.register(f"{topic}-value", Schema(json.dumps(schema))) for schema in schemas]
    return [each.id for each in found]


def framed(id: int, schema: Any, value: Any) -> bytes:
    output = io.BytesIO(b"\0" + id.to_bytes(4, "big"))
    output.seek(5)
    fastavro.schemaless_writer(output, fastavro.parse_schema(schema), value)
    return output.getvalue()


def avro(url: str, **others: Any) -> dict[str, Any]:
    return {"value.format": "avro", "schema.registry.url": url} | others


def test_rows_of_several_writers_come_out_in_the_readers_schema(kafka: Kafka, read: Read, url: str) -> None:
    topic = kafka.create()
    old, new = registered(url, topic, OLD, NEW)
    values = [
        framed(old, OLD, {"id": 1, "gone": ["x", "y"]}),
        framed(new, NEW, {"id": 2, "carrier": "AA"}),
        None,
        framed(old, OLD, {"id": 3, "gone": []}),
    ]
    kafka.write(topic, [Message(value, b"k") for value in values])
    frame = read(kafka, subscribe=topic, **avro(url))
    assert frame.schema["value"].dataType.simpleString() == "struct<carrier:string,id:bigint>"
    assert rows_of(frame, "offset", "key", "value.*") == [
        (0, b"k", None, 1),
        (1, b"k", "AA", 2),
        (2, b"k", None, None),
        (3, b"k", None, 3),
    ]
    by_version = read(kafka, subscribe=topic, mode="permissive", **avro(url), **{"value.schema.version": "1"})
    assert by_version.schema["value"].dataType.simpleString() == "struct<id:int,gone:array<string>>"
    errors = rows_of(by_version, "valueError.field", "valueError.message")
    assert errors[0] == (None, None)
    assert errors[1][0] == "id"
    by_id = read(kafka, subscribe=topic, **avro(url), **{"value.schema.id": str(new)})
    assert rows_of(by_id, "value.id") == [(1,), (2,), (None,), (3,)]
    own = json.dumps(flight({"name": "id", "type": "double"}))
    assert rows_of(read(kafka, subscribe=topic, **avro(url), **{"value.schema": own}), "value.id")[0] == (
        1.0,
    )


def test_rules_of_schemas_are_ignored_only_where_that_is_asked_for(
    kafka: Kafka, read: Read, url: str, spark: SparkSession
) -> None:
    topic = kafka.create()
    rules = [
        Rule(name, kind="CONDITION", mode=mode, type="CEL", expr="true")
        for name, mode in (("checked", "WRITE"), ("seen", "READ"))
    ]
    with Registry(url) as registry:
        schema = Schema(json.dumps(NEW), rule_set=RuleSet(domain_rules=rules))
        value = AvroSerializer(registry, schema)(topic, {"id": 1, "carrier": "AA"})
    assert value is not None
    kafka.write(topic, [value])
    rows = spark.createDataFrame([((2, "BB"),)], "value struct<id: bigint, carrier: string>").coalesce(1)
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": topic} | avro(url)
    writer = rows.write.format("barnabas").mode("append").options(**options)
    with pytest.raises(PySparkException, match=r"version 1 of subject .* has the rule 'checked'"):
        writer.save()
    frame = read(kafka, subscribe=topic, mode="permissive", **avro(url))
    ((found, message),) = rows_of(frame, "value", "valueError.message")
    assert found is None
    assert "has the rule 'seen' (CEL, READ)" in message
    ignoring = {"value.schema.ignoreRules": "true"}
    writer.options(**ignoring).save()
    assert rows_of(read(kafka, subscribe=topic, **avro(url), **ignoring), "value.id") == [(1,), (2,)]


def test_a_schema_that_is_registered_while_a_stream_runs_is_fetched_by_its_tasks(
    real_kafka: Kafka, read_stream: Read, url: str, spark: SparkSession, tmp_path: Path
) -> None:
    topic = real_kafka.create()
    (old,) = registered(url, topic, OLD)
    real_kafka.write(topic, [framed(old, OLD, {"id": 1, "gone": []})])
    frame = read_stream(real_kafka, subscribe=topic, startingOffsets="earliest", **avro(url))
    query = (
        frame.selectExpr("value.id")
        .writeStream.format("memory")
        .queryName("evolving")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        query.processAllAvailable()
        later = flight(*OLD["fields"], {"name": "more", "type": "long", "default": 0})
        (new,) = registered(url, topic, later)
        real_kafka.write(topic, [framed(new, later, {"id": 2, "gone": ["z"], "more": 5})])
        query.processAllAvailable()
        assert sorted(row.id for row in spark.table("evolving").collect()) == [1, 2]
    finally:
        query.stop()


def test_the_sink_registers_its_schema_and_the_source_reads_what_it_wrote(
    kafka: Kafka, read: Read, url: str, spark: SparkSession
) -> None:
    topic = kafka.create()
    rows = spark.createDataFrame(
        [("k", (7, "AA")), ("l", None)], "key string, value struct<id: bigint, carrier: string>"
    ).coalesce(1)
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": topic} | avro(url)
    writer = rows.write.format("barnabas").mode("append").options(**options)
    with pytest.raises(PySparkException, match=r"Subject .* not found"):
        writer.save()
    with pytest.raises(PySparkException, match=r"Subject .* not found"):
        writer.options(**{"value.schema": json.dumps(NEW), "value.schema.register": "false"}).save()
    writer.options(**{"value.schema": json.dumps(NEW), "value.schema.register": "true"}).save()
    with Registry(url) as registry:
        assert registry.versions(f"{topic}-value") == [1]
    assert rows_of(read(kafka, subscribe=topic, **avro(url)), "value.*") == [("AA", 7), (None, None)]
    # What is registered is not given again.
    again = rows.write.format("barnabas").mode("append").options(**options)
    again.save()
    assert kafka.count(topic) == 4
    bad = spark.createDataFrame([((7, "AA"),)], "value struct<id: bigint, other: string>")
    with pytest.raises(PySparkException, match="no field 'other'"):
        bad.write.format("barnabas").mode("append").options(**options).save()


def test_an_id_in_a_header_counts(kafka: Kafka, read: Read, url: str) -> None:
    topic = kafka.create()
    registered(url, topic, OLD)
    with Registry(url) as registry:
        guid = registry.latest(f"{topic}-value").guid
    assert guid is not None
    header = b"\x01" + uuid.UUID(guid).bytes
    kafka.write(topic, [Message(b"\x02\x00", headers=[("__value_schema_id", header)])])
    frame = read(kafka, subscribe=topic, **avro(url))
    assert "headers" not in frame.columns
    assert rows_of(frame, "value.id") == [(1,)]


def test_a_record_whose_schema_is_not_there_is_named_with_its_place(
    kafka: Kafka, read: Read, url: str
) -> None:
    topic = kafka.create()
    registered(url, topic, OLD)
    kafka.write(topic, [b"\0\0\x0f\xff\xff\x02\x00"])
    message = f"{topic}-0 at offset 0: the value cannot be read as avro: its schema, id 1048575, is not in"
    with pytest.raises(PySparkException, match=message):
        read(kafka, subscribe=topic, **avro(url)).collect()


def test_keys_have_a_subject_of_their_own(kafka: Kafka, read: Read, url: str) -> None:
    topic = kafka.create()
    with Registry(url) as registry:
        id = registry.register(f"{topic}-key", Schema('"long"')).id
    kafka.write(topic, [Message(b"v", framed(id, "long", 5))])
    frame = read(kafka, subscribe=topic, **{"key.format": "avro", "schema.registry.url": url})
    assert rows_of(frame, "key", "value") == [(5, b"v")]


def by_registry(format: str, url: str, **others: str) -> dict[str, Any]:
    return {"value.format": format, "schema.registry.url": url} | others


@pytest.fixture(scope="module")
def their_client(url: str) -> Iterator[Any]:
    with SchemaRegistryClient({"url": url}) as client:
        yield client


def value_of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


JSON_OLD = json.dumps(
    {
        "title": "Flight",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "gone": {"type": "string"}},
    }
)
JSON_NEW = json.dumps(
    {
        "title": "Flight",
        "type": "object",
        "properties": {
            "carrier": {"type": ["null", "string"]},
            "id": {"type": "integer"},
            "stops": {"type": "array", "items": {"$ref": "#/definitions/stop"}},
        },
        "definitions": {
            "stop": {
                "type": "object",
                "properties": {"place": {"type": "string"}, "at": {"type": "string", "format": "date-time"}},
            }
        },
    }
)


def test_rows_of_json_that_confluents_serializer_wrote_by_several_schemas(
    kafka: Kafka, read: Read, url: str, their_client: Any
) -> None:
    topic = kafka.create()
    with Registry(url) as registry:
        registry.set_settings(RegistrySettings(compatibility="NONE"), f"{topic}-value")
    old = JSONSerializer(JSON_OLD, their_client)({"id": 1, "gone": "x"}, value_of(topic))
    flight = {"id": 2, "carrier": "AA", "stops": [{"place": "CGN", "at": "1970-01-01T00:00:05Z"}]}
    new = JSONSerializer(JSON_NEW, their_client)(flight, value_of(topic))
    assert old is not None
    assert new is not None
    (other,) = registered(url, f"{topic}-other", "long")
    bad = [new[:5] + b'{"id": "none"}', framed(other, "long", 3)]
    kafka.write(topic, [Message(value) for value in (old, new, None, *bad)])
    frame = read(kafka, subscribe=topic, mode="permissive", **by_registry("json", url))
    kind = "struct<carrier:string,id:bigint,stops:array<struct<place:string,at:timestamp>>>"
    assert frame.schema["value"].dataType.simpleString() == kind
    assert rows_of(frame, "value.carrier", "value.id") == [(None, 1), ("AA", 2)] + [(None, None)] * 3
    stops = frame.selectExpr("value.stops[0].place", "unix_millis(value.stops[0].at)").where("value.id = 2")
    assert [tuple(row) for row in stops.collect()] == [("CGN", 5_000)]
    errors = rows_of(frame, "valueError.field", "valueError.message")
    assert errors[:3] == [(None, None)] * 3
    assert errors[3][0] == "id"
    assert "is of the type AVRO, and the column's JSON" in errors[4][1]
    first = read(kafka, subscribe=topic, endingOffsets=f'{{"{topic}":{{"0":3}}}}', **by_registry("json", url))
    assert rows_of(first, "value.id") == [(1,), (2,), (None,)]
    by_version = read(
        kafka, subscribe=topic, mode="permissive", **by_registry("json", url, **{"value.schema.version": "1"})
    )
    assert rows_of(by_version, "value.*")[:2] == [(1, "x"), (2, None)]


def test_json_of_the_sink_is_what_confluents_deserializer_reads(
    kafka: Kafka, read: Read, url: str, spark: SparkSession, their_client: Any
) -> None:
    topic = kafka.create()
    rows = spark.sql(
        "select named_struct('id', 7L, 'carrier', 'AA', 'stops', array(named_struct('place', 'CGN', 'at',"
        " timestamp'1970-01-01 00:00:05Z'))) as value"
    )
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": topic} | by_registry("json", url)
    writer = rows.write.format("barnabas").mode("append").options(**options)
    writer.options(**{"value.schema": JSON_NEW}).save()
    with Registry(url) as registry:
        schema = registry.latest(f"{topic}-value").schema
    assert (schema.type, json.loads(schema.text)) == ("JSON", json.loads(JSON_NEW))
    (message,) = kafka.read(topic, 1)
    assert message.value is not None
    found = JSONDeserializer(None, schema_registry_client=their_client)(message.value, value_of(topic))
    stop = {"place": "CGN", "at": "1970-01-01T00:00:05.000Z"}
    assert found == {"id": 7, "carrier": "AA", "stops": [stop]}
    assert rows_of(read(kafka, subscribe=topic, **options), "value.id", "value.carrier") == [(7, "AA")]


LATER_ORDERS = (
    shop.ORDERS.replace("message Order {", "message First { int32 x = 1; } message Order {")
).replace("Timestamp at = 3;", "Timestamp at = 3; string note = 4;")


def test_rows_of_protobuf_that_confluents_serializer_wrote_by_several_schemas(
    kafka: Kafka, read: Read, url: str, their_client: Any
) -> None:
    topic = kafka.create()
    later = file_of(ProtobufSchema(LATER_ORDERS, {"common.proto": shop.COMMON}).descriptor_set)
    order = message_class(later.message_types_by_name["Order"])(id=6, note="n")
    messages = (shop.order(), shop.Refund(id=1, note="late"), order)
    values = [ProtobufSerializer(type(each), their_client)(each, value_of(topic)) for each in messages]
    # Each says which message of its own schema it is.
    assert [value[5:7] for value in values if value] == [b"\0\x08", b"\x02\x02", b"\x02\x02"]
    kafka.write(topic, [Message(value) for value in (*values, None)])
    options = by_registry("protobuf", url, **{"value.message": "shop.Order"})
    frame = read(kafka, subscribe=topic, mode="permissive", **options)
    kind = "struct<id:bigint,price:struct<currency:string,cents:bigint>,at:timestamp,note:string>"
    assert frame.schema["value"].dataType.simpleString() == kind
    assert rows_of(frame, "value.id", "value.price.cents", "value.note") == [
        (5, 120, ""),
        (None, None, None),
        (6, None, "n"),
        (None, None, None),
    ]
    errors = [message for (message,) in rows_of(frame, "valueError.message")]
    assert errors == [None, "it is message [1] of its schema, not [0]", None, None]
    # By default the message is the first one of the file.
    by_version = by_registry("protobuf", url, **{"value.schema.version": "1"})
    first = read(kafka, subscribe=topic, mode="permissive", **by_version)
    assert rows_of(first, "value.id") == [(5,), (None,), (6,), (None,)]


def test_protobuf_of_the_sink_is_what_confluents_deserializer_reads(
    kafka: Kafka, read: Read, url: str, spark: SparkSession, their_client: Any
) -> None:
    topic = kafka.create()
    text = 'syntax = "proto3"; package shop; message First { int32 x = 1; } ' + (
        "message Refund { int64 id = 1; string note = 2; }"
    )
    rows = spark.sql("select named_struct('id', 7L, 'note', 'late') as value")
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": topic} | by_registry("protobuf", url)
    refund = {"value.schema": text, "value.message": "Refund"}
    rows.write.format("barnabas").mode("append").options(**options | refund).save()
    (message,) = kafka.read(topic, 1)
    assert message.value is not None
    assert message.value[5:7] == b"\x02\x02"
    deserialize = ProtobufDeserializer(shop.Refund, {}, their_client)
    assert deserialize(message.value, value_of(topic)) == shop.Refund(id=7, note="late")
    found = read(kafka, subscribe=topic, **by_registry("protobuf", url, **{"value.message": "Refund"}))
    assert rows_of(found, "value.*") == [(7, "late")]


def test_the_sink_takes_a_schema_of_protobuf_with_all_that_it_refers_to(
    kafka: Kafka, url: str, spark: SparkSession, their_client: Any
) -> None:
    topic = kafka.create()
    ProtobufSerializer(shop.Order, their_client)(shop.order(), value_of(topic))
    rows = spark.sql(
        "select named_struct('id', 5L, 'price', named_struct('currency', 'EUR', 'cents', 120L), 'at',"
        " timestamp'1970-01-01 00:16:40Z') as value"
    )
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": topic} | by_registry("protobuf", url)
    rows.write.format("barnabas").mode("append").options(**options).save()
    (message,) = kafka.read(topic, 1)
    # A client that has registered a schema keeps it as text, which its deserializer does not read.
    with SchemaRegistryClient({"url": url}) as client:
        deserialize = ProtobufDeserializer(shop.Order, {}, client)
        assert deserialize(message.value, value_of(topic)) == shop.order()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value.schema.subject": "s", "value.format": "avro"}, "give schema.registry.url"),
        ({"schema.registry.url": "http://a:1"}, "means nothing without value.format"),
        (
            {"schema.registry.url": "http://a:1", "value.format": "string"},
            "means nothing without value.format",
        ),
        ({"schema.registry.retries": "1", "value.format": "avro"}, "schema.registry.url is missing"),
        (avro("a:1"), "is not like http"),
        (avro("http://a:1") | {"schema.registry.nonsense": "1"}, "nonsense"),
        (avro("http://a:1") | {"value.schema.version": "1", "value.schema.id": "2"}, "exclude each other"),
        (avro("http://a:1") | {"value.schema.version": "1", "value.schema": '"long"'}, "excludes"),
        (avro("http://a:1") | {"value.schema.version": "newest"}, "whole number"),
        (avro("http://a:1") | {"value.schemaId": "2"}, "value.schema.id"),
        (avro("http://a:1") | {"schema.registry.basic.auth.user": "u"}, "go together"),
        (
            avro("http://a:1") | {"schema.registry.basic.auth.user.info": "u:p"},
            "schema.registry.basic.auth.user and schema.registry.basic.auth.password",
        ),
        (avro("http://a:1") | {"subscribe": "a,b"}, "give value.schema.subject"),
        (avro("http://a:1") | {"value.framing": "none", "value.schema.id": "1"}, "in a registry"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        source_options(lower({"subscribe": "t"} | options))


def test_what_is_only_written_is_no_option_of_a_read() -> None:
    options = avro("http://a:1") | {"topic": "t", "value.schema.normalize": "true"}
    made = sink_options(lower(options)).formats[0].registry
    assert made is not None
    assert (made.subject, made.normalize, made.registers) == ("t-value", True, True)
    with pytest.raises(Exception, match="means nothing to a read"):
        source_options(lower({"subscribe": "t"} | avro("http://a:1") | {"value.schema.normalize": "true"}))


def test_a_registry_that_cannot_be_reached_is_named_by_load(
    read: Read, real_kafka: Kafka, free_port: int
) -> None:
    options = avro(f"http://127.0.0.1:{free_port}") | {"schema.registry.retries": "0"}
    with pytest.raises(PySparkException, match=f"the value's schema cannot be had: .*:{free_port}"):
        read(real_kafka, subscribe="t", **options)


@contextlib.contextmanager
def logged() -> Iterator[io.StringIO]:
    """All that is logged, but for Py4J's commands to the JVM, which are Spark's API itself."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.addFilter(lambda entry: not entry.name.startswith("py4j"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


def test_a_password_goes_to_the_registry_and_is_in_no_plan_log_or_progress(
    real_kafka: Kafka,
    read_stream: Read,
    read: Read,
    stranger: Callable[..., Stranger],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    topic = real_kafka.create()
    answer = {"subject": "s", "version": 1, "id": 5, "schema": json.dumps(OLD)}
    server = stranger((200, json.dumps(answer).encode()))
    real_kafka.write(topic, [framed(5, OLD, {"id": 1, "gone": []})])
    user = f"someone:{PASSWORD}"
    options = avro(server.url) | {
        "schema.registry.basic.auth.user": "someone",
        "schema.registry.basic.auth.password": PASSWORD,
    }
    frame = read_stream(real_kafka, subscribe=topic, startingOffsets="earliest", **options)
    frame.explain(extended=True)
    unstarted = frame._jdf.queryExecution().toString()
    assert "value.format=avro" in unstarted
    with logged() as text:
        query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
        try:
            query.processAllAvailable()
            wait_for(lambda: query.recentProgress)
            query.explain(extended=True)
            progress = [each.json for each in query.recentProgress]
        finally:
            query.stop()
        batch = read(real_kafka, subscribe=topic, **options)
        assert batch.count() == 1
        batch.explain(extended=True)
        plan = batch._jdf.queryExecution().toString()
    shown = capfd.readouterr()
    assert progress
    assert plan
    checkpoint = b"".join(file.read_bytes() for file in (tmp_path / "c").rglob("*") if file.is_file())
    for each in (
        *progress,
        plan,
        unstarted,
        text.getvalue(),
        shown.out,
        shown.err,
        checkpoint.decode(errors="replace"),
    ):
        assert PASSWORD not in each
    expected = "Basic " + base64.b64encode(user.encode()).decode()
    sent = {headers.get("Authorization") or headers.get("authorization") for _, _, headers, _ in server.asked}
    assert sent == {expected}
    # By the driver, and by a task.
    assert {path.partition("?")[0] for path in server.paths} >= {
        f"GET /subjects/{topic}-value/versions/latest",
        "GET /schemas/ids/5",
    }


def test_options_that_are_printed_show_no_password() -> None:
    options = avro(f"http://someone:{PASSWORD}@a:1") | {"subscribe": "t"}
    assert PASSWORD not in repr(source_options(lower(options)))
