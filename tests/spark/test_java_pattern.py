"""`subscribePattern` means what it means in Java. The matches are those of `java.util.regex` in Java 17."""

from __future__ import annotations

import warnings

import pytest

from barnabas.spark.errors import InvalidOptionError
from barnabas.spark.java_pattern import compile_java_pattern

TOPICS = [
    "flights",
    "flights.2013",
    "flights-raw",
    "weather",
    "Weather_2",
    "a.b",
    "aXb",
    "orders.eu",
    "orders-us",
    "42",
]


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("flights", ["flights"]),
        ("flights.*", ["flights", "flights.2013", "flights-raw"]),
        ("fli", []),
        (r"a\.b", ["a.b"]),
        ("a.b", ["a.b", "aXb"]),
        (r"\Qa.b\E", ["a.b"]),
        (r"\Qa.b", ["a.b"]),
        (r"orders[.-](eu|us)", ["orders.eu", "orders-us"]),
        (r"orders[\Q.-\E]\w+", ["orders.eu", "orders-us"]),
        (r"(?<base>orders|flights)\W.*", ["flights.2013", "flights-raw", "orders.eu", "orders-us"]),
        (r"(?i)WEATHER.*", ["weather", "Weather_2"]),
        (r"(?i:w)eather", ["weather"]),
        (r"\p{Upper}.*", ["Weather_2"]),
        (r"\p{Alpha}+", ["flights", "weather", "aXb"]),
        (r"\p{L}+", ["flights", "weather", "aXb"]),
        (r"[\p{Lower}_-]+", ["flights", "flights-raw", "weather", "orders-us"]),
        (r"\P{Alpha}+", ["42"]),
        (r"\d++", ["42"]),
        (r"(?!flights).*\d", ["Weather_2", "42"]),
        (r".*(?<=raw)", ["flights-raw"]),
        (r"^weather$", ["weather"]),
        (r"weather\z", ["weather"]),
        ("flights|weather", ["flights", "weather"]),
        ("[!--a-z]*", ["flights", "flights-raw", "weather", "orders-us"]),
        ("([ao])[.X]b|.*_\\d", ["Weather_2", "a.b", "aXb"]),
    ],
)
def test_a_pattern_matches_the_whole_names_that_java_matches(pattern: str, matching: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = compile_java_pattern(pattern, "subscribePattern")
    assert [topic for topic in TOPICS if compiled.fullmatch(topic)] == matching


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("[a-z&&[^b]]", "&&"),
        ("[a[bc]]", "within another"),
        ("a(?i)b", "beginning"),
        ("(?x)a", "flags"),
        (r"\p{IsGreek}", r"\\p\{IsGreek\}"),
        (r"\X", r"\\X"),
        ("a\\", "backslash"),
        ("[a", "not closed"),
        ("[]", "empty"),
        ("(a", "."),
        ("*", "."),
    ],
)
def test_a_pattern_that_cannot_be_translated_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"subscribePattern: .*{reason}"):
        compile_java_pattern(pattern, "subscribePattern")
