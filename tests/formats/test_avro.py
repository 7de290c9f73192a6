"""Avro, held against fastavro."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import sys
import uuid
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.conftest import decode, encode, errors_of

from barnabas.errors import MissingExtraError
from barnabas.formats import Codec, EncodeError, SchemaError, avro

UTC = datetime.UTC


def written(schema: Any, *values: Any) -> list[bytes]:
    """By fastavro."""
    parsed = fastavro.parse_schema(schema)
    found: list[bytes] = []
    for value in values:
        output = io.BytesIO()
        fastavro.schemaless_writer(output, parsed, value)
        found.append(output.getvalue())
    return found


def read(schema: Any, data: bytes) -> Any:
    """By fastavro."""
    return fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(schema), None)


def record(**fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "Row",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


def logical(kind: str, name: str, **others: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name} | others


INSTANTS = st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 30), timezones=st.just(UTC))
MILLIS = INSTANTS.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
FIXED = {"type": "fixed", "name": "Four", "size": 4}
ENUM = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN", "BLUE"]}
DECIMALS = st.decimals(-(10**8), 10**8, places=2, allow_nan=False).map(
    lambda value: value.quantize(decimal.Decimal("0.01"))
)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary()),
    ("string", st.text(st.characters(codec="utf-8"))),
    (logical("int", "date"), st.dates()),
    (logical("long", "timestamp-millis"), MILLIS),
    (logical("long", "timestamp-micros"), INSTANTS),
    (logical("long", "local-timestamp-micros"), INSTANTS.map(lambda moment: moment.replace(tzinfo=None))),
    (logical("bytes", "decimal", precision=20, scale=2), DECIMALS),
    (logical("string", "uuid"), st.uuids()),
]


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    """Schemas with what generates their values, made of others."""

    def optional(inner: Any) -> Any:
        schema, values = inner
        return ["null", schema], st.none() | values

    def array(inner: Any) -> Any:
        schema, values = inner
        return {"type": "array", "items": schema}, st.lists(values, max_size=4)

    def mapping(inner: Any) -> Any:
        schema, values = inner
        keys = st.text(st.characters(codec="utf-8"), max_size=5)
        return {"type": "map", "values": schema}, st.dictionaries(keys, values, max_size=4)

    def row(inner: Any) -> Any:
        schema = record(**{f"f{number}": kind for number, (kind, _) in enumerate(inner)})
        schema["name"] = f"Row{uuid.uuid4().hex}"
        return schema, st.fixed_dictionaries({f"f{n}": values for n, (_, values) in enumerate(inner)})

    is_optional = leaf.filter(lambda inner: not isinstance(inner[0], list))
    return (
        is_optional.map(optional)
        | leaf.map(array)
        | leaf.map(mapping)
        | st.lists(leaf, min_size=1, max_size=4).map(row)
    )


SCHEMAS = st.recursive(st.sampled_from(LEAVES), nested, max_leaves=8)


def plain(value: Any) -> Any:
    """As Arrow gives values: maps as lists of pairs, UUIDs as text."""
    match value:
        case uuid.UUID():
            return str(value)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value


def with_maps(value: Any, data_type: pa.DataType) -> Any:
    """Arrow's lists of pairs as dicts, where the type is a map."""
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return {key: with_maps(item, data_type.item_type) for key, item in value}
    if pa.types.is_list(data_type):
        return [with_maps(item, data_type.value_type) for item in value]
    if pa.types.is_struct(data_type):
        return {field.name: with_maps(value[field.name], field.type) for field in data_type}
    return value


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_fastavro_writes_is_read_and_what_is_written_fastavro_reads(data: st.DataObject) -> None:
    schema, values_of = data.draw(SCHEMAS)
    values = data.draw(st.lists(values_of, min_size=1, max_size=5))
    form = avro(json.dumps(schema))
    encoded = written(schema, *values)
    column = decode(form, encoded)
    assert [with_maps(value, form.data_type) for value in column] == [plain(value) for value in values]
    again = encode(form, column)
    for value, is_none, data_bytes in zip(values, [v is None for v in values], again, strict=True):
        if is_none:
            assert data_bytes is None  # a null at the top is a record without a value
        else:
            assert plain(read(schema, data_bytes)) == plain(value)


