"""Patterns and what is said of them, as the C library has them."""

from __future__ import annotations

import ctypes
import re
import sys

import pytest

from barnabas.compat.librdkafka.values.posix_patterns import PosixPatternError, as_python_pattern

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the words are those of GNU's C library")

LIBC = ctypes.CDLL(None)
EXTENDED, WITHOUT_PLACES = 1, 8
ROOM = 1024

NAMES = [
    "",
    "a",
    "b",
    "aa",
    "ab",
    "aab",
    "abab",
    "a1",
    "A",
    "-",
    ".",
    "]",
    "[",
    "d",
    "topic-1",
    "topic-x",
    "a.b",
    "w",
    "^",
]
GOOD = [
    *(
        "^a",
        "a|b",
        "^a|b$",
        "^(a|b)+$",
        "^a*$",
        "a**b",
        "^a?b?$",
        "a{2}",
        "^a{1,2}$",
        "^a{2,}",
        "^a{,1}$",
        "()",
        "(|a)b",
    ),
    *(
        "^topic-[[:digit:]]+$",
        "[[:alpha:][:digit:]]",
        "^[^[:alpha:]]$",
        "[]]",
        "[^]]",
        "^[]a]$",
        "[a-]",
        "^[-a]+$",
    ),
    *(
        "[[.a.]]",
        "[[=a=]b]",
        r"^\.$",
        r"\d",
        r"\w",
        r"^\W$",
        r"[\]",
        r"[\d]",
        "a||b",
        "x|",
        "|x",
        ")",
        "a)",
        "a^b",
    ),
    *(
        r"^(a)\1$",
        r"^(a)(b)\1\2$",
        "^.$",
        "a.b",
        r"\<a",
        r"b\>",
        r"\`a",
        r"a\'",
        "^[a-c]+$",
        "(a)*b",
        "x{0}",
        "^[[:punct:]]$",
    ),
]
BAD = [
    *(
        "[",
        "^[",
        "[^",
        "[a",
        "[[:alpha:]",
        "[[:foo:]]",
        "[b-a]",
        r"[a-\d]",
        "[z-a",
        "(",
        "(a",
        "(()",
        "*",
        "+a",
        "?",
    ),
    *(
        "{",
        "{1}",
        "a{",
        "a{1",
        "a{2,1}",
        "a{-1}",
        "a{99999}",
        "^*",
        "$*",
        "(*a)",
        "a|*",
        "(?:x)",
        "(?=x)",
        "\\",
        r"\1",
    ),
    *(r"(a\1)", r"(a)\2", "[[.ab.]]", "a{1,", r"\b*", r"a\<+"),
]


def of_the_c_library(pattern: str, names: list[str]) -> str | list[str]:
    """The names that it finds the pattern in, or what it says of it."""
    compiled = ctypes.create_string_buffer(ROOM)
    code = LIBC.regcomp(compiled, pattern.encode(), EXTENDED | WITHOUT_PLACES)
    if code:
        text = ctypes.create_string_buffer(ROOM)
        LIBC.regerror(code, compiled, text, ROOM)
        return text.value.decode()
    found = [name for name in names if LIBC.regexec(compiled, name.encode(), 0, None, 0) == 0]
    LIBC.regfree(compiled)
    return found


def ours(pattern: str, names: list[str]) -> str | list[str]:
    try:
        compiled = re.compile(as_python_pattern(pattern), re.ASCII | re.DOTALL)
    except PosixPatternError as error:
        return str(error)
    return [name for name in names if compiled.search(name)]


@pytest.mark.parametrize("pattern", GOOD)
def test_a_pattern_matches_what_it_matches_in_c(pattern: str) -> None:
    expected = of_the_c_library(pattern, NAMES)
    assert isinstance(expected, list)
    assert ours(pattern, NAMES) == expected


@pytest.mark.parametrize("pattern", BAD)
def test_a_text_that_is_no_pattern_is_told_in_the_words_of_c(pattern: str) -> None:
    expected = of_the_c_library(pattern, NAMES)
    assert isinstance(expected, str)
    assert ours(pattern, NAMES) == expected


def test_groups_of_several_patterns_have_names_of_their_own() -> None:
    joined = "|".join(as_python_pattern(r"^(a|b)\1$", f"p{number}") for number in range(2))
    assert re.compile(joined).search("bb")
