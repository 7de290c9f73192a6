"""Avro schemas of two sides: what one wrote, read into columns as another has it. Held against values."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from tests.avro_by_chance import Maker, changed
from tests.formats.conftest import decode, encode, errors_of

from barnabas._kernel import schema_keys
from barnabas.errors import SerializationError
from barnabas.formats import AvroValues, Codec, SchemaError, avro


def record(*fields: Any, name: str = "Row") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def field(name: str, kind: Any, **others: Any) -> dict[str, Any]:
    return {"name": name, "type": kind} | others


def as_in_columns(value: Any, data_type: pa.DataType) -> Any:
    """Maps as lists of pairs."""
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return [(key, as_in_columns(item, data_type.item_type)) for key, item in value.items()]
    if pa.types.is_list(data_type):
        return [as_in_columns(item, data_type.value_type) for item in value]
    if pa.types.is_struct(data_type):
        return {field.name: as_in_columns(value[field.name], field.type) for field in data_type}
    return value


def has_struct_of_members(data_type: pa.DataType) -> bool:
    return "member0" in str(data_type)


def test_what_resolves_as_a_value_resolves_into_a_column() -> None:
    read = refused = 0
    for seed in range(1500):
        maker = Maker(random.Random(seed), least_items=1)
        writer = maker.schema()
        reader = changed(writer, maker)
        try:
            values = AvroValues(json.dumps(writer), json.dumps(reader))
            form = avro(json.dumps(writer), json.dumps(reader))
            codec = Codec(form)
        except SchemaError:
            continue
        data = AvroValues(json.dumps(writer)).encode(maker.value(writer))
        column, errors = codec.decode(pa.array([data], pa.binary()))
        column.validate(full=True)
        try:
            expected = values.decode(data)
        except SerializationError:
            assert len(errors) == 1, (writer, reader)
            refused += 1
            continue
        assert errors.to_pylist() == [], (writer, reader)
        if not has_struct_of_members(form.data_type):
            assert column.to_pylist() == [as_in_columns(expected, form.data_type)], (writer, reader)
            read += 1
    assert read > 300
    assert refused > 100


def test_fields_are_found_by_name_left_out_and_filled_by_defaults() -> None:
    writer = record(
        field("gone", {"type": "array", "items": "string"}), field("b", "int"), field("a", "string")
    )
    reader = record(
        field("a", "string"),
        field("number", "double", aliases=["b"]),
        field("new", ["null", "string"], default=None),
        field("list", {"type": "array", "items": "int"}, default=[1, 2]),
    )
    data = AvroValues(json.dumps(writer)).encode({"gone": ["x", "y"], "b": 7, "a": "text"})
    expected = {"a": "text", "number": 7.0, "new": None, "list": [1, 2]}
    assert decode(avro(json.dumps(writer), json.dumps(reader)), [data, None, data]) == [
        expected,
        None,
        expected,
    ]


def test_a_type_that_contains_itself_may_be_passed_over() -> None:
    tree = record(field("children", {"type": "array", "items": "Tree"}), field("n", "long"), name="Tree")
    writer = record(field("tree", tree), field("same", ["null", "Tree"]), field("a", "int"))
    leaf = {"children": [], "n": 1}
    value = {"tree": {"children": [leaf, {"children": [leaf], "n": -9}], "n": 5}, "same": leaf, "a": 3}
    data = AvroValues(json.dumps(writer)).encode(value)
    form = avro(json.dumps(writer), json.dumps(record(field("a", "int"))))
    assert decode(form, [data]) == [{"a": 3}]
    deep = b"\x02" * 2000
    assert "deeper than 300" in errors_of(form, [deep])[0][2]


def test_a_hostile_length_in_what_is_passed_over_takes_no_time() -> None:
    writer = record(field("nulls", {"type": "array", "items": "null"}), field("a", "int"))
    form = avro(json.dumps(writer), json.dumps(record(field("a", "int"))))
    many = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"
    assert decode(form, [many + b"\x00\x06"]) == [{"a": 3}]
    strings = record(field("strings", {"type": "array", "items": "string"}), field("a", "int"))
    form = avro(json.dumps(strings), json.dumps(record(field("a", "int"))))
    assert "items in" in errors_of(form, [many + b"\x00\x06"])[0][2]


def test_a_union_of_the_reader_is_a_struct_whoever_wrote() -> None:
    reader = json.dumps(record(field("a", ["null", "string", "long"])))
    form = avro(json.dumps(record(field("a", "int"))), reader)
    assert decode(form, [b"\x0a"]) == [{"a": {"member0": None, "member1": 5}}]
    form = avro(json.dumps(record(field("a", ["string", "null"]))), reader)
    assert decode(form, [b"\x00\x02x", b"\x02"]) == [{"a": {"member0": "x", "member1": None}}, {"a": None}]
    again = avro(reader)
    column = [{"a": {"member0": "x", "member1": None}}, {"a": None}, {"a": {"member0": None, "member1": -1}}]
    assert decode(again, encode(again, column)) == column


def test_a_time_has_the_readers_unit() -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    form = avro(json.dumps(record(field("at", "int"))), json.dumps(record(field("at", millis))))
    assert str(decode(form, [b"\x02"])[0]["at"]) == "1970-01-01 00:00:00.001000+00:00"


def test_what_cannot_be_read_names_its_field_and_why() -> None:
    form = avro(json.dumps(record(field("a", "string"))), json.dumps(record(field("a", "int"))))
    assert errors_of(form, [b"\x02x"]) == [(0, "a", "it was written as string, which is not read as int")]
    form = avro(json.dumps(record(field("a", "string"))), json.dumps(record(field("b", "int"))))
    row, place, reason = errors_of(form, [b"\x02x"])[0]
    assert (row, place) == (0, "b")
    assert "no default" in reason


def test_a_form_with_two_schemas_does_not_write() -> None:
    form = avro(
        json.dumps(record(field("a", "int"), field("b", "int"))), json.dumps(record(field("a", "int")))
    )
    with pytest.raises(Exception, match="cannot write"):
        encode(form, [{"a": 1}])


def framed(id: int, data: bytes) -> bytes:
    return b"\x00" + id.to_bytes(4, "big") + data


def test_rows_of_several_writers_come_out_in_order_in_the_readers_schema() -> None:
    old, new = record(field("a", "int")), record(field("b", "string", default="-"), field("a", "long"))
    reader = avro(json.dumps(new)).with_header()
    writers: dict[int | bytes, Codec | str] = {
        1: Codec(avro(json.dumps(old), json.dumps(new)).with_header()),
        2: Codec(reader),
        3: "not in the registry",
    }
    guid = bytes(range(16))
    writers[guid] = writers[1]
    values = pa.array(
        [
            framed(2, b"\x02x\x02"),
            framed(1, b"\x04"),
            None,
            framed(3, b"\x04"),
            framed(9, b"\x04"),
            b"{}",
            framed(2, b"\x02y\x06"),
            b"\x08",
            b"\x01" + guid + b"\x0a",
        ],
        pa.binary(),
    )
    headers = pa.array([None] * 7 + [b"\x01" + guid, None], pa.binary())
    assert schema_keys(values, headers) == [2, 1, 3, 9, guid]
    column, errors = Codec(reader).decode_by_schema(values, writers, headers)
    assert column.to_pylist() == [
        {"b": "x", "a": 1},
        {"b": "-", "a": 2},
        None,
        None,
        None,
        None,
        {"b": "y", "a": 3},
        {"b": "-", "a": 4},
        {"b": "-", "a": 5},
    ]
    assert [(error["row"], error["error"]) for error in errors.to_pylist()] == [
        (3, "not in the registry"),
        (4, "its schema is not known"),
        (5, "2 bytes are too short for the header of a schema registry"),
    ]
    column, errors = Codec(reader).decode_by_schema(values, writers, headers, stop_at_error=True)
    assert (len(column), len(errors)) == (4, 1)
