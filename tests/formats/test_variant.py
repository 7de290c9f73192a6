"""Variants, beside those of the original."""

from __future__ import annotations

import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry.confluent.type import variant_utils as original
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.formats import variant
from barnabas.formats.variant import Variant, VariantBuilder, VariantError, parse_json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**38) + 1, 10**38 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=80)
)
VALUES = st.recursive(
    SCALARS, lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(max_size=3), each, max_size=4)
)


@given(VALUES)
@example({str(number): number for number in range(300)})
@example(list(range(300)))
@example({"a" * 70000: [0.5], "b": "c" * 70000})
def test_json_becomes_the_original_s_bytes_and_json_again(value: Any) -> None:
    text = json.dumps(value)
    expected, found = original.parse_json(text), parse_json(text)
    assert (found.value, found.metadata) == (expected.value, expected.metadata)
    assert found.to_json() == expected.to_json()


CALLS = [
    ("append_null",),
    ("append_boolean", True),
    ("append_byte", -5),
    ("append_short", 300),
    ("append_int", 70000),
    ("append_long", -(1 << 40)),
    *(("append_float", number) for number in (1.5, 0.1, 3.0e20, -0.0, 3.4028234663852886e38, 1e-45)),
    *(("append_float", number) for number in (float("nan"), float("inf"))),
    *(("append_double", number) for number in (0.1, 1e300, -0.0, 5.0, 1e16, float("-inf"))),
    ("append_decimal", Decimal("-1.25")),
    ("append_decimal", Decimal("123456789012.5")),
    ("append_decimal", 10**30, 5),
    ("append_decimal", b"\xff\x00", 1),
    ("append_decimal", Decimal("1E+3")),
    ("append_decimal", Decimal("NaN")),
    ("append_decimal", 10**38, 0),
    ("append_string", "x" * 64),
    ("append_binary", b"\x00\xff"),
    ("append_uuid", uuid.UUID(int=5)),
    ("append_uuid", b"short"),
    ("append_date", 20000),
    ("append_date", 2932897),
    ("append_time", 1_500_000),
    ("append_time", 86_400_000_000),
    ("append_timestamp_tz", 1_700_000_000_123_456),
    ("append_timestamp_tz", -1),
    ("append_timestamp_ntz", 1_700_000_000_000_000),
    ("append_timestamp_nanos_tz", 1_700_000_000_123_456_789),
    ("append_timestamp_nanos_ntz", -1),
    ("append_byte", 200),
    ("append_int", 1 << 40),
]


def outcome(call: Any) -> Any:
    try:
        return call()
    except (VariantError, original.VariantError):
        return "refused"


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_each_kind_of_value_is_written_and_read_as_by_the_original(call: tuple[Any, ...]) -> None:
    def built(builder: Any) -> Any:
        getattr(builder, call[0])(*call[1:])
        return builder.build()

    expected, found = (
        outcome(lambda: built(original.VariantBuilder())),
        outcome(lambda: built(VariantBuilder())),
    )
    if expected == "refused":
        assert found == "refused"
        return
    assert (found.value, found.metadata) == (expected.value, expected.metadata)
    assert found.get_type().value == expected.get_type().value
    assert outcome(found.to_json) == outcome(expected.to_json)


GETTERS = [name for name in dir(original.Variant) if name.startswith("get_") and name.count("_") == 1] + [
    "num_object_fields",
    "num_array_elements",
]


@given(st.binary(max_size=30), st.sampled_from([b"\x01\x00\x00", b"\x01\x01\x00\x01a", b"\x41\x01\x00\x00"]))
@example(b"\x02\xff\x00", b"\x01\x00\x00")
def test_any_bytes_are_a_variant_or_an_error(value: bytes, metadata: bytes) -> None:
    found = Variant(value, metadata)
    for name in (*GETTERS, "to_json"):
        outcome(getattr(found, name))
    outcome(lambda: found.get_field_by_key("a"))
    outcome(lambda: found.get_element_at_index(0))


@given(st.binary(min_size=1, max_size=12))
def test_what_the_original_reads_is_read_as_it_does(value: bytes) -> None:
    metadata = b"\x01\x01\x00\x01a"
    theirs, own = original.Variant(value, metadata), Variant(value, metadata)
    for name in GETTERS:
        try:
            expected = getattr(theirs, name)()
        except (ValueError, IndexError):
            continue
        found = outcome(getattr(own, name))
        if name == "get_type":
            expected, found = expected.value, found.value
        # What reaches beyond the end is cut short by the original here and there.
        assert found in (expected, "refused") or found != found


def test_a_few_bytes_that_are_much_json_are_refused() -> None:
    value = b"\x0c\x01"
    for _ in range(8):
        count = 60
        value = bytes([1 << 2 | 3, count]) + bytes(2 * (count + 1)) + value
    with pytest.raises(VariantError, match="its values overlap"):
        Variant(value, b"\x01\x00\x00").to_json()


def test_bytes_that_are_deep_are_refused() -> None:
    with pytest.raises(VariantError, match="deeper than"):
        Variant(b"\x03\x01\x00\x00" * 2000 + b"\x00", b"\x01\x00\x00").to_json()
    with pytest.raises(VariantError, match="nested too deeply"):
        parse_json("[" * 100_000 + "]" * 100_000)


def test_values_within_are_found_by_key_and_place() -> None:
    found = parse_json(json.dumps({"b": [1, {"c": "x"}], "a": None, "many": {str(i): i for i in range(50)}}))
    within = found.get_field_by_key("b")
    assert within is not None
    last = within.get_element_at_index(1)
    assert last is not None
    assert last.to_json() == '{"c":"x"}'
    assert within.get_element_at_index(2) is None
    assert found.get_field_by_key("z") is None
    assert found.get_field_at_index(0)[0] == "a"
    many = found.get_field_by_key("many")
    assert many is not None
    assert [many.get_field_by_key(str(number)) is not None for number in (0, 25, 49, 50)] == [True] * 3 + [
        False
    ]
    assert last == Variant(last.standalone_value_bytes(), last.metadata)
    assert hash(last) == hash(Variant(last.standalone_value_bytes(), last.metadata))


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        (["build"], "empty"),
        (["start_array", "build"], "open container"),
        (["append_null", "append_null"], "multiple root"),
        (["start_object", "append_null"], "must follow append_key"),
        (["start_object", ("append_key", "a"), "end_object"], "dangling"),
        (["start_object", ("append_key", "a"), ("append_key", "b")], "called twice"),
        (["start_array", "end_object"], "without a matching start_object"),
        (["end_array"], "without a matching start_array"),
        ([("append_key", "a")], "outside of an object"),
    ],
)
def test_calls_out_of_order_are_refused(calls: list[Any], words: str) -> None:
    def run(builder: Any) -> None:
        for call in calls:
            name, *arguments = (call,) if isinstance(call, str) else call
            getattr(builder, name)(*arguments)

    with pytest.raises(original.VariantError, match=words):
        run(original.VariantBuilder())
    with pytest.raises(VariantError, match=words):
        run(VariantBuilder())


def test_a_builder_has_a_limit() -> None:
    with pytest.raises(VariantError, match="size limit exceeded"):
        VariantBuilder(10).append_string("x" * 20)
    assert variant.to_json_string(variant.from_bytes(b"\x00", b"\x01\x00\x00")) == "null"
    with pytest.raises(VariantError, match="unsupported variant metadata version: 2"):
        Variant(b"\x00", b"\x02")
