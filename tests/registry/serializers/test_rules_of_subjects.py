"""Rules that a subject has and that a class, a text or a message has no place for: serializers and
deserializers run them nevertheless, and say where they do not."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic import BaseModel
from tests.registry.serializers.test_protobuf import Refund
from tests.registry.serializers.test_rules import (
    CLAIM,
    LATER_CLAIM,
    Never,
    Renamed,
    Replaced,
    Turned,
    Xor,
)

from barnabas import Registry, aio
from barnabas.errors import InvalidSettingError, SerializationError
from barnabas.formats.avro_resolution import parsed
from barnabas.formats.protobuf_schema import compile_text
from barnabas.formats.protobuf_values import file_of, message_at, message_class
from barnabas.registry import (
    AvroDeserializer,
    AvroSerializer,
    JSONDeserializer,
    JSONSerializer,
    Metadata,
    ProtobufDeserializer,
    ProtobufSerializer,
    RegistrySettings,
    Rule,
    RuleSet,
    Schema,
)
from barnabas.registry.rules import RuleRegistry, builtin_rules
from barnabas.registry.serializers import shapes
from barnabas.registry.serializers.avro_models import avro_schema_of
from barnabas.registry.serializers.json_models import json_schema_of

pytestmark = pytest.mark.integration


@dataclass
class Address:
    street: str


@dataclass
class Person:
    """Somebody."""

    name: str
    city: str | None = None
    home: Address | None = None
    count: int = 0


class Model(BaseModel):
    name: str
    city: str | None = None


ADA = Person("Ada", "Köln", Address("Am Ring"), 5)
TURN = Rule("turn", kind="TRANSFORM", mode="WRITEREAD", type="TURN", tags=["PII"])
REFUSE = Rule("refuse", kind="CONDITION", mode="WRITE", type="NEVER")
TURNING = RuleSet(domain_rules=(TURN,))
TAGS = Metadata(tags={"**.name": ["PII"]})
FORMATS: list[Any] = [
    pytest.param("AVRO", avro_schema_of, AvroSerializer, AvroDeserializer, id="avro"),
    pytest.param("JSON", json_schema_of, JSONSerializer, JSONDeserializer, id="json"),
]


@pytest.fixture
def registry(embedded: str) -> Iterator[Registry]:
    with Registry(embedded) as made:
        yield made


@pytest.fixture
def topic(subject: str) -> str:
    return subject


@pytest.fixture
def executors() -> RuleRegistry:
    found = RuleRegistry()
    for executor in (Turned(), Xor(), Renamed(), Never()):
        found.register_executor(executor)
    return found


def tagged(text: str) -> str:
    """The same schema with a tag and another comment, as somebody who writes rules registers it."""
    found = json.loads(text)
    found["doc" if "fields" in found else "description"] = "checked"
    name = found["fields"][0] if "fields" in found else found["properties"]["name"]
    name["confluent:tags"] = ["PII"]
    return json.dumps(found, indent=2)


@pytest.mark.parametrize(("type", "text_of", "writes", "reads"), FORMATS)
@pytest.mark.parametrize("registers", [True, False])
def test_a_class_is_written_with_the_latest_version_that_is_the_same_but_for_its_rules(
    registry: Registry,
    topic: str,
    executors: RuleRegistry,
    type: str,
    text_of: Any,
    writes: Any,
    reads: Any,
    registers: bool,
) -> None:
    registry.register(f"{topic}-value", Schema(text_of(Person), type))
    latest = registry.register(f"{topic}-value", Schema(tagged(text_of(Person)), type, rule_set=TURNING))
    writer = writes(registry, Person, rule_registry=executors, auto_register_schemas=registers)
    data = writer(topic, ADA)
    assert data[1:5] == latest.id.to_bytes(4)
    assert b"adA" in data
    assert b"Ada" not in data
    assert registry.versions(f"{topic}-value") == [1, 2]
    for reader in (
        reads(registry, Person, rule_registry=executors),
        reads(registry, rule_registry=executors),
    ):
        found = reader(topic, data)
        assert (found if isinstance(found, Person) else Person(**{**found, "home": ADA.home})) == ADA


@pytest.mark.parametrize(("type", "text_of", "writes", "reads"), FORMATS)
def test_rules_that_the_registry_gives_to_a_new_version_are_run(
    registry: Registry,
    topic: str,
    executors: RuleRegistry,
    type: str,
    text_of: Any,
    writes: Any,
    reads: Any,
) -> None:
    registry.set_settings(RegistrySettings(compatibility="NONE"), f"{topic}-value")
    old = Schema(text_of(Address), type, metadata=TAGS, rule_set=TURNING)
    registry.register(f"{topic}-value", old)
    data = writes(registry, Person, rule_registry=executors)(topic, ADA)
    assert registry.latest(f"{topic}-value").version == 2
    assert b"adA" in data


@pytest.mark.parametrize("own", [Person, avro_schema_of(Person), Schema(avro_schema_of(Person))])
def test_texts_and_schemas_that_say_no_rules_take_those_of_the_latest_version(
    registry: Registry, topic: str, executors: RuleRegistry, own: Any
) -> None:
    rules = RuleSet(domain_rules=(REFUSE,))
    registry.register(f"{topic}-value", Schema(avro_schema_of(Person), rule_set=rules))
    writer = AvroSerializer(registry, own, rule_registry=executors)
    with pytest.raises(SerializationError, match="rule 'refuse'"):
        writer(topic, ADA)
    with pytest.raises(SerializationError, match="rule 'refuse'"):
        pickle.loads(pickle.dumps(AvroSerializer(registry, own, rule_registry=builtin_with(Never()))))(
            topic, ADA
        )


def builtin_with(executor: Any) -> RuleRegistry:
    rules = builtin_rules()
    rules.register_executor(executor)
    return rules


def test_a_schema_that_says_that_there_are_no_rules_has_none(
    registry: Registry, topic: str, executors: RuleRegistry
) -> None:
    registry.register(
        f"{topic}-value", Schema(avro_schema_of(Person), rule_set=RuleSet(domain_rules=(REFUSE,)))
    )
    for writer in (
        AvroSerializer(registry, Schema(avro_schema_of(Person), rule_set=RuleSet()), rule_registry=executors),
        AvroSerializer(registry, Person, rule_set=RuleSet(), rule_registry=executors),
    ):
        assert AvroDeserializer(registry, Person)(topic, writer(topic, ADA)) == ADA


def test_a_pydantic_model_is_written_by_the_rules_of_the_latest_version(
    registry: Registry, topic: str, executors: RuleRegistry
) -> None:
    schema = Schema(tagged(avro_schema_of(Model)), rule_set=TURNING)
    registry.register(f"{topic}-value", schema)
    data = AvroSerializer(registry, Model, rule_registry=executors)(topic, Model(name="Ada"))
    assert b"adA" in data
    assert AvroDeserializer(registry, Model, rule_registry=executors)(topic, data) == Model(name="Ada")


@pytest.mark.parametrize(("type", "text_of", "writes", "reads"), FORMATS)
def test_a_class_is_given_rules_and_metadata_beside_it(
    registry: Registry,
    topic: str,
    executors: RuleRegistry,
    type: str,
    text_of: Any,
    writes: Any,
    reads: Any,
) -> None:
    writer = writes(registry, Person, metadata=TAGS, rule_set=TURNING, rule_registry=executors)
    data = pickle.loads(pickle.dumps(writer))(topic, ADA)
    assert b"adA" in data
    latest = registry.latest(f"{topic}-value").schema
    assert latest.rule_set is not None
    assert [rule.name for rule in latest.rule_set.domain_rules] == ["turn"]
    assert latest.metadata == Metadata(tags={"**.name": ("PII",)})
    assert reads(registry, Person, rule_registry=executors)(topic, data) == ADA


def test_rules_are_given_once_and_with_a_schema_of_ones_own(registry: Registry) -> None:
    schema = Schema(avro_schema_of(Person), rule_set=TURNING)
    with pytest.raises(InvalidSettingError, match="given twice"):
        AvroSerializer(registry, schema, rule_set=TURNING)
    with pytest.raises(InvalidSettingError, match="leave them out"):
        JSONSerializer(registry, use_latest_version=True, rule_set=TURNING)
    with pytest.raises(InvalidSettingError, match="leave them out"):
        ProtobufSerializer(registry, Refund, use_latest_version=True, metadata=TAGS)


def test_an_older_schema_is_written_without_the_latest_rules_and_a_warning_names_them(
    registry: Registry, topic: str, executors: RuleRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.set_settings(RegistrySettings(compatibility="NONE"), f"{topic}-value")
    disabled = Rule("off", kind="CONDITION", mode="WRITE", type="NEVER", disabled=True)
    reading = Rule("read", kind="CONDITION", mode="READ", type="NEVER")
    registry.register(f"{topic}-value", Schema(avro_schema_of(Person)))
    rules = RuleSet(domain_rules=(TURN, disabled, reading))
    registry.register(f"{topic}-value", Schema(avro_schema_of(Model), rule_set=rules))
    writer = AvroSerializer(registry, Person, rule_registry=executors)
    with caplog.at_level(logging.WARNING, "barnabas"):
        assert writer(topic, ADA)[1:5] == registry.version(f"{topic}-value", 1).id.to_bytes(4)
        writer(topic, ADA)
    (told,) = caplog.messages
    assert f"subject '{topic}-value' are written with version 1, without the rule 'turn' (TURN)" in told


@pytest.mark.parametrize(("type", "text_of", "writes", "reads"), FORMATS)
def test_a_rule_for_tags_that_a_class_has_lost_is_told(
    registry: Registry,
    topic: str,
    executors: RuleRegistry,
    caplog: pytest.LogCaptureFixture,
    type: str,
    text_of: Any,
    writes: Any,
    reads: Any,
) -> None:
    """The new version has the rule, and no field that it is for."""
    registry.set_settings(RegistrySettings(compatibility="NONE"), f"{topic}-value")
    registry.register(f"{topic}-value", Schema(tagged(text_of(Model)), type, rule_set=TURNING))
    with caplog.at_level(logging.WARNING, "barnabas"):
        for _ in range(2):
            assert b"Ada" in writes(registry, Person, rule_registry=executors)(topic, ADA)
    assert len(caplog.messages) == 2
    for told in caplog.messages:
        assert "version 2, which has the rule 'turn' (TURN) for fields tagged PII, and no such field" in told
    caplog.clear()
    with caplog.at_level(logging.WARNING, "barnabas"):
        assert b"adA" in writes(registry, Person, metadata=TAGS, rule_registry=executors)(topic, ADA)
    assert caplog.messages == []


def test_awaited_serializers_take_the_rules_of_the_latest_version(
    registry: Registry, embedded: str, topic: str, executors: RuleRegistry
) -> None:
    schema = Schema(tagged(avro_schema_of(Person)), rule_set=TURNING)
    registry.register(f"{topic}-value", schema)

    async def written_and_read() -> tuple[Any, Any]:
        async with aio.Registry(embedded) as awaited:
            data = await aio.AvroSerializer(awaited, Person, rule_registry=executors)(topic, ADA)
            return data, await aio.AvroDeserializer(awaited, Person, rule_registry=executors)(topic, data)

    data, found = asyncio.run(written_and_read())
    assert b"adA" in data
    assert found == ADA


def test_a_message_is_written_with_the_latest_version_that_has_its_fields_and_rules(
    registry: Registry, topic: str, executors: RuleRegistry
) -> None:
    bare = ProtobufSerializer(registry, Refund, rule_registry=executors)
    first = bare(topic, Refund(id=1, note="abc"))
    assert first is not None
    before = registry.latest(f"{topic}-value").schema
    text = before.text
    changed = text.replace("string note = 2;", 'string note = 2 [(confluent.field_meta).tags = "PII"];')
    assert changed != text
    changed = changed.replace("package shop;", 'package shop;\nimport "confluent/meta.proto";')
    latest = registry.register(f"{topic}-value", replace(before, text=changed, rule_set=TURNING))
    data = ProtobufSerializer(registry, Refund, rule_registry=executors)(topic, Refund(id=1, note="abc"))
    assert data is not None
    assert data[1:5] == latest.id.to_bytes(4)
    assert data[5:].endswith(b"\x12\x03cba")
    assert ProtobufDeserializer(registry, Refund, rule_registry=executors)(topic, data) == Refund(
        id=1, note="abc"
    )
    # The one that was there before the rules keeps its version.
    assert bare(topic, Refund(id=1, note="abc")) == first


def test_a_message_is_given_rules_beside_its_class(
    registry: Registry, topic: str, executors: RuleRegistry
) -> None:
    rule = Rule("turn", kind="TRANSFORM", mode="WRITEREAD", type="TURN")
    writer = ProtobufSerializer(
        registry, Refund, rule_set=RuleSet(domain_rules=(rule,)), rule_registry=executors
    )
    data = writer(topic, Refund(id=1, note="abc"))
    assert data is not None
    assert data.endswith(b"cba")
    assert registry.latest(f"{topic}-value").schema.rule_set is not None


# What reads


@dataclass
class Name:
    """Less than was written, and one field more."""

    name: str
    more: list[int] = field(default_factory=list[int])


Name.__name__ = "Person"


@pytest.mark.parametrize("own", [Name, Schema(avro_schema_of(Name)), avro_schema_of(Name)])
def test_rules_of_what_was_written_are_run_before_it_becomes_what_a_reader_wants(
    registry: Registry, topic: str, executors: RuleRegistry, own: Any
) -> None:
    """The tag, and the field of the condition, are in the writer's schema only."""
    sees = Rule(
        "sees", kind="CONDITION", mode="READ", type="CEL", expr="message.city == 'Köln' && message.count == 5"
    )
    rules = builtin_with(Turned())
    schema = Schema(tagged(avro_schema_of(Person)), rule_set=RuleSet(domain_rules=(sees, TURN)))
    data = AvroSerializer(registry, schema, rule_registry=rules)(topic, ADA)
    found = AvroDeserializer(registry, own, rule_registry=rules)(topic, data)
    assert found == (Name("Ada") if own is Name else {"name": "Ada", "more": []})


