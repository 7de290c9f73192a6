"""Compatibility of Protocol Buffers' schemas: the texts as Confluent's registry has them, and google.protobuf
as the judge of what decodes."""

# google.protobuf has no types.
# pyright: basic

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from tests.protobuf_by_chance import SCALARS, Field, Maker

from barnabas.formats.proto.from_descriptor import TYPES
from barnabas.formats.protobuf_schema import compile_text, text_of
from barnabas.formats.protobuf_values import file_of, message_class
from barnabas.registry.compatibility.difference import Sides
from barnabas.registry.compatibility.protobuf import (
    canonical,
    differences,
    normalized,
    serialized,
    top_level_fields,
    without_extensions,
)
from barnabas.registry.errors import InvalidSchemaError


def proto3(body: str, head: str = "") -> str:
    return f'syntax = "proto3"; {head} {body}'


def told(reader: str, writer: str, **others: Any) -> list[str]:
    return [str(each) for each in differences(reader, writer, **others)]


ENUM = " enum E { Z = 0; }"
# Each with the value of the writer's M that a reader loses, or finds elsewhere.
INCOMPATIBLE = [
    (
        proto3("message M { int32 a = 1; }", "package new;"),
        proto3("message M { int32 a = 1; }", "package old;"),
        "PACKAGE_CHANGED",
        "The package at '#/' in the new schema does not match the package in the old schema",
        None,
    ),
    (
        proto3("message N {}"),
        proto3("message M { int32 a = 1; }"),
        "MESSAGE_REMOVED",
        "The new schema is missing a MESSAGE type at path '#/M' in the old schema",
        None,
    ),
    (
        proto3("message M { N a = 1; } message N {}"),
        proto3("message M { int32 a = 1; } message N {}"),
        "FIELD_KIND_CHANGED",
        "The type of a field at path '#/M/1' in the new schema does not match the old schema",
        {"a": 7},
    ),
    (
        proto3("message M { map<string, string> a = 1; }"),
        proto3("message M { string a = 1; }"),
        "FIELD_KIND_CHANGED",
        "The type of a field at path '#/M/1' in the new schema does not match the old schema",
        {"a": "x"},
    ),
    (
        proto3("message M { sint32 a = 1; }"),
        proto3("message M { int32 a = 1; }"),
        "FIELD_SCALAR_KIND_CHANGED",
        "The kind of a SCALAR field at path '#/M/1' in the new schema does not match its kind in "
        "the old schema",
        {"a": 7},
    ),
    (
        proto3("message M { map<int32, E> a = 1; }" + ENUM),
        proto3("message M { map<int32, string> a = 1; }"),
        "FIELD_SCALAR_KIND_CHANGED",
        "The kind of a SCALAR field at path '#/M/1' in the new schema does not match its kind in "
        "the old schema",
        {"a": {7: "x"}},
    ),
    (
        proto3("message M { N a = 1; } message N { int32 x = 1; } message O { int32 y = 2; }"),
        proto3("message M { O a = 1; } message N { int32 x = 1; } message O { int32 y = 2; }"),
        "FIELD_NAMED_TYPE_CHANGED",
        "The type of a MESSAGE field at path '#/M/1' in the new schema does not match its type in "
        "the old schema",
        {"a": {"y": 7}},
    ),
    (
        'syntax = "proto2"; message M { optional int32 a = 1; }',
        'syntax = "proto2"; message M { repeated int32 a = 1 [packed = true]; }',
        "FIELD_NUMERIC_LABEL_CHANGED",
        "The label for a NUMERIC field at path '#/M/1' in the new schema does not match its label "
        "in the old schema",
        {"a": [7]},
    ),
    (
        "message M { optional int32 a = 1; required int32 b = 2; }",
        "message M { optional int32 a = 1; }",
        "REQUIRED_FIELD_ADDED",
        "A required field  at path '#/M/2' in the new schema is missing in the old schema",
        {"a": 7},
    ),
    (
        "message M { optional int32 a = 1; }",
        "message M { optional int32 a = 1; required int32 b = 2; }",
        "REQUIRED_FIELD_REMOVED",
        "The new schema is missing a required field at path: '#/M/2' in the old schema",
        {"b": 7},
    ),
    (
        proto3("message M { oneof o { int32 a = 1; } }"),
        proto3("message M { oneof o { int32 a = 1; int32 b = 2; } }"),
        "ONEOF_FIELD_REMOVED",
        "The new schema is missing a oneof field at path '#/M/o/2' in the old schema",
        {"b": 7},
    ),
    (
        proto3("message M { oneof o { int32 a = 1; int32 b = 2; } }"),
        proto3("message M { int32 a = 1; int32 b = 2; }"),
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
        "Multiple fields in the oneof at path '#/M/o' in the new schema are outside a oneof in the "
        "old schema",
        {"a": 7, "b": 8},
    ),
    (
        proto3("message M { oneof o { int32 a = 1; int32 b = 2; } }"),
        proto3("message M { oneof o { int32 a = 1; } int32 b = 2; }"),
        "FIELD_MOVED_TO_EXISTING_ONEOF",
        "A field in the oneof at path '#/M/o' in the new schema is outside an existing oneof in "
        "the old schema",
        {"a": 7, "b": 8},
    ),
    (
        proto3("message M { oneof p { string a = 1; } }"),
        proto3("message M { oneof o { int32 a = 1; } }"),
        "FIELD_SCALAR_KIND_CHANGED",
        "The kind of a SCALAR field at path '#/M/p/1' in the new schema does not match its kind in "
        "the old schema",
        {"a": 7},
    ),
]


