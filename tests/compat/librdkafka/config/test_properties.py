from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.librdkafka.real_library import complaint_about, documented_properties

from barnabas.compat.librdkafka.config.properties import PROPERTIES, Property, find
from barnabas.compat.librdkafka.config.property_values import PropertyError, read

VALUES = [
    None,
    *("", " ", "x", "X", "5", "-1", "0", "1", "2", "true", "FALSE", "t", "f", "yes", " 5", "5 ", "+5", "- 5"),
    *("0x10", "010", "08", "0x", "1e3", "5.5", ".5", "nan", "inf", "-0", "1e400", "5x", "all", "none"),
    *("99999999999", "-99999999999", "99999999999999999999", "2147483647", "2147483648", "a,b", ",", "a,,b"),
]


def our_complaint_about(name: str, value: str | None) -> str | None:
    try:
        read(name, value)
    except PropertyError as error:
        return str(error)
    return None


def shown(row: Property) -> tuple[str, str]:
    """Range and default of a property, as librdkafka prints them."""
    if row.kind == "truth":
        return "true, false", str(row.default).lower()
    if row.kind in ("number", "decimal"):
        return f"{row.low} .. {row.high}", str(row.default)
    if row.kind == "choice":
        return ", ".join(row.choices), str(row.default)
    if row.kind == "flags":
        default = ", ".join(str(row.default).split(",")) if row.default else ""
        return "" if default else ", ".join(row.choices), default
    return "", str(row.default or "")


def test_the_table_is_librdkafkas() -> None:
    theirs: dict[str, tuple[str, str, str]] = {}
    for name, scope, values, default in documented_properties():
        # Of a name that clients and topics have, the client's property is the one that is set.
        theirs.setdefault(name, (scope, values, default))
    ours = {name: find(name) for name, row in PROPERTIES.items() if not row.is_hidden}
    assert {name: (row.scope, *shown(row)) for name, row in ours.items() if row is not None} == theirs


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_value_is_taken_or_refused_as_by_librdkafka(name: str) -> None:
    row = find(name)
    assert row is not None
    words = [*row.choices, *(choice.upper() for choice in row.choices), f" {row.default}", f"{row.default} "]
    bounds = [str(bound + step) for bound in (row.low, row.high) for step in (-1, 0, 1)]
    lists = ["+all,-all", ",".join(row.choices), ", ".join(row.choices), "-" + ",-".join(row.choices)]
    for value in [*VALUES, *words, *bounds, *lists]:
        if name == "builtin.features" and value is not None and "sasl_gssapi" in value.lower():
            continue  # That build of librdkafka has no GSSAPI, Barnabas has.
        if name == "topic.blacklist" and value is not None and "+" in value:
            continue  # Python words what is wrong with a pattern in its own way.
        assert our_complaint_about(name, value) == complaint_about(name, value), value


@given(
    st.sampled_from(["session.timeout.ms", "linger.ms", "acks"]), st.text("0123456789abxeE+-. \t", max_size=8)
)
def test_numbers_are_read_as_c_reads_them(name: str, value: str) -> None:
    assert our_complaint_about(name, value) == complaint_about(name, value)


@pytest.mark.parametrize("name", ["foo", "Client.Id", " client.id", "", "client_id", "ssl.truststore.type"])
def test_a_property_that_does_not_exist_is_named(name: str) -> None:
    assert our_complaint_about(name, "x") == complaint_about(name, "x")


def test_an_alias_is_the_property_that_it_stands_for() -> None:
    row, value = read("linger.ms", "7")
    assert (row.name, value) == ("queue.buffering.max.ms", 7.0)


def test_flags_are_set_and_taken_away_in_order() -> None:
    assert read("debug", "topic,conf,-topic")[1] == ("conf",)
    assert "topic" not in str(read("debug", "all,-topic")[1])
