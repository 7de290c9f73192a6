"""Avro's (de)serializers: what they ask a client, what they write and read, what they refuse."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import uuid
from types import ModuleType
from typing import Any

from tests.compat.differential.recording_client import recording_client
from tests.compat.differential.script import script
from tests.compat.differential.scripts.registry.clients import AVRO
from tests.compat.differential.stage import Stage

NEWER = """{"type": "record", "name": "R", "namespace": "n", "fields": [
    {"name": "f", "type": "string"}, {"name": "g", "type": ["null", "int"], "default": null}]}"""
WIDE = """{"type": "record", "name": "Wide", "fields": [
    {"name": "i", "type": "int"}, {"name": "l", "type": "long"}, {"name": "d", "type": "double"},
    {"name": "b", "type": "boolean"}, {"name": "raw", "type": "bytes"},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "fixed", "type": {"type": "fixed", "name": "F", "size": 2}},
    {"name": "list", "type": {"type": "array", "items": "int"}},
    {"name": "map", "type": {"type": "map", "values": "string"}},
    {"name": "date", "type": {"type": "int", "logicalType": "date"}},
    {"name": "time", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "id", "type": {"type": "string", "logicalType": "uuid"}}]}"""
WIDE_VALUE = {
    "i": -1,
    "l": 2**40,
    "d": 0.5,
    "b": True,
    "raw": b"\x00\xff",
    "e": "B",
    "fixed": b"ab",
    "list": [1, 2, 3],
    "map": {"a": "b"},
    "date": datetime.date(2024, 2, 29),
    "time": datetime.time(12, 30, 15, 7),
    "at": datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC),
    "local": datetime.datetime(2024, 2, 29, 12, 30, 1, 5),
    "price": decimal.Decimal("-12.34"),
    "id": uuid.UUID(int=5),
}
RECURSIVE = """{"type": "record", "name": "Node", "fields": [
    {"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Node"], "default": null}]}"""
UNREGISTERED = {"auto.register.schemas": False}
UNION = """[{"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]},
    {"type": "record", "name": "B", "fields": [{"name": "x", "type": "int"}]}, "string"]"""


def fails(call: Any, *arguments: Any) -> bool:
    """What fastavro says has words of its own, and many kinds."""
    try:
        call(*arguments)
    except Exception:
        return True
    return False


def context(stage: Stage, topic: str = "t", field: str = "VALUE", headers: Any = None) -> Any:
    serialization = stage.module("serialization")
    return serialization.SerializationContext(topic, serialization.MessageField[field], headers)


@script()
def avro_is_written_and_read_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    client = recording_client(registry, stage)
    values: list[tuple[str, Any]] = [
        (AVRO, {"f": "x"}),
        (NEWER, {"f": "é", "g": 5}),
        (NEWER, {"f": "x", "unknown": 1}),
        (WIDE, WIDE_VALUE),
        (RECURSIVE, {"value": 1, "next": {"value": 2, "next": None}}),
        ('"string"', "text"),
        ("string", "text"),
        (' "long" ', 2**60),
        ('{"type": "bytes"}', b"raw"),
        ('"bytes"', "text"),
        ('{"type": "array", "items": "int"}', [1, 2]),
        ('{"type": "map", "values": ["null", "int"]}', {"a": None}),
        (UNION, {"x": 5}),
        (UNION, ("B", {"x": 5})),
        (UNION, {"-type": "B", "x": 5}),
        (UNION, "text"),
        ('["null", "int"]', 7),
    ]
    for number, (text, value) in enumerate(values):
        serializer = stage.within(f"{number}: made", avro.AvroSerializer, client, text)
        if serializer is None:
            continue
        data = stage.attempt(f"{number}: written", serializer, value, context(stage, f"t{number}"))
        client.record(f"{number}: written")
        stage.attempt(f"{number}: again", serializer, value, context(stage, f"t{number}"))
        client.record(f"{number}: again")
        if data is None:
            continue
        for names in (False, True):
            deserializer = avro.AvroDeserializer(client, return_record_name=names)
            for _ in range(2):
                stage.attempt(f"{number}: read {names}", deserializer, data, context(stage, f"t{number}"))
                client.record(f"{number}: read {names}")
    serializer = avro.AvroSerializer(client, AVRO)
    stage.attempt("nothing", serializer, None, context(stage))
    stage.attempt("without a context", serializer, {"f": "x"})
    deserializer = avro.AvroDeserializer(client, AVRO)
    stage.attempt("nothing to read", deserializer, None, context(stage))
    client.record("nothing")


@script()
def avro_is_read_as_its_reader_wants_it(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    client = recording_client(registry, stage)
    old = avro.AvroSerializer(client, AVRO)({"f": "x"}, context(stage))
    new = avro.AvroSerializer(client, NEWER)({"f": "x", "g": 1}, context(stage))
    client.record("written")
    other = '{"type": "record", "name": "R", "namespace": "n", "fields": [{"name": "h", "type": "int"}]}'
    for label, text in {"old": AVRO, "new": NEWER, "none": None, "a Schema": registry.Schema(NEWER)}.items():
        deserializer = avro.AvroDeserializer(client, text)
        for data in (old, new, old):
            stage.attempt(label, deserializer, data, context(stage))
            client.record(label)
    stage.record("other", fails(avro.AvroDeserializer(client, other), old, context(stage)))
    made = avro.AvroDeserializer(client, from_dict=lambda found, ctx: (found["f"], ctx.topic, str(ctx.field)))
    stage.attempt("an object", made, old, context(stage, field="KEY"))
    stage.attempt("an object without a context", made, old)
    stage.attempt("without a context", avro.AvroDeserializer(client), old)
    written = avro.AvroSerializer(client, AVRO, lambda value, ctx: {"f": value + ctx.topic})
    stage.attempt("of an object", written, "x", context(stage))
    stage.attempt("of an object without a context", written, "x")
    client.record("objects")
    plain = avro.AvroDeserializer(client)
    for data in (b"", b"short", b"\x00\x00\x00\x00\x63data", b"\x05\x00\x00\x00\x01data"):
        stage.attempt(f"{data!r}", plain, data, context(stage))
        client.record(f"{data!r}")
    stage.record("no bytes of it", fails(plain, old[:5] + b"\xff", context(stage)))


@script()
def avro_is_under_the_subject_that_the_strategy_names(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    serde = stage.module("schema_registry.serde")
    strategies: dict[str, dict[str, Any]] = {
        "default": {},
        "none": {"subject.name.strategy": None, "subject.name.strategy.type": None},
        "topic": {"subject.name.strategy.type": "TOPIC"},
        "record": {"subject.name.strategy.type": "RECORD"},
        "topic and record": {"subject.name.strategy.type": "topic_record"},
        "associated": {"subject.name.strategy.type": "ASSOCIATED"},
        "a member": {"subject.name.strategy.type": serde.SubjectNameStrategyType.RECORD},
        "a function": {"subject.name.strategy": lambda ctx, name: f"mine-{name}"},
        "a function of the package": {"subject.name.strategy": registry.record_subject_name_strategy},
        "no subject": {"subject.name.strategy": lambda ctx, name: None},
        "an object": {"subject.name.strategy": serde.AssociatedNameStrategy()},
        **{
            f"fallback {kind}": {
                "subject.name.strategy.type": "ASSOCIATED",
                "subject.name.strategy.conf": {serde.FALLBACK_TYPE: kind},
            }
            for kind in ("RECORD", "TOPIC_RECORD", "NONE", "ASSOCIATED", "other")
        },
        "a cluster": {"subject.name.strategy.conf": {serde.KAFKA_CLUSTER_ID: "lkc-1"}},
    }
    for label, conf in strategies.items():
        client = recording_client(registry, stage)
        for text in (AVRO, '"string"', '["null", "string"]', '{"type": "array", "items": "int"}'):
            value = {AVRO: {"f": "x"}, '{"type": "array", "items": "int"}': [1]}.get(text, "x")
            serializer = avro.AvroSerializer(client, text, conf=conf)
            for field in ("KEY", "VALUE"):
                stage.attempt(f"{label}: {text}", serializer, value, context(stage, field=field))
                client.record(f"{label}: {text}")
        deserializer = avro.AvroDeserializer(client, conf=conf)
        stage.attempt(f"{label}: read", deserializer, b"\0\0\0\0\1\2x", context(stage))
        client.record(f"{label}: read")
    client = recording_client(registry, stage)
    info = registry.AssociationCreateOrUpdateInfo
    request = registry.AssociationCreateOrUpdateRequest("t", "lkc-2", "id", "topic", [info("mine", "value")])
    client.create_association(request)
    serializer = avro.AvroSerializer(client, AVRO)
    serializer.set_cluster_id_resolver(lambda: "lkc-2")
    stage.attempt("associated", serializer, {"f": "x"}, context(stage))
    client.record("associated")
    for told, found in {"empty": "", "another": "lkc-3"}.items():
        serializer = avro.AvroSerializer(client, AVRO)
        serializer.set_cluster_id_resolver(lambda found=found: found)
        stage.attempt(told, serializer, {"f": "x"}, context(stage))
        client.record(told)

    def fail() -> Any:
        raise TimeoutError("no broker")

    serializer = avro.AvroSerializer(client, AVRO)
    serializer.set_cluster_id_resolver(fail)
    stage.attempt("nobody knows", serializer, {"f": "x"}, context(stage))
    others = [info("other", "value")]
    client.create_association(registry.AssociationCreateOrUpdateRequest("t", "lkc-2", "id", "topic", others))
    stage.attempt("two", avro.AvroSerializer(client, AVRO), {"f": "x"}, context(stage))
    strategy = serde.AssociatedNameStrategy(1)
    stage.attempt("by itself", strategy, context(stage, "u"), "n.R", client, {serde.FALLBACK_TYPE: "RECORD"})
    stage.attempt("remembered", strategy, context(stage, "u"), "n.R", client, {serde.FALLBACK_TYPE: "TOPIC"})
    strategy.clear_cache()
    stage.attempt("forgotten", strategy, context(stage, "u"), "n.R", client, {serde.FALLBACK_TYPE: "TOPIC"})
    stage.attempt("no topic", strategy, context(stage, None), "n.R", client)
    stage.attempt("no context", strategy, None, "n.R", client)
    stage.attempt("no client", strategy, context(stage, "v"), "n.R", None)


@script()
def avro_is_written_with_the_schema_that_is_chosen(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    client = recording_client(registry, stage)
    metadata = registry.Metadata(None, registry.MetadataProperties({"major": "1"}), None)
    first = client.register_schema("t-value", registry.Schema(AVRO, "AVRO", [], metadata))
    client.register_schema("t-value", registry.Schema(NEWER))
    client.record("registered")
    chosen: dict[str, dict[str, Any]] = {
        "latest": {"use.latest.version": True},
        "metadata": {"use.latest.with.metadata": {"major": "1"}},
        "id": {"use.schema.id": first},
        "id and latest": {"use.schema.id": first, "use.latest.version": True},
        "metadata and latest": {"use.latest.version": True, "use.latest.with.metadata": {"major": "1"}},
        "not there": {"use.latest.with.metadata": {"major": "9"}},
        "looked up": {},
        "normalized": {"normalize.schemas": True},
    }
    for label, conf in chosen.items():
        for text in (AVRO, NEWER, None):
            serializer = stage.within(
                f"{label}: made",
                avro.AvroSerializer,
                client,
                text,
                conf=UNREGISTERED | conf,
            )
            if serializer is None:
                continue
            for topic in ("t", "t", "u"):
                if text is None and not conf:
                    continue
                stage.attempt(f"{label}: {topic}", serializer, {"f": "x", "g": 7}, context(stage, topic))
                client.record(f"{label}: {topic}")
    serializer = avro.AvroSerializer(client, None, conf=UNREGISTERED | chosen["latest"])
    old = serializer({"f": "x", "g": 7}, context(stage))
    newest = NEWER.replace('"g"', '"h"')
    client.register_schema("t-value", registry.Schema(newest))
    stage.attempt("a new one", serializer, {"f": "x", "h": 7}, context(stage))
    for label in ("latest", "metadata"):
        deserializer = avro.AvroDeserializer(client, conf=chosen[label])
        for data in (old, b"\0\0\0\0\1\2x", old):
            client.record("before")
            stage.attempt(f"read {label}", deserializer, data, context(stage))
            client.record(f"read {label}")


@script()
def avro_with_references_is_written_and_read_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    client = recording_client(registry, stage)
    reference = registry.SchemaReference
    leaf = '{"type": "record", "name": "Leaf", "namespace": "a", "fields": [{"name": "x", "type": "int"}]}'
    branch = """{"type": "record", "name": "Branch", "namespace": "a",
        "fields": [{"name": "leaf", "type": "a.Leaf"}]}"""
    tree = """{"type": "record", "name": "Tree", "namespace": "a",
        "fields": [{"name": "branch", "type": "Branch"}, {"name": "leaf", "type": "Leaf"}]}"""
    client.register_schema("leaf", registry.Schema(leaf))
    to_leaf = reference("a.Leaf", "leaf", 1)
    client.register_schema("branch", registry.Schema(branch, "AVRO", [to_leaf]))
    client.record("registered")
    schema = registry.Schema(tree, "AVRO", [reference("a.Branch", "branch", 1), to_leaf])
    value = {"branch": {"leaf": {"x": 1}}, "leaf": {"x": 2}}
    serializer = avro.AvroSerializer(client, schema)
    client.record("made")
    data = stage.attempt("written", serializer, value, context(stage))
    client.record("written")
    for reader in (None, schema):
        deserializer = avro.AvroDeserializer(client, reader)
        for _ in range(2):
            stage.attempt("read", deserializer, data, context(stage))
            client.record("read")
    missing = registry.Schema(tree, "AVRO", [reference("a.Branch", "nowhere", 1)])
    stage.attempt("not there", avro.AvroSerializer, client, missing)
    missing = registry.Schema(tree, "AVRO", [reference("a", None, 1)])
    stage.attempt("no subject", avro.AvroSerializer, client, missing)


@script()
def ids_of_avro_are_where_they_are_to_be(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    client = recording_client(registry, stage)
    header = {"schema.id.serializer": registry.header_schema_id_serializer}
    serializer = avro.AvroSerializer(client, AVRO, conf=header)
    for field in ("KEY", "VALUE"):
        for headers in ([], {}, None):
            given = context(stage, field=field, headers=headers)
            data = stage.attempt(f"{field} {type(headers).__name__}", serializer, {"f": "xyzxyz"}, given)
            if headers is None:
                continue
            stage.record("headers", [(name, len(value)) for name, value in dict(headers).items()])
            for conf in ({}, {"schema.id.deserializer": registry.prefix_schema_id_deserializer}):
                client.record("before")
                stage.attempt("read", avro.AvroDeserializer(client, conf=conf), data, given)
    own = {"schema.id.serializer": lambda payload, ctx, schema_id: payload + bytes([schema_id.id])}

    def take(payload: bytes, ctx: Any, schema_id: Any) -> Any:
        schema_id.id = payload[-1]
        return payload[:-1]

    data = stage.attempt("own", avro.AvroSerializer(client, AVRO, conf=own), {"f": "xyzxyz"}, context(stage))
    stage.attempt(
        "own read", avro.AvroDeserializer(client, conf={"schema.id.deserializer": take}), data, context(stage)
    )
    mixed = avro.AvroDeserializer(client)
    plain = avro.AvroSerializer(client, AVRO)({"f": "plain"}, context(stage))
    for headers in (None, [], [("other", b"x")], [("__value_schema_id", b"\0\0\0\0\1")]):
        payload = plain[5:] if headers and headers[0][0] != "other" else plain
        stage.attempt(f"mixed {headers}", mixed, payload, context(stage, headers=headers))


@script()
def serializers_of_avro_refuse_what_they_cannot_use(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    serde = stage.module("schema_registry.serde")
    client = registry.SchemaRegistryClient.new_client({"url": "mock://"})
    wrong: list[dict[str, Any]] = [
        *[{name: "x"} for name in sorted(avro.AvroSerializer._default_conf)],
        *[{name: 5} for name in sorted(avro.AvroSerializer._default_conf)],
        {"use.latest.version": True},
        {"unknown": 1, "another": 2},
        {"subject.name.strategy.type": serde.SubjectNameStrategyType.NONE},
        {"subject.name.strategy.type": "NONE"},
        {"schema.id.deserializer": "x"},
        {"validation.rules.execution": "BEFORE_DOMAIN_RULES", "validation.rules.executor": 5},
    ]
    for conf in wrong:
        stage.attempt(f"writing {conf}", made, avro.AvroSerializer, client, AVRO, conf=conf)
        stage.attempt(f"reading {conf}", made, avro.AvroDeserializer, client, AVRO, conf=conf)
    stage.attempt("to_dict", made, avro.AvroSerializer, client, AVRO, 5)
    stage.attempt("from_dict", made, avro.AvroDeserializer, client, AVRO, 5)
    stage.attempt("return_record_name", made, avro.AvroDeserializer, client, AVRO, None, 5)
    stage.attempt("reader's schema", made, avro.AvroDeserializer, client, 5)
    stage.attempt("writer's schema", made, avro.AvroSerializer, client, 5)
    for text in ("{", '{"type": "record"}'):
        for kind in (avro.AvroSerializer, avro.AvroDeserializer):
            try:
                kind(client, text)
            except Exception as error:
                stage.record(f"{kind.__name__} {text}", [base.__name__ for base in type(error).__mro__])
    strict = avro.AvroSerializer(client, NEWER, conf={"validate.strict": True})
    defaults = avro.AvroSerializer(client, NEWER, conf={"validate.strict.allow.default": True})
    for serializer in (avro.AvroSerializer(client, NEWER), strict, defaults):
        for value in ({"f": "x", "g": 1}, {"f": "x"}, {"f": "x", "g": 1, "h": 2}, {"g": 1}, {"f": 5}, 5, []):
            try:
                stage.record(f"{value}", serializer(value, context(stage)))
            except Exception as error:
                # What fastavro says has many kinds.
                stage.record(f"{value}", isinstance(error, ValueError | TypeError | AttributeError))


def made(kind: Any, *arguments: Any, **keywords: Any) -> str:
    return type(kind(*arguments, **keywords)).__name__


@script()
def avro_is_written_and_read_by_asyncio_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")

    async def attempt(label: str, call: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            result = await call(*arguments, **keywords)
        except Exception as error:
            stage.record(label, error)
            return None
        return result

    async def story() -> None:
        client = recording_client(registry, stage, is_async=True)
        serializer = await attempt("made", avro.AsyncAvroSerializer, client, AVRO)
        data: Any = None
        for label in ("written", "again"):
            data = await attempt(label, serializer, {"f": "x"}, context(stage))
            stage.record(label, data)
            client.record(label)
        stage.record("nothing", await attempt("nothing", serializer, None, context(stage)))
        await attempt("no context", serializer, {"f": "x"})
        deserializer = await attempt("made", avro.AsyncAvroDeserializer, client, NEWER)
        for label in ("read", "read again"):
            stage.record(label, await attempt(label, deserializer, data, context(stage)))
            client.record(label)
        latest = {"auto.register.schemas": False, "use.latest.version": True}
        serializer = await attempt("made", avro.AsyncAvroSerializer, client, conf=latest)
        stage.record("latest", await attempt("latest", serializer, {"f": "y"}, context(stage)))
        client.record("latest")
        await attempt("refused", avro.AsyncAvroSerializer, client, AVRO, conf={"unknown": 1})
        await attempt("broken", deserializer, b"short", context(stage))

        async def resolve() -> str:
            return "lkc-9"

        serializer = await attempt("made", avro.AsyncAvroSerializer, client, AVRO)
        serializer.set_async_cluster_id_resolver(resolve)
        await attempt("resolved", serializer, {"f": "x"}, context(stage, "v"))
        client.record("resolved")
        await serializer.aclose()

    asyncio.run(story())


@script()
def builders_build_serializers_of_avro(kafka: ModuleType, stage: Stage) -> None:
    registry, avro = stage.module("schema_registry"), stage.module("schema_registry.avro")
    conf = {"url": "mock://"}
    client = registry.SchemaRegistryClient.new_client(conf)
    built: list[Any] = []
    writer = avro.AvroSerializerBuilder().set_schema_registry_client(client).set_schema(AVRO)
    writer = writer.set_to_dict(lambda value, ctx: {"f": value}).set_serializer_config({}).set_rule_config({})
    serializer, rest = writer.set_serializer_init(built.append).build({"a": 1}, True)
    stage.record("built", [type(serializer).__name__, rest, built == [serializer]])
    data = stage.attempt("written", serializer, "x", context(stage))
    reader = avro.AvroDeserializerBuilder(schema_registry_client=client)
    reader = reader.set_from_dict(lambda found, ctx: found["f"])
    deserializer, rest = reader.set_return_record_name(True).set_deserializer_config({}).build({}, False)
    stage.attempt("read", deserializer, data, context(stage))
    both = avro.AvroSerializerBuilder(conf, client, AVRO)
    stage.attempt("both", both.build, {}, False)
    own, _ = avro.AvroSerializerBuilder(conf, schema=AVRO).build({}, False)
    own.close()
    own.close()
    unknown = avro.AvroSerializerBuilder(conf, serializer_config={"unknown": 1})
    stage.attempt("refused", unknown.build, {}, False)

    def fail(serializer: Any) -> None:
        raise KeyError("init")

    failing = avro.AvroSerializerBuilder(conf, schema=AVRO, serializer_init=fail)
    stage.attempt("init fails", failing.build, {}, False)