@pytest.mark.parametrize(
    ("reader", "writer", "kind", "words", "value"), INCOMPATIBLE, ids=range(len(INCOMPATIBLE))
)
def test_what_is_incompatible_is_told_in_the_words_of_confluents_registry(
    reader: str, writer: str, kind: str, words: str, value: Any
) -> None:
    assert told(reader, writer) == [f'{{errorType:"{kind}", description:"{words}"}}']


@pytest.mark.parametrize(
    ("reader", "writer", "value"),
    [(reader, writer, value) for reader, writer, _, _, value in INCOMPATIBLE if value is not None],
)
def test_where_schemas_are_incompatible_a_value_is_lost(reader: str, writer: str, value: Any) -> None:
    read, written = made_class(reader), made_class(writer)
    data = written(**value)
    try:
        got = read.FromString(data.SerializePartialToString())
    except DecodeError:
        return
    assert str(got) != str(data) or not got.IsInitialized()


def made_class(text: str, name: str = "M") -> Any:
    return message_class(file_of(compile_text(text)).message_types_by_name[name])


COMPATIBLE = [
    (proto3("message N {} message M { int32 a = 1; }"), proto3("message M { int32 a = 1; }")),
    (proto3("message M { int32 b = 1; }"), proto3("message M { int32 a = 1; }")),
    (proto3("message M { }"), proto3("message M { int32 a = 1; }")),
    (proto3("message M { int32 a = 1; string b = 2; }"), proto3("message M { int32 a = 1; }")),
    (proto3("message M { repeated string a = 1; }"), proto3("message M { string a = 1; }")),
    (proto3("message M { repeated int32 a = 1; }"), proto3("message M { int32 a = 1; }")),
    ("message M { repeated bytes a = 1; }", "message M { optional string a = 1; }"),
    (proto3("message M { E a = 1; }" + ENUM), proto3("message M { int64 a = 1; }")),
    (proto3("message M { } "), proto3("message M { } enum E { Z = 0; }")),
    (proto3("enum E { Y = 0; A = 1; }"), proto3("enum E { Z = 0; B = 2; }")),
    (proto3("message M { oneof o { int32 a = 1; } }"), proto3("message M { int32 a = 1; }")),
    (proto3("message M { int32 a = 1; }"), proto3("message M { oneof o { int32 a = 1; } }")),
    (proto3("message M { }"), proto3("message M { oneof o { int32 a = 1; int32 b = 2; } }")),
    (proto3("message M { oneof p { int32 a = 1; } }"), proto3("message M { oneof o { int32 a = 1; } }")),
    (
        proto3("message M { oneof o { int32 a = 1; int32 b = 2; } }"),
        proto3("message M { oneof o { int32 a = 1; } }"),
    ),
    (
        proto3("message M { map<int64, string> a = 1; }"),
        "message M { repeated AEntry a = 1; message AEntry { option map_entry = true; "
        "optional int32 key = 1; optional bytes value = 2; } }",
    ),
    (
        proto3("message N {} message M { message O {} .p.N n = 1; O o = 2; }", "package p;"),
        proto3("message M { message O {} p.N n = 1; M.O o = 2; } message N {}", "package p;"),
    ),
]