def test_json_of_a_class_is_read_by_the_rules_of_what_was_written(
    registry: Registry, topic: str, executors: RuleRegistry
) -> None:
    schema = Schema(tagged(json_schema_of(Person)), "JSON", rule_set=TURNING)
    data = JSONSerializer(registry, schema, rule_registry=executors)(topic, {"name": "Ada", "count": 5})
    assert b"adA" in data
    open_to_more = '{"type": "object", "properties": {"name": {"const": "Ada"}}}'
    found = JSONDeserializer(registry, open_to_more, rule_registry=executors)(topic, data)
    assert found == {"name": "Ada", "count": 5}


def test_rules_of_bytes_are_run_before_a_reader_of_another_schema(
    registry: Registry, topic: str, executors: RuleRegistry
) -> None:
    xor = Rule("xor", kind="TRANSFORM", mode="WRITEREAD", type="XOR")
    schema = Schema(avro_schema_of(Person), rule_set=RuleSet(encoding_rules=(xor,)))
    data = AvroSerializer(registry, schema, rule_registry=executors)(topic, ADA)
    assert AvroDeserializer(registry, Name, rule_registry=executors)(topic, data) == Name("Ada")


@dataclass
class Old:
    name: str
    city: str | None = None


@dataclass
class New:
    name: str
    town: str | None = None


