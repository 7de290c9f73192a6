"""Single values in JSON, with Python's json and the jsonschema package as judges."""

from __future__ import annotations

import datetime
import enum
import json
import math
import pickle
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.json_schema_by_chance import Maker

from barnabas.errors import MissingExtraError, SerializationError
from barnabas.formats import JsonValues, SchemaError

ANY = JsonValues(None)
TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None, exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def values(schema: Any, **others: Any) -> JsonValues:
    return JsonValues(json.dumps(schema), **others)


def with_name(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"name": schema}}


# Text is what Python's json reads and writes


@given(TREES)
def test_any_value_is_written_as_by_json_and_read_again(value: Any) -> None:
    written = ANY.encode(value)
    assert json.loads(written) == value
    assert ANY.decode(written) == value


@given(TREES)
def test_whatever_json_writes_is_read(value: Any) -> None:
    assert ANY.decode(json.dumps(value).encode()) == value
    assert ANY.decode(json.dumps(value, indent=1).encode()) == value


@given(TREES, st.data())
def test_broken_text_is_refused_where_json_refuses_it(value: Any, data: st.DataObject) -> None:
    text = bytearray(json.dumps(value).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 1))] = data.draw(
            st.sampled_from(
                [b"", b"0", b"-", b".", b"e", b'"', b"\\", b"[", b"}", b",", b" ", b"\x00", b"\xff"]
            )
        )
        if not text:
            return
    try:
        expected = json.loads(bytes(text).decode())
    except ValueError:
        with pytest.raises(SerializationError):
            ANY.decode(bytes(text))
        return
    assert ANY.decode(bytes(text)) == expected


@given(st.binary(max_size=200))
def test_bytes_that_are_no_json_are_an_error(data: bytes) -> None:
    try:
        expected = json.loads(data.decode())
    except ValueError:
        with pytest.raises(SerializationError):
            ANY.decode(data)
        return
    assert ANY.decode(data) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"-0", 0),
        (b"1e400", math.inf),
        (b"-Infinity", -math.inf),
        (b"[NaN]", None),
        (b"9223372036854775808", 1 << 63),
        (b"-123456789012345678901234567890", -123456789012345678901234567890),
        (b'{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
        (b'"\\ud83d\\ude00 \\ud83d"', "\U0001f600 \ud83d"),
        (b'"\\ud83d\\ud83d\\ude00"', "\ud83d\U0001f600"),
    ],
)
def test_what_json_leaves_open_is_read_as_by_pythons_json(text: bytes, expected: Any) -> None:
    found = ANY.decode(text)
    assert repr(found) == repr(json.loads(text))
    if expected is not None:
        assert found == expected


@pytest.mark.parametrize(
    "text", [b"", b" ", b"01", b"1.", b".5", b"+1", b"1e", b"-", b"[1,]", b'{"a":1,}', b'{"a"}', b"{1:2}"]
)
def test_what_is_almost_json_is_refused_with_its_place(text: bytes) -> None:
    with pytest.raises(SerializationError, match=r"no JSON: .* at byte"):
        ANY.decode(text)


def test_a_number_whose_digits_would_take_python_hours_is_refused() -> None:
    with pytest.raises(SerializationError, match="a number of 100000 digits is too long"):
        ANY.decode(b"1" * 100_000)
    with pytest.raises(SerializationError, match="a: the number has too many digits"):
        ANY.encode({"a": 10**100_000})


def test_values_are_as_deep_as_validators_can_go() -> None:
    assert ANY.decode(b"[" * 300 + b"]" * 300)
    for text in (b"[" * 301 + b"]" * 301, b"[" * 1_000_000, b'{"a":' * 1_000_000):
        with pytest.raises(SerializationError, match="deeper than 300 objects and arrays"):
            ANY.decode(text)
    endless: list[Any] = []
    endless.append(endless)
    tree = values({"type": "array", "items": {"$ref": "#"}})
    with pytest.raises(SerializationError, match="deeper than 300"):
        tree.encode(endless)
    with pytest.raises(SerializationError, match="deeper than 300"):
        tree.decode(b"[" * 100_000)
    # Without the text, nothing but this is between a validator and the end of its stack.
    for value in (endless, {"a": endless}, (endless,)):
        with pytest.raises(SerializationError, match="deeper than 300"):
            tree.check(value)


def test_a_value_is_checked_without_being_written() -> None:
    found = values(with_name({"type": "integer"}))
    # Who writes it with an encoder of their own may have anything that JSON has not.
    found.check({"name": 1, "when": datetime.date(2024, 1, 1), "raw": b"x"})
    with pytest.raises(SerializationError, match=r'^name: "x" is not of type "integer"'):
        found.check({"name": "x"})
    with pytest.raises(SerializationError, match=r"^name: b'x' \(bytes\) is no JSON value"):
        found.check({"name": b"x"})
    found.check({"name": enum.IntEnum("Level", "LOW").LOW})
    ANY.check(object())