@pytest.mark.parametrize(("reader", "writer"), COMPATIBLE, ids=range(len(COMPATIBLE)))
def test_what_is_compatible_has_no_differences(reader: str, writer: str) -> None:
    assert told(reader, writer) == []


def test_sides_are_called_as_asked_for() -> None:
    reader, writer = proto3("message N {}"), proto3("message M {}")
    (found,) = differences(reader, writer, sides=Sides("old", "new"))
    assert (found.kind, found.path) == ("MESSAGE_REMOVED", "#/M")
    assert found.description.startswith("The old schema is missing a MESSAGE type at path '#/M' in the new")


@pytest.mark.parametrize(("reader", "writer"), list(itertools.product(SCALARS, repeat=2)))
def test_scalars_are_compatible_where_each_keeps_what_the_other_wrote(reader: int, writer: int) -> None:
    texts = [f'syntax = "proto3"; message M {{ {TYPES[type_ - 1]} a = 1; }}' for type_ in (reader, writer)]
    read, written = map(made_class, texts)
    values = {Field.TYPE_STRING: ["a"], Field.TYPE_BYTES: [b"a"], Field.TYPE_BOOL: [True]}.get(writer, [1, 2])
    got = [plain(read.FromString(written(a=value).SerializeToString()).a) for value in values]
    if told(*texts):
        assert got != list(map(plain, values))
    else:
        # A bool keeps of a number only whether it is 0.
        assert got[0] == plain(values[0])


