"""JSON Schema's (de)serializers: what they ask a client, what they write and read, what they refuse."""

from __future__ import annotations

import asyncio
import json
from types import ModuleType
from typing import Any

from tests.compat.differential.recording_client import recording_client
from tests.compat.differential.script import script
from tests.compat.differential.scripts.registry.avro import UNREGISTERED, context, made
from tests.compat.differential.stage import Stage

PERSON = """{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Person", "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"]}"""
UNTITLED = """{"type": "object", "properties": {"x": {"type": ["number", "null"]}},
    "additionalProperties": false}"""
REFERRING = """{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Team", "type": "object",
    "properties": {"lead": {"$ref": "person.json"},
        "all": {"type": "array", "items": {"$ref": "person.json"}}}}"""


def outcome(call: Any, *arguments: Any) -> Any:
    """What a call gives; of what it raises, the class, since another library judges here."""
    try:
        return call(*arguments)
    except Exception as error:
        return [base.__name__ for base in type(error).__mro__ if base.__module__ != "builtins"]


@script()
def json_is_written_and_read_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, jsons = stage.module("schema_registry"), stage.module("schema_registry.json_schema")
    client = recording_client(registry, stage)
    cases: list[tuple[str, Any]] = [
        (PERSON, {"name": "é", "age": 5}),
        (PERSON, {"name": "x"}),
        (PERSON, {"age": 5}),
        (PERSON, {"name": 5}),
        (PERSON, {"name": "x", "age": -1}),
        (PERSON, {"name": "x", "more": [1, 2.5, None, True, "\n", {"a": {}}]}),
        (PERSON, "no object"),
        (UNTITLED, {"x": 1e100}),
        (UNTITLED, {"x": None}),
        (UNTITLED, {"y": 1}),
        ("true", {"any": "thing"}),
        ("{}", [1, 2]),
        ('{"type": "string"}', "text"),
    ]
    for number, (text, value) in enumerate(cases):
        topic = f"t{number}"
        for validate in (True, False):
            conf = {"validate": validate}
            serializer = jsons.JSONSerializer(text, client, conf=conf)
            data: Any = None
            for _ in range(2):
                data = outcome(serializer, value, context(stage, topic))
                stage.record(f"{number} {validate}: written", data)
                client.record(f"{number} {validate}: written")
            if not isinstance(data, bytes):
                continue
            for reader in (None, text, PERSON):
                deserializer = jsons.JSONDeserializer(reader, None, client, conf)
                for _ in range(2):
                    read = outcome(deserializer, data, context(stage, topic))
                    stage.record(f"{number} {validate}: read", read)
                    client.record(f"{number} {validate}: read")
            alone = jsons.JSONDeserializer(text, conf=conf)
            stage.record(f"{number}: read without a client", outcome(alone, data, context(stage, topic)))
    serializer = jsons.JSONSerializer(PERSON, client, lambda value, ctx: {"name": value + ctx.topic})
    data = stage.attempt("of an object", serializer, "x", context(stage))
    stage.attempt("of an object without a context", serializer, "x")
    deserializer = jsons.JSONDeserializer(PERSON, lambda found, ctx: (found["name"], ctx.topic), client)
    stage.attempt("to an object", deserializer, data, context(stage))
    stage.attempt("nothing", serializer, None, context(stage))
    stage.attempt("nothing to read", deserializer, None, context(stage))
    own = jsons.JSONSerializer(
        PERSON, client, json_encode=lambda value: json.dumps(value, indent=1, sort_keys=True)
    )
    data = stage.attempt("own JSON", own, {"name": "x", "age": 1}, context(stage))
    own_bytes = jsons.JSONSerializer(PERSON, client, json_encode=lambda value: json.dumps(value).encode())
    stage.attempt("own JSON in bytes", own_bytes, {"name": "x", "age": 1}, context(stage))
    taken: list[Any] = []

    def decode(payload: Any) -> Any:
        taken.append(payload)
        return {"name": "decoded"}

    deserializer = jsons.JSONDeserializer(PERSON, None, client, json_decode=decode)
    stage.attempt("own reader", deserializer, data, context(stage))
    stage.record("taken", taken)
    for broken in (b"\0\0\0\0\1{", b"\0\0\0\0\x63{}", b"\x05\0\0\0\1{}"):
        deserializer = jsons.JSONDeserializer(None, None, client)
        stage.record(f"{broken!r}", bool(outcome(deserializer, broken, context(stage))))


@script()
def json_with_references_is_written_and_read_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, jsons = stage.module("schema_registry"), stage.module("schema_registry.json_schema")
    client = recording_client(registry, stage)
    client.register_schema("person", registry.Schema(PERSON, "JSON"))
    client.record("registered")
    references = [registry.SchemaReference("person.json", "person", 1)]
    schema = registry.Schema(REFERRING, "JSON", references)
    serializer = jsons.JSONSerializer(schema, client)
    deserializer = jsons.JSONDeserializer(schema, None, client)
    client.record("made")
    for value in (
        {"lead": {"name": "x"}, "all": [{"name": "y", "age": 1}]},
        {"lead": {"age": 1}},
        {"all": [5]},
    ):
        data = outcome(serializer, value, context(stage))
        stage.record("written", data)
        client.record("written")
        if isinstance(data, bytes):
            stage.record("read", outcome(deserializer, data, context(stage)))
            client.record("read")
    stage.attempt("no client", made, jsons.JSONDeserializer, schema)
    stage.attempt("no schema", made, jsons.JSONDeserializer, None)
    missing = registry.Schema(REFERRING, "JSON", [registry.SchemaReference("person.json", "nowhere", 1)])
    stage.attempt("not there", made, jsons.JSONSerializer, missing, client)