Old.__name__ = New.__name__ = "Person"


@pytest.mark.parametrize(("type", "text_of", "writes", "reads"), FORMATS)
@pytest.mark.parametrize("takes_latest", [False, True])
def test_a_class_that_is_the_latest_version_is_read_by_the_rules_of_migrations(
    registry: Registry,
    topic: str,
    executors: RuleRegistry,
    type: str,
    text_of: Any,
    writes: Any,
    reads: Any,
    takes_latest: bool,
) -> None:
    registry.set_settings(RegistrySettings(compatibility="NONE"), f"{topic}-value")
    rename = Rule("rename", kind="TRANSFORM", mode="UPDOWN", type="RENAME")
    data = writes(registry, Old, rule_registry=executors)(topic, Old("Ada", "Köln"))
    registry.register(
        f"{topic}-value", Schema(text_of(New), type, rule_set=RuleSet(migration_rules=(rename,)))
    )
    reader = reads(registry, New, rule_registry=executors, use_latest_version=takes_latest)
    assert reader(topic, data) == New("Ada", "Köln")
    # Older readers have what was written, newer data goes down to a version that they name.
    assert reads(registry, Old, rule_registry=executors)(topic, data) == Old("Ada", "Köln")


def test_an_older_class_is_read_down_to_the_version_that_it_names(
    registry: Registry, topic: str, executors: RuleRegistry
) -> None:
    registry.set_settings(RegistrySettings(compatibility="NONE"), f"{topic}-value")
    rename = Rule("rename", kind="TRANSFORM", mode="UPDOWN", type="RENAME")
    first, second = (Metadata(properties={"major": number}) for number in "12")
    registry.register(f"{topic}-value", Schema(avro_schema_of(Old), metadata=first))
    newer = Schema(avro_schema_of(New), metadata=second, rule_set=RuleSet(migration_rules=(rename,)))
    data = AvroSerializer(registry, newer, rule_registry=executors)(topic, New("Ada", "Köln"))
    reader = AvroDeserializer(registry, Old, rule_registry=executors, use_latest_with_metadata={"major": "1"})
    assert reader(topic, data) == Old("Ada", "Köln")


