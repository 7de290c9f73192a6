"""Compatibility of Avro schemas: the texts as Confluent's registry has them, and fastavro as the judge of
what decodes."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.registry.compatibility.avro import differences
from barnabas.registry.compatibility.difference import Sides
from barnabas.registry.errors import InvalidSchemaError

USER = {"type": "record", "name": "User", "namespace": "x", "fields": [{"name": "id", "type": "long"}]}


def user(*fields: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {**USER, "fields": [{"name": "id", "type": "long"}, *fields], **others}


def told(reader: Any, writer: Any, **others: Any) -> list[str]:
    return [str(each) for each in differences(json.dumps(reader), json.dumps(writer), **others)]


@pytest.mark.parametrize(
    ("reader", "writer", "words"),
    [
        (
            user({"name": "z", "type": "int"}),
            USER,
            "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'z' at path '/fields/1' "
            "in the new schema has no default value and is missing in the old schema', additionalInfo:'z'}",
        ),
        (
            {**USER, "fields": [{"name": "id", "type": "int"}]},
            USER,
            "{errorType:'TYPE_MISMATCH', description:'The type (path '/fields/0/type') of a field in the new "
            "schema does not match with the old schema', additionalInfo:'reader type: INT not compatible "
            "with writer type: LONG'}",
        ),
        (
            {**USER, "name": "Person"},
            USER,
            "{errorType:'NAME_MISMATCH', description:'The name of the schema has changed (path '/name')', "
            "additionalInfo:'expected: x.User'}",
        ),
        (
            {"type": "fixed", "name": "F", "size": 4},
            {"type": "fixed", "name": "F", "size": 8},
            "{errorType:'FIXED_SIZE_MISMATCH', description:'The size of FIXED type field at path '/size' in "
            "the new schema does not match with the old schema', additionalInfo:'expected: 8, found: 4'}",
        ),
        (
            user({"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}}),
            user({"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}}),
            "{errorType:'MISSING_ENUM_SYMBOLS', description:'The new schema is missing enum symbols '[B, C]' "
            "at path '/fields/1/type/symbols' in the old schema', additionalInfo:'[B, C]'}",
        ),
        (
            user({"name": "u", "type": ["null", "string"]}),
            user({"name": "u", "type": ["null", "string", "int"]}),
            "{errorType:'MISSING_UNION_BRANCH', description:'The new schema is missing a type inside a union "
            "field at path '/fields/1/type/2' in the old schema', additionalInfo:'reader union lacking "
            "writer type: INT'}",
        ),
        (
            user({"name": "a", "type": {"type": "array", "items": {"type": "map", "values": "int"}}}),
            user({"name": "a", "type": {"type": "array", "items": {"type": "map", "values": "string"}}}),
            "{errorType:'TYPE_MISMATCH', description:'The type (path '/fields/1/type/items/values') of a "
            "field in the new schema does not match with the old schema', additionalInfo:'reader type: INT "
            "not compatible with writer type: STRING'}",
        ),
    ],
)
def test_each_kind_of_difference_has_its_words(reader: Any, writer: Any, words: str) -> None:
    assert told(reader, writer) == [words]


def test_the_sides_are_called_as_they_are() -> None:
    (words,) = told(user({"name": "z", "type": "int"}), USER, sides=Sides("old", "new"))
    assert "in the old schema has no default value and is missing in the new schema" in words


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (user({"name": "z", "type": "int", "default": 3}), USER),
        (user({"name": "z", "type": ["null", "int"], "default": None}), USER),
        (USER, user({"name": "z", "type": "int"})),
        ({**USER, "name": "Person", "aliases": ["User"]}, USER),
        ({**USER, "namespace": "y"}, USER),
        (user({"name": "new", "type": "int", "aliases": ["old"]}), user({"name": "old", "type": "int"})),
        ("double", "int"),
        ("string", "bytes"),
        ("bytes", "string"),
        (["null", "long"], "int"),
        ("long", ["int", "long"]),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "Z"], "default": "Z"},
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
        ),
        ({"type": {"type": "int", "logicalType": "date"}}, "int"),
    ],
)
def test_what_can_be_read_differs_in_nothing(reader: Any, writer: Any) -> None:
    assert told(reader, writer) == []


def test_a_recursive_type_is_held_against_itself_once() -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "v", "type": "long"}, {"name": "next", "type": ["null", "Node"]}],
    }
    assert told(node, node) == []
    other = json.loads(json.dumps(node).replace("long", "string"))
    assert any("TYPE_MISMATCH" in words for words in told(node, other))


def test_references_are_read_first() -> None:
    outer = json.dumps({"type": "record", "name": "Outer", "fields": [{"name": "u", "type": "x.User"}]})
    inner, other = json.dumps(USER), json.dumps(user({"name": "z", "type": "int"}))
    assert differences(outer, outer, reader_references=[inner], writer_references=[other]) == []
    (one,) = differences(outer, outer, reader_references=[other], writer_references=[inner])
    assert one.path == "/fields/0/type/fields/1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("3", "3 is no Avro type"),
        ('"nothing"', "type 'nothing' is not defined"),
        ('{"type": "record", "name": "R"}', "has no list of fields"),
        ('{"type": "record", "name": "1", "fields": []}', "no name of an Avro record"),
        ('{"type": "record", "name": "R", "fields": [{"name": "a"}]}', "no name or type"),
        ('{"type": "fixed", "name": "F"}', "has no size"),
        ('{"type": "fixed", "name": "F", "size": true}', "has no size"),
        ('{"type": "array"}', "has no 'items'"),
        ('["int", "int"]', "has 'int' twice"),
        ('["int", ["null"]]', "is in another one"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', "a symbol twice"),
        ('{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}', "none of its symbols"),
        ('{"type": "enum", "name": "E", "symbols": "A"}', "must be a list of texts"),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": "x"}]}',
            "the default 'x' of the field 'a' of the Avro record 'R' is no value of its type",
        ),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, '
            '{"name": "a", "type": "int"}]}',
            "field 'a' twice",
        ),
        ('{"type": "array", "items": ' * 201 + '"int"' + "}" * 201, "deeper than 200 types"),
    ],
)
def test_what_is_no_schema_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidSchemaError, match=words):
        differences(text, text)


def test_a_chain_of_many_types_is_an_error_and_no_end() -> None:
    records = [{"type": "record", "name": "R0", "fields": []}]
    for number in range(1, 3000):
        fields = [{"name": "f", "type": f"R{number - 1}"}]
        records.append({"type": "record", "name": f"R{number}", "fields": fields})
    texts = [json.dumps(record) for record in records]
    with pytest.raises(InvalidSchemaError, match="too many within each other"):
        differences(texts[-1], texts[-1], reader_references=texts[:-1], writer_references=texts[:-1])


# What decodes, as fastavro has it

PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]


class Maker:
    """Schemas, and values of them, by chance. Named types are defined where they are first used."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.defined: set[str] = set()

    def schema(self, depth: int = 0, *, in_union: bool = False) -> Any:
        kinds = ["primitive"] * 4 if depth > 2 else ["primitive", "record", "enum", "fixed", "array", "map"]
        kind = self.chance.choice(kinds if in_union or depth > 2 else [*kinds, "union", "record"])
        name = f"{kind[0].upper()}{self.chance.randrange(2)}"
        if kind in ("record", "enum", "fixed"):
            if name in self.defined:
                return self.chance.choice(PRIMITIVES)
            self.defined.add(name)
        if kind == "record":
            return {"type": "record", "name": name, "fields": self.fields(depth)}
        if kind == "enum":
            symbols = self.chance.sample("ABCD", self.chance.randint(1, 4))
            default = {"default": symbols[0]} if self.chance.random() < 0.3 else {}
            return {"type": "enum", "name": name, "symbols": symbols, **default}
        if kind == "fixed":
            return {"type": "fixed", "name": name, "size": self.chance.randint(1, 2)}
        if kind == "array":
            return {"type": "array", "items": self.schema(depth + 1)}
        if kind == "map":
            return {"type": "map", "values": self.schema(depth + 1)}
        if kind == "union":
            return self.union(depth)
        return self.chance.choice(PRIMITIVES)

    def union(self, depth: int) -> list[Any]:
        branches: dict[str, Any] = {}
        for _ in range(self.chance.randint(1, 3)):
            branch = self.schema(depth + 1, in_union=True)
            key = branch if isinstance(branch, str) else branch.get("name", branch["type"])
            branches.setdefault(key, branch)
        return list(branches.values())

    def fields(self, depth: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for name in self.chance.sample("abc", self.chance.randint(0, 3)):
            field = {"name": name, "type": self.schema(depth + 1)}
            if field["type"] in ("int", "long") and self.chance.random() < 0.5:
                field["default"] = 7
            found.append(field)
        return found

    def value(self, schema: Any) -> Any:
        if isinstance(schema, list):
            branch = self.chance.choice(schema)
            value = self.value(branch)
            named = isinstance(branch, dict) and "name" in branch
            return (branch["name"], value) if named else value
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind == "record":
            return {field["name"]: self.value(field["type"]) for field in schema["fields"]}
        if kind == "enum":
            return self.chance.choice(schema["symbols"])
        if kind == "fixed":
            return bytes(schema["size"])
        if kind == "array":
            return [self.value(schema["items"]) for _ in range(self.chance.randint(0, 2))]
        if kind == "map":
            return {key: self.value(schema["values"]) for key in "kl"[: self.chance.randint(0, 2)]}
        return {
            "null": None,
            "boolean": True,
            "int": 5,
            "long": 1 << 40,
            "float": 1.5,
            "double": 2.5,
            "bytes": b"bbb",
            "string": "s",
        }[kind]


def changed(schema: Any, maker: Maker) -> Any:
    """A schema near this one, so that many pairs are compatible, or nearly."""
    if maker.chance.random() < 0.15:
        maker.defined = set()
        return maker.schema(1, in_union=True)
    if isinstance(schema, list):
        return [changed(branch, maker) for branch in schema][: maker.chance.randint(1, len(schema))]
    if isinstance(schema, str):
        return maker.chance.choice([schema, schema, "long", "double", "string", ["null", "string"]])
    found = dict(schema)
    if "fields" in found:
        fields = [{**field, "type": changed(field["type"], maker)} for field in found["fields"]]
        found["fields"] = [field for field in fields if maker.chance.random() < 0.8]
    for part in ("items", "values"):
        if part in found:
            found[part] = changed(found[part], maker)
    return found


def is_read(reader: Any, writer: Any, value: Any) -> bool:
    written = io.BytesIO()
    fastavro.schemaless_writer(written, writer, value)
    written.seek(0)
    try:
        fastavro.schemaless_reader(written, writer, reader)
    except Exception:
        return False
    return True


@given(st.integers(0, 1 << 48))
def test_what_is_called_compatible_decodes_and_where_it_is_not_some_value_fails(seed: int) -> None:
    maker = Maker(random.Random(seed))
    writer = maker.schema()
    reader = changed(writer, maker)
    try:
        parsed = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
        found = differences(json.dumps(reader), json.dumps(writer))
    except (InvalidSchemaError, fastavro.schema.SchemaParseException):
        return
    values = [maker.value(writer) for _ in range(60)]
    outcomes = [is_read(parsed[1], parsed[0], value) for value in values]
    if found:
        assert not all(outcomes), (reader, writer, found)
    else:
        assert all(outcomes), (reader, writer)
