"""Protobuf's (de)serializers: what they ask a client, what they write and read, what they refuse."""

from __future__ import annotations

import asyncio
import decimal
from types import ModuleType
from typing import Any

from google.protobuf import descriptor_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from tests.compat.differential.recording_client import recording_client
from tests.compat.differential.script import script
from tests.compat.differential.scripts.registry.avro import UNREGISTERED, context, made
from tests.compat.differential.stage import Stage

FIELD = descriptor_pb2.FieldDescriptorProto


def _file(name: str, package: str, imports: list[str], **messages: list[tuple[str, Any]]) -> Any:
    """`messages`: names and types of their fields; a type's name for a message's."""
    file = descriptor_pb2.FileDescriptorProto(name=name, package=package, syntax="proto3", dependency=imports)
    for message_name, fields in messages.items():
        message = file.message_type.add(name=message_name)
        for number, (field_name, kind) in enumerate(fields, 1):
            field = message.field.add(name=field_name, number=number, label=FIELD.LABEL_OPTIONAL)
            if isinstance(kind, str):
                field.type, field.type_name = FIELD.TYPE_MESSAGE, kind
            else:
                field.type = kind
    return file


def classes() -> dict[str, Any]:
    """By full name."""
    pool = DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    leaf = _file("dir/leaf.proto", "a", [], Leaf=[("x", FIELD.TYPE_INT32)])
    branch = _file("branch.proto", "a", ["dir/leaf.proto"], Branch=[("leaf", ".a.Leaf")])
    tree = _file(
        "tree.proto",
        "b",
        ["branch.proto", "dir/leaf.proto", "google/protobuf/timestamp.proto"],
        Tree=[
            ("name", FIELD.TYPE_STRING),
            ("branch", ".a.Branch"),
            ("leaf", ".a.Leaf"),
            ("at", ".google.protobuf.Timestamp"),
        ],
        Second=[("y", FIELD.TYPE_BYTES)],
    )
    nested = tree.message_type[1].nested_type.add(name="Inner")
    nested.field.add(name="z", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
    for file in (leaf, branch, tree):
        pool.AddSerializedFile(file.SerializeToString())
    names = ("a.Leaf", "a.Branch", "b.Tree", "b.Second", "b.Second.Inner")
    return {name: GetMessageClass(pool.FindMessageTypeByName(name)) for name in names}


def values(kinds: dict[str, Any]) -> dict[str, Any]:
    tree = kinds["b.Tree"](name="é", leaf={"x": 3}, at={"seconds": 5})
    tree.branch.leaf.x = 7
    return {
        "a.Leaf": kinds["a.Leaf"](x=-1),
        "a.Branch": kinds["a.Branch"](leaf={"x": 1}),
        "b.Tree": tree,
        "b.Second": kinds["b.Second"](y=b"\x00\xff"),
        "b.Second.Inner": kinds["b.Second.Inner"](z=2**40),
    }


@script()
def protobuf_is_written_and_read_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, protobuf = stage.module("schema_registry"), stage.module("schema_registry.protobuf")
    kinds = classes()
    configurations: dict[str, dict[str, Any]] = {
        "plain": {},
        "normalized": {"normalize.schemas": True},
        "all registered": {"skip.known.types": False},
        "own names": {"reference.subject.name.strategy": lambda ctx, file: f"{ctx.topic}/{file.name}"},
        "record": {"subject.name.strategy.type": "RECORD"},
        "topic and record": {"subject.name.strategy": registry.topic_record_subject_name_strategy},
    }
    for label, conf in configurations.items():
        client = recording_client(registry, stage)
        for name, value in values(kinds).items():
            serializer = protobuf.ProtobufSerializer(kinds[name], client, conf)
            data: Any = None
            for _ in range(2):
                data = stage.attempt(f"{label}: {name} written", serializer, value, context(stage, name))
                client.record(f"{label}: {name} written")
            if "subject.name.strategy" not in str(conf):
                conf = {}
            names = {key: value for key, value in conf.items() if key.startswith("subject")}
            deserializer = protobuf.ProtobufDeserializer(kinds[name], names, client)
            for _ in range(2):
                read = stage.within(f"{label}: {name} read", deserializer, data, context(stage, name))
                stage.record(f"{label}: {name} read", [str(read), read == value, type(read) is kinds[name]])
                client.record(f"{label}: {name} read")
            alone = protobuf.ProtobufDeserializer(kinds[name])
            stage.record("without a client", str(stage.within("alone", alone, data, context(stage, name))))
            stage.record("without a context", str(stage.within("alone", alone, data)))
    serializer = protobuf.ProtobufSerializer(kinds["a.Leaf"], client)
    stage.attempt("nothing", serializer, None, context(stage))
    stage.attempt("another message", lambda: stage.text(serializer(kinds["b.Second"](), context(stage))))
    stage.attempt("no message", lambda: stage.text(serializer({"x": 1}, context(stage))))
    deserializer = protobuf.ProtobufDeserializer(kinds["b.Tree"], None, client)
    stage.attempt("nothing to read", deserializer, None, context(stage))
    last = protobuf.ProtobufSerializer(kinds["b.Tree"], client)(values(kinds)["b.Tree"], context(stage))
    client.record("before")
    broken = {
        "empty": b"",
        "no id": b"\x05\0\0\0\1\0x",
        "unknown id": b"\0\0\0\0\x63\0",
        "no such message": last[:5] + b"\x02\x10",
        "no such nested message": last[:5] + b"\x04\x00\x10",
        "negative": last[:5] + b"\x02\x01",
        "too many": last[:5] + b"\xff\xff\xff\x7f",
        "no end": last[:5] + b"\x80",
        "no message": last[:6] + b"\xff\xff",
    }
    for label, data in broken.items():
        try:
            stage.record(label, str(deserializer(data, context(stage))))
        except Exception as error:
            # `struct` has words of its own for too few bytes.
            stage.record(label, type(error).__name__ if label == "empty" else error)
    header = {"schema.id.serializer": registry.header_schema_id_serializer}
    serializer = protobuf.ProtobufSerializer(kinds["b.Second.Inner"], client, header)
    given = context(stage, headers=[])
    data = stage.attempt("header", serializer, values(kinds)["b.Second.Inner"], given)
    stage.record("headers", [(name, len(value), value[17:]) for name, value in given.headers])
    deserializer = protobuf.ProtobufDeserializer(kinds["b.Second.Inner"], None, client)
    stage.record("read by header", str(stage.within("read by header", deserializer, data, given)))


@script()
def protobuf_is_written_with_the_schema_that_is_chosen(kafka: ModuleType, stage: Stage) -> None:
    registry, protobuf = stage.module("schema_registry"), stage.module("schema_registry.protobuf")
    kinds = classes()
    client = recording_client(registry, stage)
    tree = values(kinds)["b.Tree"]
    protobuf.ProtobufSerializer(kinds["b.Tree"], client)(tree, context(stage))
    client.record("registered")
    first = client.get_latest_version("t-value")
    client.record("latest")
    for label, conf in {
        "latest": {"use.latest.version": True},
        "id": {"use.schema.id": first.schema_id},
        "looked up": {},
    }.items():
        serializer = protobuf.ProtobufSerializer(kinds["b.Tree"], client, UNREGISTERED | conf)
        data = stage.attempt(label, serializer, tree, context(stage))
        client.record(label)
        conf.pop("use.schema.id", None)
        deserializer = protobuf.ProtobufDeserializer(kinds["b.Tree"], conf, client)
        stage.record(label, str(stage.within("read", deserializer, data, context(stage))))
        client.record(f"{label} read")
    seen: list[Any] = []
    serde = stage.module("schema_registry.serde")

    class Notes(serde.FieldRuleExecutor):
        def type(self) -> str:
            return "NOTES"

        def new_transform(self, ctx: Any) -> Any:
            def transform(ctx: Any, field: Any, value: Any) -> Any:
                seen.append([field.full_name, field.name, field.type_name(), sorted(field.tags), str(value)])
                return value.upper() if isinstance(value, str) else value

            return transform

    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    rules.register_executor(Notes())
    rule = registry.Rule.from_dict({"name": "r", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "NOTES"})
    schema = registry.Schema(
        first.schema.schema_str, "PROTOBUF", first.schema.references, None, registry.RuleSet(None, [rule])
    )
    client.register_schema("t-value", schema)
    latest = UNREGISTERED | {"use.latest.version": True}
    serializer = protobuf.ProtobufSerializer(kinds["b.Tree"], client, latest, None, rules)
    data = stage.attempt("by rules", serializer, tree, context(stage))
    stage.record("fields", seen)
    seen.clear()
    deserializer = protobuf.ProtobufDeserializer(kinds["b.Tree"], None, client, None, rules)
    stage.record("read by rules", str(stage.within("read by rules", deserializer, data, context(stage))))
    stage.record("fields read", seen)


@script()
def serializers_of_protobuf_refuse_what_they_cannot_use(kafka: ModuleType, stage: Stage) -> None:
    registry, protobuf = stage.module("schema_registry"), stage.module("schema_registry.protobuf")
    client = registry.SchemaRegistryClient.new_client({"url": "mock://"})
    kind = classes()["a.Leaf"]
    wrong: list[dict[str, Any]] = [
        *[{name: "x"} for name in sorted(protobuf.ProtobufSerializer._default_conf)],
        {"use.latest.version": True},
        {"use.deprecated.format": True},
        {"unknown": 1},
        {"schema.id.deserializer": "x"},
    ]
    for conf in wrong:
        stage.attempt(f"writing {conf}", made, protobuf.ProtobufSerializer, kind, client, conf)
        stage.attempt(f"reading {conf}", made, protobuf.ProtobufDeserializer, kind, conf, client)
    for builder in (protobuf.ProtobufSerializerBuilder(), protobuf.ProtobufDeserializerBuilder()):
        stage.attempt("no class", builder.build, {}, False)
        built, rest = builder.set_message_type(kind).set_schema_registry_client(client).build({"a": 1}, False)
        stage.record("built", [type(built).__name__, rest])


@script()
def protobuf_is_written_and_read_by_asyncio_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, protobuf = stage.module("schema_registry"), stage.module("schema_registry.protobuf")
    kinds = classes()

    async def story() -> None:
        client = recording_client(registry, stage, is_async=True)
        for name, value in values(kinds).items():
            serializer = await protobuf.AsyncProtobufSerializer(kinds[name], client)
            deserializer = await protobuf.AsyncProtobufDeserializer(kinds[name], None, client)
            for _ in range(2):
                data = await serializer(value, context(stage, name))
                stage.record(f"{name} written", data)
                stage.record(f"{name} read", str(await deserializer(data, context(stage, name))))
                client.record(name)

    asyncio.run(story())


@script()
def numbers_without_loss_are_told_alike(kafka: ModuleType, stage: Stage) -> None:
    common = stage.module("schema_registry.protobuf")
    utils = stage.module("schema_registry.confluent.type.decimal_utils")
    texts = ("0", "-0", "1.50", "-12.34", "1E+3", "128", "-128", "1E-30", "9" * 60, "0.00")
    for text in texts:
        number = decimal.Decimal(text)
        for scale in (0, 1, 2, -3, 40):
            message = stage.within(f"{text} {scale}", common.decimal_to_protobuf, number, scale)
            if message is not None:
                stage.record(f"{text} {scale}", [message.value, message.precision, message.scale])
                stage.record("back", str(common.protobuf_to_decimal(message)))
        message = stage.within(text, utils.to_proto_decimal, number)
        if message is not None:
            stage.record(text, [message.value, message.precision, message.scale])
            stage.record("back", str(utils.from_proto_decimal(message)))
    stage.attempt("no number", utils.to_proto_decimal, decimal.Decimal("NaN"))
    stage.record("bytes", [utils.unscaled_to_bytes(number) for number in (0, 127, 128, -128, -129, 2**70)])
    variants = stage.module("schema_registry.confluent.type.variant_utils")
    variant = variants.parse_json('{"a": [1, "x", null, 2.5]}')
    message = common.variant_to_protobuf(variant)
    stage.record("variant", [message.metadata, message.value])
    stage.record("back", variants.to_json_string(common.protobuf_to_variant(message)))
    meta = stage.module("schema_registry.confluent.meta_pb2")
    stage.record("meta", [meta.FIELD_META_FIELD_NUMBER, meta.field_meta.full_name, str(meta.Meta(doc="x"))])