def class_of(text: str) -> Any:
    return message_class(message_at(file_of(compile_text(text)), [0]))


@pytest.mark.parametrize("takes_latest", [False, True])
def test_a_message_s_class_that_is_the_latest_version_is_read_by_the_rules_of_migrations(
    registry: Registry, topic: str, takes_latest: bool
) -> None:
    registry.set_settings(RegistrySettings(compatibility="NONE"), f"{topic}-value")
    change = Rule("change", kind="TRANSFORM", mode="UPDOWN", type="REPLACE")
    rules = builtin_with(Replaced(lambda claim: {"claimId": claim["claimId"], "remarks": [claim["note"]]}))
    old, new = class_of(CLAIM), class_of(LATER_CLAIM)
    data = ProtobufSerializer(registry, old)(topic, old(claim_id=5, note="late"))
    registry.register(
        f"{topic}-value", Schema(LATER_CLAIM, "PROTOBUF", rule_set=RuleSet(migration_rules=(change,)))
    )
    reader = ProtobufDeserializer(registry, new, rule_registry=rules, use_latest_version=takes_latest)
    assert reader(topic, data) == new(claim_id=5, remarks=["late"])


# What is the same


def avro_shape_of(text: str, *references: str) -> Any:
    names: dict[str, Any] = {}
    return shapes.avro_shape(parsed(text, references, names), names)


