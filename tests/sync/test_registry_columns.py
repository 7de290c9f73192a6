"""Columns of records by a registry's schemas, on both fronts, beside confluent-kafka's own serializer."""

from __future__ import annotations

import asyncio
import datetime
import json
import pickle
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from bench.avro_values import SCHEMA, VALUE
from confluent_kafka import Producer as TheirProducer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import barnabas.aio
from barnabas import Consumer, Producer, Registry, RegistryFormat, TopicPartition
from barnabas.errors import MisuseError, SerializationError
from barnabas.formats import SchemaError
from barnabas.registry import AvroSerializer as OwnSerializer
from barnabas.registry import (
    RegisteredSchema,
    RegistrySettings,
    RegistryUnreachableError,
    Rule,
    RuleSet,
    Schema,
    SchemaReference,
    SubjectNotFoundError,
)
from barnabas.registry.rules import RuleOverride, RuleRegistry
from barnabas.testing import EmbeddedRegistry, free_ports

UTC = datetime.UTC


def record(*fields: Any) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


OLD = record({"name": "id", "type": "int"}, {"name": "gone", "type": "string", "default": ""})
NEW = record({"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None})


@pytest.fixture(scope="module")
def registry_url() -> Iterator[str]:
    with EmbeddedRegistry() as server:
        yield server.url


@pytest.fixture
def registry(registry_url: str) -> Iterator[Registry]:
    with Registry(registry_url, retries=0) as registry:
        yield registry


@pytest.fixture
def topic(make_topic: Any, embedded_broker: Any) -> str:
    return make_topic(embedded_broker)


@pytest.fixture
def bootstrap(embedded_broker: Any) -> str:
    return embedded_broker.bootstrap


def write_by_confluent(bootstrap: str, url: str, topic: str, schema: str, values: list[Any]) -> None:
    producer = TheirProducer({"bootstrap.servers": bootstrap})
    context = SerializationContext(topic, MessageField.VALUE)
    with SchemaRegistryClient({"url": url}) as client:
        serialize = AvroSerializer(client, schema)
        for value in values:
            producer.produce(topic, serialize(value, context))
    assert producer.flush(30) == 0


@pytest.fixture
def consumer(bootstrap: str, topic: str) -> Iterator[Consumer]:
    with Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        yield consumer


def test_records_of_several_writers_are_columns_of_the_readers_schema(
    bootstrap: str, registry_url: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    write_by_confluent(bootstrap, registry_url, topic, OLD, [{"id": 1, "gone": "x"}, {"id": 2, "gone": "y"}])
    write_by_confluent(bootstrap, registry_url, topic, NEW, [{"id": 3, "note": "n"}])
    write_by_confluent(bootstrap, registry_url, topic, OLD, [{"id": 4, "gone": "z"}])
    orders = RegistryFormat(registry, f"{topic}-value")
    batch = consumer.poll_arrow(30, value=orders)
    assert batch.column("value").to_pylist() == [
        {"id": 1, "note": None},
        {"id": 2, "note": None},
        {"id": 3, "note": "n"},
        {"id": 4, "note": None},
    ]
    assert batch.column("valueError").null_count == 4
    assert batch.column("offset").to_pylist() == [0, 1, 2, 3]
    empty = consumer.poll_arrow(0, value=orders)
    assert (empty.num_rows, empty.schema) == (0, batch.schema)
    by_old = RegistryFormat(registry, f"{topic}-value", version=1)
    consumer.seek(TopicPartition(topic, 0), 2)
    found = consumer.poll_arrow(30, value=by_old)
    # long is not read as int.
    assert found.column("value").to_pylist()[0] is None
    assert found.column("valueError").to_pylist()[0]["field"] == "id"


def test_every_type_comes_as_confluents_deserializer_gives_it(
    bootstrap: str, registry_url: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    write_by_confluent(bootstrap, registry_url, topic, SCHEMA, [VALUE])
    batch = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
    expected = {
        **VALUE,
        "map": [*VALUE["map"].items()],
        "uuid": str(VALUE["uuid"]),
        # Spark has no type for a time of the day.
        "time": ((1 * 60 + 2) * 60 + 3) * 1000 + 456,
    }
    assert batch.column("value").to_pylist() == [expected]


def test_what_is_sent_confluents_deserializer_reads_and_the_schema_is_registered(
    bootstrap: str, registry_url: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    kind = pa.struct([("id", pa.int64()), ("note", pa.string())])
    table = pa.table({"key": [b"k", b"l"], "value": pa.array([{"id": 5, "note": "a"}, None], kind)})
    with Producer(bootstrap) as producer:
        format = RegistryFormat(registry, f"{topic}-value", schema=NEW)
        assert producer.send_arrow(topic, table, value=format).result(30) == 2
    registered = registry.latest(f"{topic}-value")
    records = consumer.poll_arrow(30)
    data, nothing = records.column("value").to_pylist()
    assert nothing is None
    assert data[:5] == b"\x00" + registered.id.to_bytes(4, "big")
    with SchemaRegistryClient({"url": registry_url}) as client:
        found = AvroDeserializer(client)(data, SerializationContext(topic, MessageField.VALUE))
    assert found == {"id": 5, "note": "a"}


def test_a_schema_that_is_only_looked_up_is_not_registered(
    registry: Registry, bootstrap: str, topic: str
) -> None:
    table = pa.table({"value": pa.array([{"id": 5}], pa.struct([("id", pa.int64())]))})
    format = RegistryFormat(registry, f"{topic}-value", schema=NEW, registers=False)
    with Producer(bootstrap) as producer, pytest.raises(SubjectNotFoundError):
        producer.send_arrow(topic, table, value=format)
    assert f"{topic}-value" not in registry.subjects()


def test_a_row_that_does_not_fit_is_named_and_none_is_sent(
    registry: Registry, bootstrap: str, topic: str, consumer: Consumer
) -> None:
    table = pa.table({"value": pa.array([{"id": 5}, {"id": None}], pa.struct([("id", pa.int64())]))})
    format = RegistryFormat(registry, f"{topic}-value", schema=NEW)
    with (
        Producer(bootstrap) as producer,
        pytest.raises(SerializationError, match="row 1, field 'id'"),
    ):
        producer.send_arrow(topic, table, value=format)
    assert consumer.end_offsets([TopicPartition(topic, 0)]) == {TopicPartition(topic, 0): 0}


def test_a_guid_in_the_records_header_names_the_schema(
    bootstrap: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    registered = registry.register(f"{topic}-value", Schema(NEW))
    assert registered.guid is not None
    header = b"\x01" + uuid.UUID(registered.guid).bytes
    with Producer(bootstrap) as producer:
        producer.send(topic, b"\x06\x00", headers=[("other", b"x"), ("__value_schema_id", header)])
        producer.send(topic, b"\x00" + registered.id.to_bytes(4, "big") + b"\x08\x00", headers=[("x", None)])
    batch = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
    while batch.num_rows < 2:
        consumer.seek(TopicPartition(topic, 0), 0)
        batch = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
    assert batch.column("value").to_pylist() == [{"id": 3, "note": None}, {"id": 4, "note": None}]


def test_what_cannot_be_read_stands_beside_with_its_bytes_and_why(
    bootstrap: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    registry.register(f"{topic}-value", Schema(NEW))
    unknown = b"\x00\x00\x0f\xff\xffx"
    table = pa.table({"value": pa.array([b"plain", unknown], pa.binary())})
    with Producer(bootstrap) as producer:
        producer.send_arrow(topic, table).result(30)
    batch = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
    assert batch.column("value").null_count == 2
    errors = batch.column("valueError").to_pylist()
    assert [error["bytes"] for error in errors] == [b"plain", unknown]
    assert "begins with the byte 112" in errors[0]["message"]
    assert "id 1048575, is not in the registry" in errors[1]["message"]


def test_records_come_again_when_the_registry_could_not_be_asked(
    bootstrap: str, registry_url: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    write_by_confluent(
        bootstrap, registry_url, topic, NEW, [{"id": 1, "note": None}, {"id": 2, "note": None}]
    )
    with Registry(f"http://127.0.0.1:{free_ports(1)[0]}", retries=0) as nobody:
        format = RegistryFormat(nobody, schema=NEW)
        for _ in range(2):
            with pytest.raises(RegistryUnreachableError):
                consumer.poll_arrow(30, value=format)
    assert consumer.position(TopicPartition(topic, 0)) == 0
    found = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
    assert [row["id"] for row in found.column("value").to_pylist()] == [1, 2]


def test_a_format_that_was_pickled_goes_on_without_asking_for_its_schema(
    bootstrap: str, registry_url: str, topic: str, consumer: Consumer
) -> None:
    write_by_confluent(bootstrap, registry_url, topic, OLD, [{"id": 1, "gone": "x"}])
    with Registry(registry_url) as registry:
        format = RegistryFormat(registry, f"{topic}-value")
        before = registry.run(format.data_type())
        # A later version does not change the column any more.
        registry.register(f"{topic}-value", Schema(NEW))
        again = pickle.loads(pickle.dumps(format))
    assert again.run(again.data_type()) == before
    assert consumer.poll_arrow(30, value=again).column("value").to_pylist() == [{"id": 1, "gone": "x"}]


def test_schemas_that_others_refer_to_are_asked_for(
    bootstrap: str, registry_url: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    inner = Schema(json.dumps({"type": "record", "name": "In", "fields": [{"name": "x", "type": "int"}]}))
    registry.register(f"{topic}-inner", inner)
    outer = Schema(
        record({"name": "inner", "type": "In"}), "AVRO", [SchemaReference("In", f"{topic}-inner", 1)]
    )
    table = pa.table({"value": pa.array([{"inner": {"x": 3}}])})
    format = RegistryFormat(registry, f"{topic}-value", schema=outer)
    with Producer(bootstrap) as producer:
        producer.send_arrow(topic, table, value=format).result(30)
    found = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
    assert found.column("value").to_pylist() == [{"inner": {"x": 3}}]


def test_the_front_for_asyncio_does_the_same(bootstrap: str, registry_url: str, topic: str) -> None:
    kind = pa.struct([("id", pa.int64()), ("note", pa.string())])
    table = pa.table({"value": pa.array([{"id": 5, "note": "a"}], kind)})

    async def run() -> None:
        async with (
            barnabas.aio.Registry(registry_url) as registry,
            barnabas.aio.Producer(bootstrap) as producer,
            barnabas.aio.Consumer(bootstrap, auto_offset_reset="earliest") as consumer,
        ):
            format = RegistryFormat(registry, f"{topic}-value", schema=NEW)
            await (await producer.send_arrow(topic, table, value=format))
            consumer.assign([TopicPartition(topic, 0)])
            batch = await consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
            assert batch.column("value").to_pylist() == [{"id": 5, "note": "a"}]
            with (
                Registry(registry_url) as waiting,
                pytest.raises(MisuseError, match=r"needs a barnabas\.aio\."),
            ):
                await consumer.poll_arrow(0, value=RegistryFormat(waiting, "s"))

    asyncio.run(run())


def test_a_format_needs_a_schema_and_a_registry_of_its_clients_kind(
    registry: Registry, registry_url: str, consumer: Consumer
) -> None:
    with pytest.raises(MisuseError, match="which schema"):
        RegistryFormat(registry)
    with pytest.raises(MisuseError, match="exclude each other"):
        RegistryFormat(registry, "s", version=1, schema=NEW)
    format = RegistryFormat(barnabas.aio.Registry(registry_url), "s")
    with pytest.raises(MisuseError, match=r"needs a barnabas\.Registry"):
        consumer.poll_arrow(0, value=format)


def test_decimals_keep_their_digits(
    registry: Registry, bootstrap: str, topic: str, consumer: Consumer
) -> None:
    schema = record(
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}}
    )
    value = pa.array([{"d": Decimal("12.34")}], pa.struct([("d", pa.decimal128(10, 2))]))
    with Producer(bootstrap) as producer:
        format = RegistryFormat(registry, f"{topic}-value", schema=schema)
        producer.send_arrow(topic, pa.table({"value": value}), value=format).result(30)
    assert consumer.poll_arrow(30, value=format).column("value").to_pylist() == [{"d": Decimal("12.34")}]


JSON_SCHEMA = json.dumps(
    {
        "type": "object",
        "title": "Order",
        "properties": {
            "id": {"type": "integer"},
            "note": {"type": "string"},
            "at": {"type": "string", "format": "date-time"},
        },
    }
)


def test_json_by_a_json_schema(
    bootstrap: str, registry_url: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    producer = TheirProducer({"bootstrap.servers": bootstrap})
    value = {"id": 5, "at": "2026-11-25T01:02:03Z"}
    with SchemaRegistryClient({"url": registry_url}) as client:
        context = SerializationContext(topic, MessageField.VALUE)
        producer.produce(topic, JSONSerializer(JSON_SCHEMA, client)(value, context))
    assert producer.flush(30) == 0
    format = RegistryFormat(registry, f"{topic}-value")
    batch = consumer.poll_arrow(30, value=format)
    at = datetime.datetime(2026, 11, 25, 1, 2, 3, tzinfo=UTC)
    assert batch.column("value").to_pylist() == [{"id": 5, "note": None, "at": at}]
    other = registry.register(f"{topic}-other", Schema('"long"')).id
    with Producer(bootstrap) as sender:
        assert (
            sender.send_arrow(topic, pa.table({"value": batch.column("value")}), value=format).result(30) == 1
        )
        sender.send(topic, b"\x00" + other.to_bytes(4, "big") + b"5").result(30)
    again = consumer.poll_arrow(30, max_records=1, value=format)
    assert again.column("value").to_pylist() == batch.column("value").to_pylist()
    wrong = consumer.poll_arrow(30, value=format).column("valueError").to_pylist()[0]
    assert "is of the type AVRO, and the column's JSON" in wrong["message"]


def test_protobuf_finds_the_message_wherever_the_writers_file_has_it(
    bootstrap: str, registry: Registry, topic: str, consumer: Consumer
) -> None:
    old = 'syntax = "proto3"; package p; message Order { int64 id = 1; }'
    new = (
        'syntax = "proto3"; package p; import "google/protobuf/timestamp.proto";'
        "message First { string a = 1; }"
        "message Order { int64 id = 1; string note = 2; google.protobuf.Timestamp at = 3; }"
    )
    with Producer(bootstrap) as producer:
        for text, id in ((old, 1), (new, 2)):
            kind = pa.struct([("id", pa.int64())])
            table = pa.table({"value": pa.array([{"id": id}], kind)})
            schema = Schema(text, "PROTOBUF")
            format = RegistryFormat(registry, f"{topic}-value", schema=schema, message="Order")
            producer.send_arrow(topic, table, value=format).result(30)
    records = consumer.poll_arrow(30).column("value").to_pylist()
    assert [data[5:] for data in records] == [b"\x00\x08\x01", b"\x02\x02\x08\x02"]
    consumer.seek(TopicPartition(topic, 0), 0)
    batch = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value", message="p.Order"))
    assert batch.column("value").to_pylist() == [
        {"id": 1, "note": "", "at": None},
        {"id": 2, "note": "", "at": None},
    ]
    consumer.seek(TopicPartition(topic, 0), 0)
    first = consumer.poll_arrow(30, value=RegistryFormat(registry, f"{topic}-value"))
    messages = [error["message"] for error in first.column("valueError").to_pylist()]
    assert "message 'p.First' is not in" in messages[0]
    assert messages[1] == "it is message [1] of its schema, not [0]"


def test_a_schema_that_refers_to_itself_is_refused(
    registry: Registry, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    circle = Schema('"int"', references=[SchemaReference("a", "a", 1)])

    def version(subject: str, version: int, **settings: Any) -> Any:
        return RegisteredSchema(subject, version, 1, None, circle)
        yield

    monkeypatch.setattr(registry.calls, "version", version)
    format = RegistryFormat(registry, f"{topic}-value", schema=circle)
    with pytest.raises(SchemaError, match="version 1 of a refers to itself"):
        registry.run(format.data_type())


def test_a_schema_of_another_type_than_was_asked_for_is_refused(registry: Registry, topic: str) -> None:
    registry.register(f"{topic}-value", Schema('"long"'))
    format = RegistryFormat(registry, f"{topic}-value", type="JSON")
    with pytest.raises(SchemaError, match="of the type AVRO, not JSON"):
        format.run(format.data_type())


# Rules, which columns do not run

HIDE = Rule("hide", kind="TRANSFORM", mode="WRITEREAD", type="ENCRYPT", tags=["PII"])
HIDE_ALL = Rule("hide_all", kind="TRANSFORM", mode="WRITEREAD", type="ENCRYPT_PAYLOAD")
CHECK = Rule("check", kind="CONDITION", mode="WRITE", type="CEL", expr="message.id > 0")
SEE = Rule("see", kind="CONDITION", mode="READ", type="CEL", expr="message.id > 0")
RENAME = Rule("rename", kind="TRANSFORM", mode="UPDOWN", type="JSONATA", expr="$")
ROWS = pa.table({"value": pa.array([{"id": 1, "note": "n"}])})


@pytest.mark.parametrize(
    "rules",
    [RuleSet(domain_rules=(HIDE,)), RuleSet(encoding_rules=(HIDE_ALL,)), RuleSet(domain_rules=(CHECK,))],
    ids=["fields", "payload", "condition"],
)
@pytest.mark.parametrize("own", ["latest", "text", "schema", "id"])
def test_rows_are_not_written_past_the_rules_of_their_subject(
    bootstrap: str, topic: str, registry: Registry, rules: RuleSet, own: str
) -> None:
    subject = f"{topic}-value"
    registered = registry.register(subject, Schema(NEW, rule_set=rules))
    given: dict[str, Any] = {
        "latest": {},
        "text": {"schema": NEW},
        "schema": {"schema": Schema(NEW, rule_set=rules)},
        "id": {"id": registered.id},
    }[own]
    rule = (*rules.domain_rules, *rules.encoding_rules)[0].name
    with Producer(bootstrap) as producer, Consumer(bootstrap) as consumer:
        format = RegistryFormat(registry, subject, **given)
        told = rf"'{rule}' .*RegistryFormat\({subject}\) runs no rules: nothing .* AvroSerializer"
        for _ in range(2):
            with pytest.raises(SchemaError, match=told):
                producer.send_arrow(topic, ROWS, value=format)
        assert registry.versions(subject) == [1]
        assert consumer.end_offsets([TopicPartition(topic, 0)])[TopicPartition(topic, 0)] == 0
        knowing = RegistryFormat(registry, subject, **given, ignores_rules=True)
        producer.send_arrow(topic, ROWS, value=knowing).result()


def test_rules_that_are_disabled_or_run_elsewhere_keep_no_rows_back(
    bootstrap: str, topic: str, registry: Registry
) -> None:
    rules = RuleSet(
        domain_rules=(
            Rule("off", kind="CONDITION", mode="WRITE", type="CEL", expr="false", disabled=True),
            SEE,
        )
    )
    subject = f"{topic}-value"
    registry.register(subject, Schema(NEW, rule_set=rules))
    process = RuleRegistry.get_global_instance()
    with Producer(bootstrap) as producer:
        producer.send_arrow(topic, ROWS, value=RegistryFormat(registry, subject)).result()
        registry.register(subject, Schema(NEW, rule_set=RuleSet(domain_rules=(CHECK,))))
        process.register_override(RuleOverride("CEL", None, None, disabled=True))
        try:
            producer.send_arrow(topic, ROWS, value=RegistryFormat(registry, subject)).result()
        finally:
            process.clear()
        registry.register(subject, Schema(NEW, rule_set=RuleSet(domain_rules=(CHECK,), enable_at="SERVER")))
        producer.send_arrow(topic, ROWS, value=RegistryFormat(registry, subject)).result()


@pytest.mark.parametrize("rules", [RuleSet(domain_rules=(SEE,)), RuleSet(encoding_rules=(HIDE_ALL,))])
def test_values_that_rules_have_to_read_are_not_given_as_they_were_written(
    bootstrap: str, topic: str, registry: Registry, consumer: Consumer, rules: RuleSet
) -> None:
    subject = f"{topic}-value"
    ruled = registry.register(subject, Schema(NEW, rule_set=rules))
    registry.set_settings(RegistrySettings(compatibility="NONE"), subject)
    unruled = registry.register(subject, Schema(OLD, rule_set=RuleSet()))
    hidden = b"\0" + ruled.id.to_bytes(4) + b"\x0a\x00"
    with Producer(bootstrap) as producer:
        producer.send(topic, hidden)
        producer.send(topic, b"\0" + unruled.id.to_bytes(4) + b"\x0a\x00")
    batch = consumer.poll_arrow(30, max_records=2, value=RegistryFormat(registry, subject, version=1))
    assert batch.column("value").to_pylist() == [None, {"id": 5, "note": None}]
    error = batch.column("valueError").to_pylist()[0]
    rule = (*rules.domain_rules, *rules.encoding_rules)[0].name
    assert error["bytes"] == hidden
    assert f"its schema, id {ruled.id}, has the rule '{rule}'" in error["message"]
    assert f"RegistryFormat({subject}) runs no rules: read it with AvroDeserializer" in error["message"]
    consumer.seek(TopicPartition(topic, 0), 0)
    knowing = RegistryFormat(registry, subject, version=1, ignores_rules=True)
    batch = consumer.poll_arrow(30, max_records=2, value=knowing)
    assert batch.column("value").to_pylist() == [{"id": 5, "note": None}] * 2


def test_values_that_rules_have_to_migrate_are_not_given_as_they_were_written(
    bootstrap: str, topic: str, registry: Registry, consumer: Consumer
) -> None:
    subject = f"{topic}-value"
    registry.set_settings(RegistrySettings(compatibility="NONE"), subject)
    with Producer(bootstrap) as producer:
        producer.send(topic, OwnSerializer(registry, OLD)(topic, {"id": 5, "gone": "x"}))
        registry.register(subject, Schema(NEW, rule_set=RuleSet(migration_rules=(RENAME,))))
        producer.send(topic, OwnSerializer(registry, NEW)(topic, {"id": 6, "note": None}))
        # Under no version of the subject.
        other = registry.register(
            f"{subject}-other", Schema('{"type": "record", "name": "Order", "fields": []}')
        )
        producer.send(topic, b"\0" + other.id.to_bytes(4))
    for version, expected in ((2, [None, {"id": 6, "note": None}]), (1, [{"id": 5, "gone": "x"}, None])):
        consumer.seek(TopicPartition(topic, 0), 0)
        batch = consumer.poll_arrow(
            30, max_records=3, value=RegistryFormat(registry, subject, version=version)
        )
        assert batch.column("value").to_pylist()[:2] == expected
        messages = [each["message"] for each in batch.column("valueError").to_pylist() if each is not None]
        assert "has the rule 'rename' (JSONATA, UPDOWN)" in messages[0]
        assert "rule" not in messages[1]
