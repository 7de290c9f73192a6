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
from tests.avro_by_chance import Maker, changed

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


def test_a_default_within_recursive_unions_is_looked_at_once() -> None:
    names = [f"R{number}" for number in range(12)]
    records = [
        {"type": "record", "name": name, "fields": [{"name": "f", "type": ["null", *names[:number], name]}]}
        for number, name in enumerate(names)
    ]
    value: Any = {"f": 5}
    for _ in range(30):
        value = {"f": value}
    holder = {"type": "record", "name": "H", "fields": [{"name": "u", "type": records, "default": value}]}
    # By trying, 12 branches to the power of 30.
    with pytest.raises(InvalidSchemaError, match="is no value of its type"):
        differences(json.dumps(holder), json.dumps("int"))


def test_thousands_of_branches_fields_and_symbols_are_compared_at_once() -> None:
    count = 20_000
    branches = [{"type": "fixed", "name": f"F{number}", "size": 1} for number in range(count)]
    assert not told(branches, list(reversed(branches)))
    fields = [{"name": f"f{number}", "type": "int"} for number in range(count)]
    record = {"type": "record", "name": "R", "fields": fields}
    assert not told(record, {**record, "fields": list(reversed(fields))})
    enum = {"type": "enum", "name": "E", "symbols": [f"S{number}" for number in range(count)]}
    assert not told(enum, {**enum, "symbols": list(reversed(enum["symbols"]))})


def test_a_branch_is_found_by_an_alias() -> None:
    reader = [{"type": "fixed", "name": "a.New", "aliases": ["b.Old"], "size": 1}, "null"]
    assert not told(reader, {"type": "fixed", "name": "b.Old", "size": 1})
    assert told(reader, {"type": "fixed", "name": "c.Old", "size": 1})