def test_avro_schemas_have_one_shape_wherever_their_types_are_defined() -> None:
    inner = '{"type": "record", "name": "In", "namespace": "a", "doc": "x", "fields": []}'
    field_of = '{"name": "%s", "type": %s, "confluent:tags": ["PII"], "default": {}}'
    outer = '{"type": "record", "name": "Out", "aliases": ["B"], "fields": [%s, %s]}'
    whole = outer % (field_of % ("x", inner), field_of % ("y", '"a.In"'))
    parts = outer % (field_of % ("x", '"a.In"'), field_of % ("y", '"a.In"'))
    assert avro_shape_of(whole) == avro_shape_of(parts, inner)
    assert avro_shape_of('{"type": "long"}') == avro_shape_of('"long"') == "long"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"long"', '"int"'),
        ('"bytes"', '{"type": "bytes", "logicalType": "decimal", "precision": 4}'),
        (
            '{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}',
            '{"type": "bytes", "logicalType": "decimal", "precision": 4}',
        ),
        ('["null", "long"]', '["long", "null"]'),
        (
            '{"type": "enum", "name": "E", "symbols": ["A"]}',
            '{"type": "enum", "name": "E", "symbols": ["A", "B"]}',
        ),
        ('{"type": "fixed", "name": "F", "size": 4}', '{"type": "fixed", "name": "F", "size": 5}'),
        ('{"type": "array", "items": "long"}', '{"type": "map", "values": "long"}'),
        (
            '{"type": "record", "name": "R", "fields": []}',
            '{"type": "record", "name": "R", "namespace": "n", "fields": []}',
        ),
    ],
)
def test_avro_schemas_of_other_values_have_another_shape(one: str, other: str) -> None:
    assert avro_shape_of(one) != avro_shape_of(other)