def plain(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def test_types_of_imported_files_are_compared_too() -> None:
    text = proto3('import "b.proto"; message M { b.B x = 1; repeated b.B y = 2; }')
    old = {"b.proto": proto3("message B { int32 a = 1; C c = 2; } message C { B b = 1; }", "package b;")}
    new = {"b.proto": proto3("message B { string a = 1; C c = 2; } message C { B b = 1; }", "package b;")}
    found = differences(text, text, reader_references=new, writer_references=old)
    assert [(each.kind, each.path) for each in found] == [
        ("FIELD_SCALAR_KIND_CHANGED", "#/B/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/1"),
        ("FIELD_SCALAR_KIND_CHANGED", "#/B/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/2"),
    ]
    assert told(text, text, reader_references=old, writer_references=old) == []


def test_a_type_may_move_into_a_file_of_the_same_package_and_of_another() -> None:
    old = proto3("message M { B x = 1; } message B { int32 a = 1; }", "package b;")
    new = proto3('import "b.proto"; message M { c.B x = 1; }', "package b;")
    moved = {"b.proto": proto3("message B { int64 a = 1; }", "package c;")}
    assert told(new, old, reader_references=moved) == [
        '{errorType:"MESSAGE_REMOVED", description:"The new schema is missing a MESSAGE type at path \'#/B\' '
        'in the old schema"}'
    ]


def test_schemas_in_base64_and_in_text_are_compared_alike() -> None:
    old, new = proto3("message M { int32 a = 1; }"), proto3("message M { string a = 1; }")
    assert told(serialized(new), old) == told(new, serialized(old)) == told(new, old) != []


def test_what_a_schema_lacks_or_has_wrong_is_an_invalid_schema() -> None:
    for broken in (proto3("message M { int32 a = ; }"), "no schema"):
        for function in (canonical, normalized, serialized, without_extensions):
            with pytest.raises(InvalidSchemaError, match="broken at line 1, column"):
                function(broken)
        with pytest.raises(InvalidSchemaError, match="broken at line 1, column"):
            differences(broken, proto3(""))
    for function in (canonical, normalized, serialized):
        with pytest.raises(InvalidSchemaError, match="the type 'Nothing' is not defined"):
            function(proto3("message M { Nothing a = 1; }"))


def test_extensions_are_left_out_but_for_confluents() -> None:
    text = proto3(
        'message M { int32 a = 1 [(x.y) = 1, (confluent.field_meta).tags = "A", deprecated = true]; }'
    )
    assert "(x.y)" not in without_extensions(text)
    assert '(confluent.field_meta).tags = "A"' in without_extensions(text)


def test_top_level_fields_are_those_of_all_outer_messages() -> None:
    text = proto3(
        "message M { int32 a = 1; oneof o { int32 b = 2; } message N { int32 c = 1; } } message O { M d = 1;}"
    )
    assert top_level_fields(text) == ["a", "d", "b"]


def test_messages_that_are_too_many_within_each_other_are_refused() -> None:
    chain = (
        "".join(f"message M{number} {{ M{number + 1} a = 1; }}" for number in range(5000))
        + "message M5000 {}"
    )
    references = {"b.proto": proto3(chain)}
    text = proto3('import "b.proto"; message M { M0 a = 1; }')
    with pytest.raises(InvalidSchemaError, match="too many within each other"):
        differences(text, text, reader_references=references, writer_references=references)


def test_a_web_of_imported_messages_is_compared_once() -> None:
    def web(type_: str) -> str:
        rows = [
            "".join(
                f"message M{row}_{column} {{ M{row + 1}_0 a = 1; M{row + 1}_1 b = 2; }}" for column in (0, 1)
            )
            for row in range(40)
        ]
        return proto3(
            "".join(rows) + f"message M40_0 {{ {type_} x = 1; }} message M40_1 {{ {type_} x = 1; }}"
        )

    text = proto3('import "b.proto"; message M { M0_0 a = 1; }')
    found = differences(
        text, text, reader_references={"b.proto": web("int32")}, writer_references={"b.proto": web("string")}
    )
    assert 40 < len(found) < 2000


@given(st.integers(0, 1 << 30))
def test_what_is_compatible_by_chance_decodes(seed: int) -> None:
    chance = random.Random(seed)
    writer = Maker(seed).make()
    reader = changed(writer, chance)
    reader_text, writer_text = text_of(reader.SerializeToString()), text_of(writer.SerializeToString())
    if differences(reader_text, writer_text):
        return
    read, written = file_of(compile_text(reader_text)), file_of(compile_text(writer_text))
    for name, descriptor in written.message_types_by_name.items():
        value = filled(message_class(descriptor)(), chance, 0)
        got = message_class(read.message_types_by_name[name]).FromString(value.SerializePartialToString())
        assert_kept(value, got)


def changed(file: Any, chance: random.Random) -> Any:
    made = type(file)()
    made.CopyFrom(file)
    for message in made.message_type:
        change_message(message, chance)
    return made


def change_message(message: Any, chance: random.Random) -> None:
    for field in list(message.field):
        what = chance.random()
        is_plain = not field.HasField("oneof_index") and field.type not in (
            Field.TYPE_GROUP,
            Field.TYPE_MESSAGE,
        )
        if what < 0.05 and is_plain:
            message.field.remove(field)
        elif what < 0.1 and is_plain:
            field.ClearField("default_value")
            field.ClearField("type_name")
            field.options.ClearField("packed")
            field.type = chance.choice(SCALARS)
        elif what < 0.15:
            field.name += "_again"
        elif what < 0.2 and is_plain and not field.HasField("default_value"):
            field.label = chance.choice([Field.LABEL_OPTIONAL, Field.LABEL_REPEATED])
            field.options.ClearField("packed")
    for nested in message.nested_type:
        if not nested.options.map_entry:
            change_message(nested, chance)


def filled(message: Any, chance: random.Random, depth: int) -> Any:
    for field in message.DESCRIPTOR.fields:
        if chance.random() < 0.2 and not field.is_required:
            continue
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if field.message_type is not None:
            if depth < 3 and not is_map:
                inner = getattr(message, field.name)
                filled(inner.add() if field.is_repeated else inner, chance, depth + 1)
        elif field.is_repeated:
            getattr(message, field.name).extend([some(field, chance) for _ in range(chance.randint(0, 3))])
        else:
            setattr(message, field.name, some(field, chance))
    return message


def some(field: Any, chance: random.Random) -> Any:
    if field.enum_type is not None:
        return chance.choice(field.enum_type.values).number
    if field.type == Field.TYPE_STRING:
        return chance.choice(["", "a", "é"])
    # As a text may read them.
    return b"bytes" if field.type == Field.TYPE_BYTES else chance.choice([0, 1])


def assert_kept(written: Any, got: Any) -> None:
    for field, value in written.ListFields():
        known = got.DESCRIPTOR.fields_by_number.get(field.number)
        if known is None or (known.type, known.is_repeated) != (field.type, field.is_repeated):
            continue
        other = getattr(got, known.name)
        if field.message_type is None:
            assert other == value
        elif field.is_repeated and not field.message_type.GetOptions().map_entry:
            assert len(other) == len(value)
            for one, another in zip(value, other, strict=True):
                assert_kept(one, another)
        elif not field.is_repeated:
            assert got.HasField(known.name)
            assert_kept(value, other)