@script()
def json_is_written_with_the_schema_that_is_chosen(kafka: ModuleType, stage: Stage) -> None:
    registry, jsons = stage.module("schema_registry"), stage.module("schema_registry.json_schema")
    client = recording_client(registry, stage)
    first = client.register_schema("t-value", registry.Schema(PERSON, "JSON"))
    client.register_schema("t-value", registry.Schema(UNTITLED, "JSON"))
    client.record("registered")
    for label, conf in {
        "latest": {"use.latest.version": True},
        "id": {"use.schema.id": first},
        "looked up": {},
        "record": {"subject.name.strategy": registry.record_subject_name_strategy},
    }.items():
        for text in (PERSON, UNTITLED, None):
            if text is None and label in ("looked up", "record"):
                continue
            serializer = jsons.JSONSerializer(text, client, conf=UNREGISTERED | conf)
            for value in ({"name": "x"}, {"x": 1}):
                stage.record(f"{label}: written", outcome(serializer, value, context(stage)))
                client.record(f"{label}: written")
    deserializer = jsons.JSONDeserializer(None, None, client, {"use.latest.version": True})
    for data in (b'\0\0\0\0\1{"name": "x"}', b'\0\0\0\0\2{"x": 1}'):
        stage.record("read latest", outcome(deserializer, data, context(stage)))
        client.record("read latest")


@script()
def serializers_of_json_refuse_what_they_cannot_use(kafka: ModuleType, stage: Stage) -> None:
    registry, jsons = stage.module("schema_registry"), stage.module("schema_registry.json_schema")
    client = registry.SchemaRegistryClient.new_client({"url": "mock://"})
    wrong: list[dict[str, Any]] = [
        *[{name: "x"} for name in sorted(jsons.JSONSerializer._default_conf)],
        {"use.latest.version": True},
        {"unknown": 1},
        {"schema.id.deserializer": "x"},
    ]
    for conf in wrong:
        stage.attempt(f"writing {conf}", made, jsons.JSONSerializer, PERSON, client, None, conf)
        stage.attempt(f"reading {conf}", made, jsons.JSONDeserializer, PERSON, None, client, conf)
    stage.attempt("to_dict", made, jsons.JSONSerializer, PERSON, client, 5)
    stage.attempt("from_dict", made, jsons.JSONDeserializer, PERSON, 5)
    stage.attempt("a number", made, jsons.JSONDeserializer, 5)
    stage.attempt("writing without a schema", made, jsons.JSONSerializer, None, client)
    for kind in (jsons.JSONSerializerBuilder, jsons.JSONDeserializerBuilder):
        builder = kind().set_schema_registry_client(client).set_schema(PERSON)
        built, rest = builder.build({"a": 1}, False)
        stage.record("built", [type(built).__name__, rest])


@script()
def rules_of_json_run_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, jsons = stage.module("schema_registry"), stage.module("schema_registry.json_schema")
    serde = stage.module("schema_registry.serde")
    text = """{"type": "object", "title": "R", "properties": {
        "f": {"type": "string", "confluent:tags": ["PII"]}, "n": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "string"}, "confluent:tags": ["PII"]},
        "inner": {"type": "object", "properties": {"x": {"type": "string"}}},
        "either": {"oneOf": [{"type": "null"}, {"type": "string"}]}}}"""
    seen: list[Any] = []

    class Notes(serde.FieldRuleExecutor):
        def type(self) -> str:
            return "NOTES"

        def new_transform(self, ctx: Any) -> Any:
            def transform(ctx: Any, field: Any, value: Any) -> Any:
                seen.append([field.full_name, field.name, field.type_name(), sorted(field.tags), value])
                return value.upper() if isinstance(value, str) else value

            return transform

    rules = stage.module("schema_registry.rule_registry").RuleRegistry()
    rules.register_executor(Notes())
    value = {"f": "a", "n": 1, "list": ["b", "c"], "inner": {"x": "d"}, "either": "e"}
    for tags in (None, ["PII"], ["META"]):
        words = {"name": "r", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "NOTES", "tags": tags}
        metadata = registry.Metadata(registry.MetadataTags({"**.x": ["META"], "$.n": ["META"]}), None, None)
        rule_set = registry.RuleSet(None, [registry.Rule.from_dict(words)])
        client = recording_client(registry, stage)
        client.register_schema("t-value", registry.Schema(text, "JSON", [], metadata, rule_set))
        latest = UNREGISTERED | {"use.latest.version": True}
        serializer = jsons.JSONSerializer(None, client, None, latest, None, rules)
        data = stage.attempt(f"{tags}: written", serializer, json.loads(json.dumps(value)), context(stage))
        stage.record("fields", list(seen))
        seen.clear()
        deserializer = jsons.JSONDeserializer(None, None, client, None, None, rules)
        stage.attempt(f"{tags}: read", deserializer, data, context(stage))
        stage.record("fields read", list(seen))
        seen.clear()


@script()
def json_is_written_and_read_by_asyncio_alike(kafka: ModuleType, stage: Stage) -> None:
    registry, jsons = stage.module("schema_registry"), stage.module("schema_registry.json_schema")

    async def story() -> None:
        client = recording_client(registry, stage, is_async=True)
        serializer = await jsons.AsyncJSONSerializer(PERSON, client)
        deserializer = await jsons.AsyncJSONDeserializer(PERSON, None, client)
        for _ in range(2):
            data = await serializer({"name": "x"}, context(stage))
            stage.record("written", data)
            stage.record("read", await deserializer(data, context(stage)))
            client.record("both")

    asyncio.run(story())