def test_a_header_stays_in_front_and_is_passed_over() -> None:
    data = ANY.encode({"a": [1]}, b"\x00\x00\x00\x00\x07")
    assert data == b'\x00\x00\x00\x00\x07{"a":[1]}'
    assert ANY.decode(data, 5) == {"a": [1]}
    assert ANY.decode(memoryview(data)[5:]) == {"a": [1]}
    assert ANY.decode(bytearray(data), 5) == {"a": [1]}


# What is no JSON


@pytest.mark.parametrize("value", [b"x", Decimal(1), datetime.date(2024, 1, 1), {1}, object(), 1j])
def test_what_is_no_json_is_refused_with_its_path(value: object) -> None:
    with pytest.raises(SerializationError, match=r"^a\.b\[1\]: .* is no JSON value: give a str"):
        ANY.encode({"a": {"b": [1, value]}})


def test_names_that_are_no_strings_are_refused() -> None:
    with pytest.raises(SerializationError, match=r"^a: 1 \(int\) is no name"):
        ANY.encode({"a": {1: 2}})


def test_what_python_takes_for_strings_and_numbers_is_written_as_such() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Level(enum.IntEnum):
        LOW = 1

    class Text(str):
        __slots__ = ()

    schema = with_name({"type": "array", "items": {"type": ["string", "integer", "number"]}})
    value = {"name": (Colour.RED, Level.LOW, Text("x"), True + 1)}
    assert values(schema).encode(value) == b'{"name":["red",1,"x",2]}'
    with pytest.raises(SerializationError, match=r'^name: "x" is not of type "integer"'):
        values(with_name({"type": "integer"})).encode({"name": Text("x")})


# Validation


def test_a_value_that_is_not_the_schemas_is_refused_both_ways() -> None:
    found = values({"type": "array", "items": with_name({"type": "integer"})})
    value = [{"name": 1}, {"name": "x"}]
    for refused in (lambda: found.encode(value), lambda: found.decode(json.dumps(value).encode())):
        with pytest.raises(SerializationError, match=r'^\[1\]\.name: "x" is not of type "integer"'):
            refused()
    lax = JsonValues('{"type": "nothing that there is"}', validates=False)
    assert lax.decode(lax.encode(value)) == value


def test_a_refusal_of_a_large_value_is_short() -> None:
    with pytest.raises(SerializationError) as caught:
        values({"type": "string"}).encode({"a": "x" * 1_000_000})
    assert len(str(caught.value)) < 1000


@given(st.integers(0, 1 << 48))
def test_a_value_is_taken_where_jsonschema_takes_it(seed: int) -> None:
    maker = Maker(random.Random(seed))
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **with_name(maker.schema())}
    found, judge = values(schema), jsonschema.Draft7Validator(schema)
    for _ in range(5):
        value = maker.value(schema)
        if judge.is_valid(value):
            assert found.decode(found.encode(value)) == value
        else:
            with pytest.raises(SerializationError):
                found.encode(value)
            with pytest.raises(SerializationError):
                found.decode(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("draft", "keywords", "right", "wrong"),
    [
        ("http://json-schema.org/draft-04/schema#", {"maximum": 3, "exclusiveMaximum": True}, 2, 3),
        ("http://json-schema.org/draft-06/schema#", {"exclusiveMaximum": 3, "const": 1}, 1, 2),
        ("http://json-schema.org/draft-07/schema#", {"if": {"type": "string"}, "then": False}, 1, "x"),
        ("https://json-schema.org/draft/2019-09/schema", {"dependentRequired": {"a": ["b"]}}, {}, {"a": 1}),
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [{"type": "null"}]}, [None], [1]),
        (None, {"prefixItems": [{"type": "null"}]}, [None], [1]),
        ("https://example.com/my-own", {"prefixItems": [{"type": "null"}]}, [None], [1]),
    ],
)
def test_each_draft_has_its_own_rules(draft: str | None, keywords: Any, right: Any, wrong: Any) -> None:
    found = values({**({"$schema": draft} if draft else {}), **keywords})
    assert found.decode(found.encode(right)) == right
    with pytest.raises(SerializationError):
        found.encode(wrong)


def test_a_format_is_a_remark() -> None:
    draft = "http://json-schema.org/draft-07/schema#"
    assert values({"$schema": draft, "format": "date"}).encode("no date")


