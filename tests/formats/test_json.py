"""JSON, held against Python's own module."""

from __future__ import annotations

import base64
import datetime
import decimal
import json as python_json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.conftest import decode, encode, errors_of

from barnabas.formats import SchemaError, json

UTC = datetime.UTC
NESTED = pa.struct(
    [
        ("id", pa.int64()),
        ("small", pa.int8()),
        ("ratio", pa.float64()),
        ("name", pa.string()),
        ("is_on", pa.bool_()),
        ("tags", pa.list_(pa.field("element", pa.string()))),
        ("counts", pa.map_(pa.string(), pa.field("value", pa.int32()))),
        ("place", pa.struct([("x", pa.float32()), ("y", pa.float32())])),
        ("price", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("raw", pa.binary()),
    ]
)
TEXT = st.text(st.characters(codec="utf-8"))
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "id": st.none() | st.integers(-(2**63), 2**63 - 1),
        "small": st.integers(-128, 127),
        "ratio": st.floats(),
        "name": st.none() | TEXT,
        "is_on": st.booleans(),
        "tags": st.lists(st.none() | TEXT, max_size=4),
        "counts": st.dictionaries(TEXT, st.integers(-(2**31), 2**31 - 1), max_size=4).map(
            lambda d: list(d.items())
        ),
        "place": st.fixed_dictionaries({"x": st.floats(width=32, allow_nan=False), "y": st.none()}),
        "price": st.integers(-(10**9), 10**9).map(lambda cents: decimal.Decimal(cents).scaleb(-2)),
        "day": st.dates(datetime.date(1, 1, 1)),
        "at": st.datetimes(datetime.datetime(1, 1, 2), timezones=st.just(UTC)),
        "local": st.datetimes(),
        "raw": st.binary(),
    },
)
FORM = json(NESTED)


