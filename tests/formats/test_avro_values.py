"""Single values in Avro, with fastavro as the judge."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import pickle
import random
import struct
import uuid
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.avro_by_chance import Maker, changed

from barnabas.errors import SerializationError
from barnabas.formats import AvroDuration, AvroValues, SchemaError

UTC = datetime.UTC


def record(*fields: Any, name: str = "R") -> str:
    """`(name, type)` or `(name, type, default)`."""
    found = [
        {"name": field[0], "type": field[1], **({"default": field[2]} if len(field) > 2 else {})}
        for field in fields
    ]
    return json.dumps({"type": "record", "name": name, "fields": found})


def of_fastavro(schema: str, value: Any) -> bytes:
    written = io.BytesIO()
    fastavro.schemaless_writer(written, fastavro.parse_schema(json.loads(schema)), value)
    return written.getvalue()


def logical(kind: str, name: str, **others: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **others}


def fixed(size: int, **others: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", "size": size, **others}


# What was written is what fastavro writes, and is read as it reads it


@given(st.integers(0, 1 << 48))
def test_any_value_is_written_and_read_as_by_fastavro(seed: int) -> None:
    maker = Maker(random.Random(seed))
    schema = json.dumps(maker.schema())
    parsed = fastavro.parse_schema(json.loads(schema))
    values = AvroValues(schema)
    for _ in range(5):
        value = maker.value(json.loads(schema))
        written = of_fastavro(schema, value)
        assert values.encode(value) == written
        assert values.decode(written) == fastavro.schemaless_reader(io.BytesIO(written), parsed, None)


@given(st.integers(0, 1 << 48))
def test_another_schema_reads_what_it_reads_with_fastavro(seed: int) -> None:
    # It refuses what nothing of is there; we do when we meet it.
    maker = Maker(random.Random(seed), least_items=1)
    writer = maker.schema()
    reader = changed(writer, maker)
    try:
        written_as, read_as = fastavro.parse_schema(writer), fastavro.parse_schema(reader)
        values = AvroValues(json.dumps(writer), json.dumps(reader))
    except (SchemaError, fastavro.schema.SchemaParseException):
        return
    for _ in range(5):
        written = of_fastavro(json.dumps(writer), maker.value(writer))
        try:
            expected = fastavro.schemaless_reader(io.BytesIO(written), written_as, read_as)
        except Exception:
            with pytest.raises(SerializationError):
                values.decode(written)
        else:
            assert values.decode(written) == expected


MOMENT = datetime.datetime(2026, 11, 24, 1, 2, 3, 456_000, tzinfo=UTC)
LOGICAL: list[tuple[Any, Any]] = [
    (logical("int", "date"), datetime.date(2026, 11, 24)),
    (logical("int", "date"), datetime.date(1, 1, 1)),
    (logical("int", "date"), datetime.date(9999, 12, 31)),
    (logical("int", "time-millis"), datetime.time(23, 59, 59, 999_000)),
    (logical("long", "time-micros"), datetime.time(0, 0, 0, 1)),
    (logical("long", "timestamp-millis"), MOMENT),
    (logical("long", "timestamp-micros"), MOMENT.replace(microsecond=456_789)),
    (logical("long", "timestamp-micros"), datetime.datetime(1, 1, 1, tzinfo=UTC)),
    (logical("long", "timestamp-micros"), datetime.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)),
    (logical("long", "local-timestamp-millis"), MOMENT.replace(tzinfo=None)),
    (logical("long", "local-timestamp-micros"), datetime.datetime(1969, 12, 31, 23, 0, 0, 7)),
    (logical("string", "uuid"), uuid.UUID("12345678-1234-5678-9234-567812345678")),
    (logical("bytes", "decimal", precision=10, scale=2), Decimal("-123.40")),
    (logical("bytes", "decimal", precision=38, scale=0), Decimal("9" * 38)),
    (fixed(8, logicalType="decimal", precision=10, scale=3), Decimal("-0.001")),
    (fixed(16, logicalType="decimal", precision=38, scale=38), Decimal("0." + "1" * 38)),
]


@pytest.mark.parametrize(("schema", "value"), LOGICAL)
def test_logical_types_are_those_of_fastavro(schema: Any, value: Any) -> None:
    text = json.dumps(schema)
    values, parsed = AvroValues(text), fastavro.parse_schema(json.loads(text))
    written = of_fastavro(text, value)
    assert values.encode(value) == written
    found = values.decode(written)
    assert found == fastavro.schemaless_reader(io.BytesIO(written), parsed, None) == value
    assert type(found) is type(value)
    assert repr(found) == repr(value)


@given(st.datetimes(timezones=st.just(UTC)), st.dates(), st.times(), st.uuids())
def test_any_moment_day_time_and_uuid_comes_back(
    moment: datetime.datetime, day: datetime.date, time: datetime.time, number: uuid.UUID
) -> None:
    schema = record(
        ("moment", logical("long", "timestamp-micros")),
        ("day", logical("int", "date")),
        ("time", logical("long", "time-micros")),
        ("text", logical("string", "uuid")),
        ("raw", fixed(16, logicalType="uuid")),
    )
    value = {"moment": moment, "day": day, "time": time, "text": number, "raw": number}
    values = AvroValues(schema)
    found = values.decode(values.encode(value))
    assert found == value
    assert str(found["raw"]) == str(number)
    assert pickle.loads(pickle.dumps(found)) == value


def test_what_fastavro_has_no_logical_type_for() -> None:
    values = AvroValues(json.dumps(fixed(12, logicalType="duration")))
    written = values.encode(AvroDuration(1, 2, 3))
    assert written == bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])
    assert values.decode(written) == AvroDuration(months=1, days=2, milliseconds=3)
    nanos = AvroValues(json.dumps(logical("long", "timestamp-nanos")))
    assert nanos.decode(nanos.encode(5)) == 5


def test_a_moment_without_a_zone_is_this_machines_and_one_with_a_zone_that_zones() -> None:
    values = AvroValues(json.dumps(logical("long", "timestamp-micros")))
    bare = MOMENT.replace(tzinfo=None)
    assert values.decode(values.encode(bare)) == bare.astimezone(UTC)
    zone = datetime.timezone(datetime.timedelta(hours=5))
    assert values.decode(values.encode(MOMENT.astimezone(zone))) == MOMENT


def test_bare_values_stand_for_logical_ones() -> None:
    schema = record(("a", logical("int", "date")), ("b", logical("string", "uuid")))
    values = AvroValues(schema)
    assert values.decode(values.encode({"a": 0, "b": str(uuid.UUID(int=1))})) == {
        "a": datetime.date(1970, 1, 1),
        "b": uuid.UUID(int=1),
    }


# Records, unions and names


@pytest.mark.parametrize(
    "union", [["float", "double"], ["null", "float", "string", "double"], ["double", "float"]]
)
def test_a_number_in_a_union_of_float_and_double_is_a_double_which_loses_nothing(union: list[str]) -> None:
    schema = json.dumps(union)
    values = AvroValues(schema)
    written = values.encode(0.1)
    assert written == of_fastavro(schema, 0.1)
    assert values.decode(written) == 0.1


def test_defaults_stand_for_what_is_missing_on_both_sides() -> None:
    writer = record(("a", "long"))
    reader = record(
        ("a", "long"),
        ("b", ["null", "string"], None),
        ("c", {"type": "array", "items": "int"}, [1, 2]),
        (
            "d",
            {"type": "record", "name": "D", "fields": [{"name": "x", "type": "bytes", "default": "\u00ff"}]},
            {},
        ),
        ("e", {"type": "map", "values": ["null", "long"]}, {"k": 5}),
    )
    expected = {"a": 1, "b": None, "c": [1, 2], "d": {"x": b"\xff"}, "e": {"k": 5}}
    read = AvroValues(writer, reader)
    first, second = read.decode(read.encode({"a": 1})), read.decode(read.encode({"a": 1}))
    assert first == second == expected
    assert first["c"] is not second["c"]
    written = AvroValues(reader)
    assert written.decode(written.encode({"a": 1})) == expected


def test_aliases_rename_fields_and_types_and_what_nobody_wants_is_passed_over() -> None:
    writer = record(("old", "long"), ("gone", {"type": "array", "items": ["null", "string"]}), ("z", "int"))
    reader = json.dumps(
        {
            "type": "record",
            "name": "New",
            "aliases": ["R"],
            "fields": [{"name": "z", "type": "double"}, {"name": "new", "aliases": ["old"], "type": "long"}],
        }
    )
    values = AvroValues(writer, reader)
    assert values.decode(values.encode({"old": 5, "gone": ["x", None], "z": 7})) == {"new": 5, "z": 7.0}


def test_a_type_that_contains_itself_is_read_with_another_one() -> None:
    def node(value: Any) -> str:
        return record(("v", value), ("next", ["null", "Node"], None), name="Node")

    values = AvroValues(node("int"), node("double"))
    chain: Any = None
    for number in range(100):
        chain = {"v": number, "next": chain}
    found = values.decode(values.encode(chain))
    assert found == chain
    assert isinstance(found["v"], float)


def test_references_name_types_of_other_schemas() -> None:
    inner = record(("x", "long"), name="a.Inner")
    outer = record(("i", "a.Inner"), name="a.Outer")
    values = AvroValues(outer, references=[inner])
    assert values.decode(values.encode({"i": {"x": 3}})) == {"i": {"x": 3}}
    other = record(("x", "double"), name="a.Inner")
    read = AvroValues(outer, outer, references=[inner], reader_references=[other])
    assert read.decode(values.encode({"i": {"x": 3}})) == {"i": {"x": 3.0}}


UNION = [
    "null",
    {"type": "record", "name": "x.A", "fields": [{"name": "a", "type": "long"}]},
    {
        "type": "record",
        "name": "x.B",
        "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string", "default": ""}],
    },
    "string",
]


def test_a_branch_is_chosen_by_fields_by_a_name_or_by_a_key() -> None:
    values = AvroValues(json.dumps(UNION), tells_records=True)

    def chosen(value: Any) -> Any:
        return values.decode(values.encode(value))

    assert chosen({"a": 1}) == ("x.A", {"a": 1})
    assert chosen({"a": 1, "b": "t"}) == ("x.B", {"a": 1, "b": "t"})
    assert chosen(("x.B", {"a": 1})) == ("x.B", {"a": 1, "b": ""})
    assert chosen(("B", {"a": 1})) == ("x.B", {"a": 1, "b": ""})
    assert chosen({"-type": "x.B", "a": 1}) == ("x.B", {"a": 1, "b": ""})
    assert chosen("text") == "text"
    assert chosen(None) is None


def test_mappings_and_sequences_of_any_kind_are_taken() -> None:
    from collections import OrderedDict
    from types import MappingProxyType

    schema = record(("a", {"type": "array", "items": "long"}), ("m", {"type": "map", "values": "long"}))
    values = AvroValues(schema)
    value = MappingProxyType({"a": range(3), "m": OrderedDict(k=1)})
    assert values.decode(values.encode(value)) == {"a": [0, 1, 2], "m": {"k": 1}}


# What is wrong


INNER = record(("a", {"type": "array", "items": {"type": "map", "values": "int"}}), ("b", ["null", "long"]))


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        (INNER, {"a": [{}, {"k": "x"}]}, "a[1]['k']: 'x' (str) is not an int"),
        (INNER, {"a": 5}, "a: 5 (int) is not an array"),
        (INNER, {"a": "text"}, "a: 'text' (str) is not an array"),
        (INNER, {}, "a: it is missing, and has no default"),
        (INNER, 5, "5 (int) is not a record R"),
        (INNER, {"a": [], "b": "x"}, "b: 'x' (str) is not a long"),
        (INNER, {"a": [{"k": 1 << 31}]}, "a[0]['k']: 2147483648 has more than 32 bits"),
        ('"long"', 1 << 63, f"{1 << 63} has more than 64 bits"),
        ('"long"', True, "True (bool) is not a long"),
        ('"float"', 1e300, "is too large for a float"),
        ('"string"', b"x", "b'x' (bytes) is not a string"),
        ('"string"', "\ud800", "surrogates"),
        ('["int", "string"]', 1.5, "1.5 (float) is none of the union's types int, string"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "B"]}', "C", '"C" is none of A, B'),
        (json.dumps(fixed(2)), b"abc", "3 bytes for a fixed of 2"),
        (
            json.dumps(logical("bytes", "decimal", precision=4, scale=2)),
            Decimal("1.234"),
            "1.234 has more than 2 digits behind the point",
        ),
        (
            json.dumps(logical("bytes", "decimal", precision=4, scale=2)),
            Decimal("123.45"),
            "123.45 has more than 4 digits",
        ),
        (json.dumps(logical("bytes", "decimal", precision=4, scale=2)), Decimal("NaN"), "no decimal number"),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_its_place(schema: str, value: Any, words: str) -> None:
    with pytest.raises((SerializationError, UnicodeEncodeError)) as caught:
        AvroValues(schema).encode(value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "data", "words"),
    [
        ('"long"', b"", "the bytes end too early"),
        ('"long"', b"\xff" * 11, "a number has more than 64 bits"),
        ('"int"', b"\xff\xff\xff\xff\xff\x01", "is too large for its type"),
        ('"long"', b"\x02\x02", "1 bytes are left over"),
        ('"string"', b"\x02\xff", "not UTF-8"),
        ('"string"', b"\x01", "a length of -1 bytes"),
        ('"boolean"', b"\x02", "2 is no boolean"),
        ('["null"]', b"\x04", "2 is none of the 1 types of its union"),
        ('{"type": "enum", "name": "E", "symbols": ["A"]}', b"\x02", "1 is none of the 1 symbols"),
        (INNER, b"\x02\x02\x02k", "a[0]['k']: the bytes end too early"),
        ('{"type": "array", "items": "null"}', b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "items"),
        (
            json.dumps(logical("long", "timestamp-millis")),
            b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f",
            "the year",
        ),
        (json.dumps(logical("int", "time-millis")), b"\x01", "the time is none of a day"),
        (json.dumps(logical("string", "uuid")), b"\x02x", '"x" is no UUID'),
    ],
)
def test_bytes_of_another_schema_are_an_error_with_its_place(schema: str, data: bytes, words: str) -> None:
    with pytest.raises(SerializationError) as caught:
        AvroValues(schema).decode(data)
    assert words in str(caught.value)


@given(st.binary(max_size=60), st.integers(0, 1 << 32))
def test_any_bytes_are_a_value_or_an_error(data: bytes, seed: int) -> None:
    values = AvroValues(json.dumps(Maker(random.Random(seed)).schema()))
    with contextlib.suppress(SerializationError):
        values.decode(data)


NODE = record(("next", ["null", "Node"]), name="Node")


def test_no_value_leads_too_deep() -> None:
    values = AvroValues(NODE)
    with pytest.raises(SerializationError, match="deeper than 300"):
        values.decode(b"\x02" * 100_000)
    loop: dict[str, Any] = {}
    loop["next"] = loop
    with pytest.raises(SerializationError, match="deeper than 300"):
        values.encode(loop)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{", "is not JSON"),
        ('{"type": "fixed", "name": "F"}', "is broken"),
        ('["int", {"type": "int"}]', "has a type twice: int, int"),
        ('["int", ["null", "string"]]', "is in another one"),
        (record(("a", "int", "x")), "is broken: .*Default value"),
        (record(("a", "long", 1 << 63)), "the default 9223372036854775808 of the field 'a' is no value"),
        (json.dumps(logical("bytes", "decimal", precision=39, scale=0)), "not between 1 and 38 digits"),
    ],
)
def test_a_schema_that_is_none_is_refused(schema: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        AvroValues(schema)


def test_what_the_reader_cannot_read_is_told_when_it_is_met() -> None:
    values = AvroValues('["int", "string"]', '"int"')
    assert values.decode(values.encode(5)) == 5
    with pytest.raises(SerializationError, match="it was written as string, which is not read as int"):
        values.decode(values.encode("x"))
    enum = '{"type": "enum", "name": "E", "symbols": ["A", "B"]}'
    fewer = AvroValues(enum, enum.replace(', "B"', ""))
    with pytest.raises(SerializationError, match="the reader's enum E has no symbol 'B'"):
        fewer.decode(fewer.encode("B"))
    missing = AvroValues(record(("a", "int")), record(("b", "int")))
    with pytest.raises(SerializationError, match="b: nobody wrote it, and the reader's record R has"):
        missing.decode(missing.encode({"a": 1}))


# How it is used


def test_a_header_is_passed_over_and_written() -> None:
    values = AvroValues('"long"')
    written = values.encode(7, b"\0\0\0\0\x05")
    assert written == b"\0\0\0\0\x05\x0e"
    assert values.decode(written, 5) == 7
    assert values.decode(memoryview(written)[5:]) == 7
    with pytest.raises(SerializationError):
        values.decode(written, 99)


def test_it_may_be_pickled_and_threads_share_it() -> None:
    values = pickle.loads(pickle.dumps(AvroValues(INNER, tells_records=True)))
    value = {"a": [{"k": 1}], "b": 5}
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: values.decode(values.encode(value)), range(500))) == [value] * 500


@pytest.mark.parametrize("kind", ["double", "float", {"type": "double", "x": 1}])
@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_a_default_that_json_has_no_number_for_is_read_and_written(kind: Any, text: str) -> None:
    """As a registry keeps it."""
    schema = record(("a", "int"), ("n", kind, text))
    expected = struct.pack("<f" if kind == "float" else "<d", float(text))
    data = AvroValues(schema).encode({"a": 1})
    assert data == b"\x02" + expected
    found = AvroValues(record(("a", "int")), schema).decode(b"\x02")
    assert AvroValues(schema).encode(found) == data
    # Within the default of a record.
    outer = record(
        ("r", {"type": "record", "name": "S", "fields": [{"name": "n", "type": kind, "default": text}]}, {})
    )
    assert AvroValues(outer).encode({}) == expected
    # A text stays one.
    texts = record(("n", "string", text))
    assert AvroValues(texts).encode({}) == bytes([2 * len(text)]) + text.encode()