def test_every_logical_type_has_sparks_type() -> None:
    fields = {
        "d": logical("int", "date"),
        "tm": logical("long", "timestamp-millis"),
        "tu": logical("long", "timestamp-micros"),
        "lm": logical("long", "local-timestamp-millis"),
        "lu": logical("long", "local-timestamp-micros"),
        "b": logical("bytes", "decimal", precision=10, scale=3),
        "f": {
            "type": "fixed",
            "name": "F",
            "size": 16,
            "logicalType": "decimal",
            "precision": 30,
            "scale": 3,
        },
        "u": {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
        "e": ENUM,
        "x": FIXED,
        "time": logical("int", "time-millis"),
    }
    data_type = avro(json.dumps(record(**fields))).data_type
    assert {field.name: str(field.type) for field in data_type} == {
        "d": "date32[day]",
        "tm": "timestamp[us, tz=UTC]",
        "tu": "timestamp[us, tz=UTC]",
        "lm": "timestamp[us]",
        "lu": "timestamp[us]",
        "b": "decimal128(10, 3)",
        "f": "decimal128(30, 3)",
        "u": "string",
        "e": "string",
        "x": "binary",
        "time": "int32",
    }


def test_fixed_enums_and_decimals_in_fixed_are_read_and_written() -> None:
    wide = {
        "type": "fixed",
        "name": "Wide",
        "size": 16,
        "logicalType": "decimal",
        "precision": 30,
        "scale": 3,
    }
    schema = record(f=FIXED, e=ENUM, d=wide)
    form = avro(json.dumps(schema))
    rows = [
        {"f": b"abcd", "e": "BLUE", "d": decimal.Decimal("-12.345")},
        {"f": b"\0\0\0\1", "e": "RED", "d": decimal.Decimal(10) ** 26},
    ]
    assert decode(form, written(schema, *rows)) == rows
    assert [read(schema, data) for data in encode(form, rows)] == rows


def test_a_uuid_of_sixteen_bytes_is_text() -> None:
    form = avro(json.dumps({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}))
    given_uuid = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
    assert decode(form, [given_uuid.bytes]) == [str(given_uuid)]
    assert encode(form, [str(given_uuid)]) == [given_uuid.bytes]


def test_a_union_of_several_types_is_a_struct_of_members() -> None:
    schema = record(u=["null", "string", "long", ENUM])
    form = avro(json.dumps(schema))
    values = [{"u": "text"}, {"u": 5}, {"u": None}]
    rows = [
        {"u": {"member0": "text", "member1": None, "member2": None}},
        {"u": {"member0": None, "member1": 5, "member2": None}},
        {"u": None},
    ]
    assert decode(form, written(schema, *values)) == rows
    assert [read(schema, data) for data in encode(form, rows)] == values


def test_unions_of_numbers_are_the_wider_one() -> None:
    schema = record(a=["int", "long"], b=["float", "double", "null"])
    form = avro(json.dumps(schema))
    rows = [{"a": 1, "b": 0.1}, {"a": 2**40, "b": None}]
    assert decode(form, written(schema, *rows)) == rows
    assert [read(schema, data) for data in encode(form, rows)] == rows


def test_types_are_found_by_their_names() -> None:
    point = record(x="int", y="int") | {"name": "Point", "namespace": "geo"}
    schema = record(a=point, b={"type": "array", "items": "geo.Point"})
    rows = [{"a": {"x": 1, "y": 2}, "b": [{"x": 3, "y": 4}]}]
    assert decode(avro(json.dumps(schema)), written(schema, *rows)) == rows


def test_arrays_in_blocks_with_their_size_are_read() -> None:
    # -2 items in 2 bytes, 1 item, the end.
    assert decode(avro('{"type": "array", "items": "int"}'), [bytes([3, 4, 2, 4, 2, 6, 0])]) == [[1, 2, 3]]


def test_a_bare_name_is_a_schema() -> None:
    assert decode(avro('"long"'), [b"\x02"]) == decode(avro("long"), [b"\x02"]) == [1]


ROW = avro(
    json.dumps(record(a="int", b=record(c=ENUM, d={"type": "array", "items": "string"}) | {"name": "In"}))
)


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        (b"", "a", "the bytes end too early"),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a", "more than 64 bits"),
        (b"\x80\x80\x80\x80\x80\x01", "a", "too large"),
        (b"\x02\x06", "b.c", "3 is none of the 3 symbols"),
        (b"\x02\x00\x02\x04a", "b.d[0]", "the bytes end too early"),
        (b"\x02\x00\x02\x02\xff\x00", "b.d[0]", "not UTF-8"),
        (b"\x02\x00\x02\x01", "b.d[0]", "a length of -1 bytes"),
        (b"\x02\x00\xfe\xff\xff\xff\xff\xff\xff\x01", "b.d", "items in 0 bytes"),
        (b"\x02\x00\x00\x00", "", "1 bytes are left over"),
    ],
)
def test_bad_bytes_are_null_and_their_field_is_named(data: bytes, field: str, reason: str) -> None:
    good = b"\x02\x00\x00"
    ((row, path, message),) = errors_of(ROW, [good, data, None, good])
    assert (row, path) == (1, field)
    assert reason in message


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_whatever_break_the_column(values: list[bytes]) -> None:
    errors_of(ROW, values)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{", "not JSON"),
        ('{"type": "record"}', "is broken"),
        ('{"type": "strin"}', "is broken"),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}',
            "next: R contains itself",
        ),
    ],
)
def test_a_schema_that_cannot_work_is_refused(schema: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        avro(schema)


@pytest.mark.parametrize(
    ("value", "field", "reason"),
    [
        ({"a": None, "b": None}, "a", "null, which its Avro type does not take"),
        ({"a": 1, "b": {"c": "PINK", "d": []}}, "b.c", "'PINK' is none|\"PINK\" is none"),
        ({"a": 1, "b": {"c": "RED", "d": ["x", None]}}, "b.d[1]", "null"),
    ],
)
def test_a_value_that_the_schema_does_not_take_is_named(value: Any, field: str, reason: str) -> None:
    good = {"a": 1, "b": {"c": "RED", "d": []}}
    with pytest.raises(EncodeError, match=reason) as raised:
        encode(ROW, [good, value])
    assert (raised.value.row, raised.value.field) == (1, field)


def test_columns_are_brought_into_the_schemas_form() -> None:
    form = avro(json.dumps(record(a=["null", "int"], b="string", c=["null", "long"])))
    column = pa.array([{"b": "x", "a": 1}], pa.struct([("b", pa.large_string()), ("a", pa.int64())]))
    assert decode(form, Codec(form).encode(column).to_pylist()) == [{"a": 1, "b": "x", "c": None}]


def test_parts_of_nested_columns_are_brought_into_the_schemas_form() -> None:
    numbers = {"type": "array", "items": "int"}
    form = avro(json.dumps(["null", record(l=["null", numbers], m={"type": "map", "values": "int"})]))
    wide = pa.struct([("m", pa.map_(pa.string(), pa.int64())), ("l", pa.list_(pa.int64()))])
    rows: list[Any] = [
        {"l": [1, 2], "m": [("a", 1)]},
        None,
        {"l": None, "m": [("b", 2), ("c", 3)]},
        {"l": [3], "m": []},
    ]
    column = pa.array(rows * 3, wide)
    for start, length in [(0, 12), (3, 5), (5, 1), (11, 1), (4, 0)]:
        part = Codec(form).encode(column.slice(start, length))
        expected = [row for row in (rows * 3)[start : start + length] if row is not None]
        assert [row for row in decode(form, part.to_pylist()) if row is not None] == expected


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([{"a": 1, "x": 2}]), "no field 'x'; it has a, b"),
        (pa.array([{"a": "1"}]), "a: string, where the schema has int32: cast"),
        (pa.array([{"a": 2**40}]), "a: Integer value 1099511627776 not in range"),
        (pa.array([{"b": 1}]), "b is int64, where the schema has struct"),
    ],
)
def test_columns_that_do_not_fit_the_schema_are_refused(column: pa.Array, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Codec(ROW).encode(column)


def test_an_array_of_what_takes_no_bytes_is_refused() -> None:
    with pytest.raises(SchemaError, match="an array of what takes no bytes"):
        Codec(avro('{"type": "array", "items": "null"}'))


def test_without_fastavro_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro.schema", None)
    with pytest.raises(MissingExtraError, match=r"barnabas\[avro\]"):
        avro('"int"')