def as_json(value: Any) -> Any:
    """What Python's module takes, in the words that Spark takes for the rest."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case bytes():
            return base64.b64encode(value).decode()
        case datetime.datetime() | datetime.date():
            return value.isoformat()
        case decimal.Decimal():
            return float(value)  # of ten digits it loses none
        case dict():
            return {
                key: dict(map_items(item)) if key == "counts" else as_json(item)
                for key, item in value.items()
            }
        case list():
            return [as_json(item) for item in value]
        case _:
            return value


def map_items(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return pairs


def whole(row: dict[str, Any]) -> dict[str, Any]:
    """With None for the fields that are not there."""
    return {field.name: row.get(field.name) for field in NESTED}


def same(left: Any, right: Any) -> bool:
    return repr(left) == repr(right)  # NaN is no NaN's equal


@settings(max_examples=100, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=5), st.booleans())
def test_what_python_writes_is_read(rows: list[dict[str, Any]], is_ascii: bool) -> None:
    values = [python_json.dumps(as_json(row), ensure_ascii=is_ascii).encode() for row in rows]
    expected = pa.array([whole(row) for row in rows], NESTED).to_pylist()
    assert same(decode(FORM, values), expected)


@settings(max_examples=100, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=5))
def test_what_is_written_reads_back(rows: list[dict[str, Any]]) -> None:
    expected = pa.array([whole(row) for row in rows], NESTED).to_pylist()
    written = encode(FORM, expected)
    assert same(decode(FORM, written), expected)
    for data, row in zip(written, rows, strict=True):
        assert python_json.loads(data).keys() == {name for name, value in row.items() if value is not None}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=30) | TEXT.map(str.encode), max_size=10))
def test_no_bytes_whatever_break_the_column(values: list[bytes]) -> None:
    values = [value for value in values if value.strip() not in (b"", b"null")]
    errors_of(FORM, values)
    errors_of(json(pa.string()), values)


def test_fields_come_in_any_order_are_missing_or_unknown() -> None:
    form = json(pa.struct([("a", pa.int32()), ("b", pa.string())]))
    values = [
        b'{"b": "x", "a": 1}',
        b"{}",
        b' {"z": [{"a": 9}], "a": 2} ',
        b'{"a": 1, "a": 3}',
        b"null",
        b" ",
        None,
    ]
    assert decode(form, values) == [
        {"a": 1, "b": "x"},
        {"a": None, "b": None},
        {"a": 2, "b": None},
        {"a": 3, "b": None},
        None,
        None,
        None,
    ]


def test_a_string_takes_any_value_as_its_text() -> None:
    form = json(pa.struct([("a", pa.string())]))
    texts = ["1.10", "true", '{"b":[1, 2]}', "[ ]", "12345678901234567890"]
    assert decode(form, [f'{{"a": {text}}}'.encode() for text in texts]) == [{"a": text} for text in texts]
    assert decode(form, [b'{"a": "\\u00e9\\n\\ud83d\\ude00"}']) == [{"a": "é\n😀"}]


def test_decimals_lose_no_digit() -> None:
    form = json(pa.decimal128(38, 10))
    digits = "1234567890123456789012345678.0123456789"
    assert decode(form, [digits.encode(), f'"{digits}"'.encode(), b"1e3", b"0.00000000005"]) == [
        decimal.Decimal(digits),
        decimal.Decimal(digits),
        decimal.Decimal("1000.0000000000"),
        decimal.Decimal("0.0000000001"),
    ]


def test_floats_are_the_nearest() -> None:
    texts = ["0.1", "1e-320", "2.2250738585072011e-308", "9007199254740993", "1e400", "-0.0"]
    assert decode(json(pa.float64()), [text.encode() for text in texts]) == [float(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ('"2013-01-31T05:06:07Z"', datetime.datetime(2013, 1, 31, 5, 6, 7, tzinfo=UTC)),
        ('"2013-01-31 05:06:07.25"', datetime.datetime(2013, 1, 31, 5, 6, 7, 250_000, tzinfo=UTC)),
        ('"2013-01-31T05:06:07+02:00"', datetime.datetime(2013, 1, 31, 3, 6, 7, tzinfo=UTC)),
        ('"2013-01-31"', datetime.datetime(2013, 1, 31, tzinfo=UTC)),
        ("1359608767", datetime.datetime(2013, 1, 31, 5, 6, 7, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_the_forms_of_iso_8601(text: str, moment: datetime.datetime) -> None:
    assert decode(json(pa.timestamp("us", "UTC")), [text.encode()]) == [moment]


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ("{", "", "EOF while parsing"),
        ('{"id": 1} x', "", "trailing characters"),
        ("[1]", "", "invalid type: sequence, expected struct"),
        ('{"id": "1"}', "id", 'invalid type: string "1", expected bigint'),
        ('{"id": 1.5}', "id", "floating point `1.5`, expected bigint"),
        ('{"id": 9223372036854775808}', "id", "expected bigint"),
        ('{"small": 128}', "small", "integer `128`, expected tinyint"),
        ('{"ratio": "1"}', "ratio", '"1" is no double'),
        ('{"is_on": 1}', "is_on", "expected boolean"),
        ('{"tags": ["a", "\\ud80"]}', "tags[1]", "invalid escape"),
        ('{"tags": {}}', "tags", "invalid type: map, expected array"),
        ('{"counts": {"a": 1, "b": true}}', "counts[1]", "expected int"),
        ('{"place": {"x": 1, "y": []}}', "place.y", "[] is no float"),
        ('{"price": 123456789.12}', "price", "123456789.12 is no decimal(10,2)"),
        ('{"day": "31.1.2013"}', "day", "expected date"),
        ('{"at": "yesterday"}', "at", "expected timestamp"),
        ('{"local": "2013-01-31T05:06:07Z"}', "local", "without a zone"),
        ('{"raw": "a"}', "raw", "base64"),
    ],
)
def test_bad_values_are_null_and_their_field_is_named(text: str, field: str, reason: str) -> None:
    ((row, path, message),) = errors_of(FORM, [b"{}", text.encode(), b"{}"])
    assert (row, path) == (1, field)
    assert reason in message


@pytest.mark.parametrize(
    ("data_type", "message"),
    [
        (pa.struct([("a", pa.map_(pa.int32(), pa.int32()))]), "a: the keys of a map"),
        (pa.struct([("a", pa.struct([("b", pa.duration("us"))]))]), r"a\.b: JSON has no form"),
        (pa.struct([("a", pa.int32()), ("a", pa.string())]), "field a is there twice"),
    ],
)
def test_a_type_that_json_has_no_form_for_is_refused(data_type: pa.DataType, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        json(data_type)


def test_parts_of_arrays_are_encoded() -> None:
    rows = [{"a": [1, None], "b": "x"}, None, {"a": [], "b": None}, {"a": None, "b": "é"}]
    form = json(pa.struct([("a", pa.list_(pa.field("element", pa.int32()))), ("b", pa.string())]))
    from barnabas.formats import Codec

    column = pa.array([*rows, *rows], form.data_type)
    expected = [b'{"a":[1,null],"b":"x"}', None, b'{"a":[]}', '{"b":"é"}'.encode()]
    assert Codec(form).encode(column.slice(3, 3)).to_pylist() == [expected[3], expected[0], expected[1]]