def test_a_pattern_that_would_take_ages_is_given_up() -> None:
    with pytest.raises(SerializationError):
        values({"pattern": r"^(a+)+\1$"}).encode("a" * 60 + "b")


@pytest.mark.parametrize("pattern", ["(?i)^abc$", r"\Aabc\Z", "^(?P<a>a)bc$", "^ab++c$"])
def test_a_pattern_of_python_alone_is_taken_as_such(pattern: str) -> None:
    found = values(
        with_name({"$ref": "text.json"}), references={"text.json": json.dumps({"pattern": pattern})}
    )
    assert found.encode({"name": "abc"})
    assert found.encode({"name": 5})
    with pytest.raises(SerializationError, match=r'^name: "xabc" does not match'):
        found.decode(b'{"name": "xabc"}')
    inline = values(with_name({"type": "string", "pattern": pattern, "enum": ["abc", {"pattern": pattern}]}))
    assert inline.encode({"name": "abc"})


# References


@pytest.mark.parametrize("own_id", [None, "http://example.com/schemas/order.json", "order.json"])
@pytest.mark.parametrize("reference", ["item.json", "./item.json", "item.json#", "item.json#/definitions/Id"])
def test_references_are_found_by_their_names(own_id: str | None, reference: str) -> None:
    item = {
        "type": ["integer", "array"],
        "items": {"$ref": "colour.json"},
        "definitions": {"Id": {"type": "integer"}},
    }
    order = {**({"$id": own_id} if own_id else {}), **with_name({"$ref": reference})}
    found = values(order, references={"item.json": json.dumps(item), "colour.json": '{"enum": ["red"]}'})
    assert found.encode({"name": 1})
    with pytest.raises(SerializationError, match=r"^name: "):
        found.encode({"name": "x"})
    if "definitions" not in reference:
        assert found.encode({"name": ["red"]})
        with pytest.raises(SerializationError, match=r"^name\[0\]: "):
            found.encode({"name": ["blue"]})


def test_references_may_be_urls_and_have_ids_of_their_own() -> None:
    first = {"$id": "http://elsewhere.example/a.json", "$ref": "second.json"}
    references = {"http://example.com/first.json": json.dumps(first), "second.json": '{"type": "integer"}'}
    found = values({"$ref": "http://example.com/first.json"}, references=references)
    assert found.encode(1) == b"1"
    with pytest.raises(SerializationError):
        found.encode("x")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/x.json"},
        {"$ref": "missing.json"},
        {"$ref": "#/definitions/missing"},
        {"$id": "http://example.com/a.json", "$ref": "missing.json"},
    ],
)
def test_no_network_is_asked_for_what_is_no_reference(schema: Any) -> None:
    with pytest.raises(SchemaError, match=r"the JSON Schema is broken: .*(missing|127\.0\.0\.1)"):
        values(schema)


def test_a_schema_may_refer_to_itself() -> None:
    tree = values(
        {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
            "additionalProperties": False,
        }
    )
    assert tree.encode({"children": [{}, {"children": []}]})
    with pytest.raises(SerializationError, match=r"^children\[0\]"):
        tree.encode({"children": [{"childs": []}]})
    assert values({"$ref": "#"}).encode(1) == b"1"


# Schemas


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is an object, true or false"),
        ("1", "is an object, true or false"),
        ('{"type": "text"}', "broken at #/type"),
        ('{"properties": {"a": {"minLength": -1}}}', "broken at #/properties/a/minLength"),
        ('{"pattern": "("}', "broken at #/pattern"),
        ('{"maximum": NaN}', "NaN is no number"),
        ('{"not":' * 100_000, "nested too deeply"),
        ('{"not":' * 400 + "{}" + "}" * 400, "Recursion limit"),
        ('{"title": "\\ud800"}', "surrogates not allowed"),
    ],
)
def test_what_is_no_schema_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        JsonValues(text)


def test_true_and_false_are_schemas() -> None:
    assert JsonValues("true").encode(1) == b"1"
    with pytest.raises(SerializationError):
        JsonValues("false").encode(1)


def test_values_are_for_all_threads_and_may_be_pickled() -> None:
    found = values({"$ref": "item.json"}, references={"item.json": '{"type": "integer"}'})
    again = pickle.loads(pickle.dumps(found))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda n: again.decode(again.encode(n)), range(2000))) == list(range(2000))
    with pytest.raises(SerializationError):
        again.encode("x")


def test_without_the_extra_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    assert JsonValues(None).encode(1) == b"1"
    assert JsonValues("{}", validates=False).encode(1) == b"1"
    with pytest.raises(MissingExtraError, match=r"barnabas\[json-schema\]"):
        JsonValues("{}")