def test_the_shape_of_a_json_schema_is_without_notes_and_with_properties_of_any_name() -> None:
    bare = {"properties": {"title": {"type": "string"}, "default": True}, "items": [{"$ref": "x"}]}
    noted = {
        "title": "T",
        "properties": {"title": {"type": "string", "confluent:tags": ["PII"]}, "default": True},
        "items": [{"$ref": "x", "description": "d"}],
    }

    def shape(schema: Any) -> Any:
        return shapes.json_shape(json.dumps(schema), {"x": '{"title": "X"}'})

    assert shape(bare) == shape(noted)
    assert shape(bare) != shape({**bare, "required": ["title"]})
    assert shape(bare) != shape({**bare, "properties": {"default": True}})
    assert shape({"enum": [{"title": 1}]}) != shape({"enum": [{}]})


def test_the_shape_of_a_protobuf_file_is_without_options_and_with_what_it_imports() -> None:
    def shape(text: str, imported: str = "message In { int64 a = 1; }") -> Any:
        references = {"in.proto": f'syntax = "proto3"; {imported}'}
        return shapes.protobuf_shape(file_of(compile_text(f'syntax = "proto3"; {text}', references)))

    bare = 'import "in.proto"; message M { In i = 1; map<string, int32> m = 2; repeated int32 r = 3; }'
    noted = bare.replace("= 3", "= 3 [packed = false, deprecated = true]").replace(
        "message M {", "message M { option deprecated = true;"
    )
    assert shape(bare) == shape(noted)
    assert shape(bare) == shape(
        bare.replace("= 3", '= 3 [(confluent.field_meta).tags = "PII"]').replace(
            "message M", 'import "confluent/meta.proto"; message M'
        )
    )
    assert shape(bare) != shape(bare, "message In { int64 a = 1; int64 b = 2; }")
    assert shape(bare) != shape(bare.replace("int32 r", "int64 r"))


def test_the_tags_of_a_protobuf_file_are_those_of_all_its_messages() -> None:
    tagged = '[(confluent.field_meta).tags = "%s"]'
    head = 'syntax = "proto3"; import "confluent/meta.proto";'
    inner = f"{head} message In {{ int64 a = 1 {tagged % 'A'}; }}"
    text = f'{head} import "in.proto"; message M {{ message N {{ In i = 1 {tagged % "B"}; }} int32 r = 2; }}'
    assert shapes.protobuf_tags(file_of(compile_text(text, {"in.proto": inner}))) == {"A", "B"}
