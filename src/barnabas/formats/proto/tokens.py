"""The words, numbers, texts and signs of a .proto text. Knows nothing of what they mean together."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from barnabas.formats.errors import SchemaError

TOKEN = re.compile(
    r"""
    (?P<gap>[ \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/|\ufeff)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?)
    |(?P<text>"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*')
    |(?P<sign>[{}\[\]()<>=;:,.+-]|/(?!\*))
    """,
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(
    r"\\(?:(?P<plain>[abfnrtv\\'\"?])|[xX](?P<hex>[0-9a-fA-F]{1,2})|(?P<octal>[0-7]{1,3})"
    r"|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8}))|(?P<wrong>\\)"
)
PLAIN_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
LONGEST_NUMBER = 400
LONGEST_PROBLEM = 400


class Token(NamedTuple):
    kind: str
    """word, number, text (its quotation marks removed, its escapes replaced), sign or end."""
    text: str
    position: int


def fail(text: str, position: int, problem: str) -> NoReturn:
    """Raises: SchemaError, with line and column, both from 1."""
    problem = f"{problem:.{LONGEST_PROBLEM}}"
    if position < 0:
        raise SchemaError(f"the Protobuf schema is broken: {problem}")
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    raise SchemaError(f"the Protobuf schema is broken at line {line}, column {column}: {problem}")


def tokens_of(text: str) -> list[Token]:
    """Raises: SchemaError."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        fail(text, error.start, "this is half of a pair of surrogates, which is no character")
    found: list[Token] = []
    position, end = 0, len(text)
    while position < end:
        match = TOKEN.match(text, position)
        if match is None:
            _explain(text, position)
        kind, start, position = match.lastgroup or "", position, match.end()
        if kind == "gap":
            continue
        word = match.group()
        if kind == "text":
            try:
                word = unescaped(word[1:-1])
            except ValueError as error:
                fail(text, start + 1 + error.args[0], error.args[1])
        elif kind == "number":
            if text[position : position + 1].isalnum() or text[position : position + 1] == "_":
                fail(text, position, "a number and a name need a space between them")
            if len(word) > LONGEST_NUMBER:
                fail(text, start, f"a number has {len(word)} digits")
        found.append(Token(kind, word, start))
    found.append(Token("end", "the end of the text", end))
    return found


def _explain(text: str, position: int) -> NoReturn:
    if text.startswith("/*", position):
        fail(text, position, "the comment has no end")
    if text[position] in "\"'":
        fail(text, position, "the text has no end on its line")
    fail(text, position, f"unexpected {text[position]!r}")


def unescaped(inner: str) -> str:
    """What is between quotation marks. Bytes given by number are put together, and are surrogates where they
    are no UTF-8. Raises: ValueError, with the place and the problem."""
    if "\\" not in inner:
        return inner
    parts: list[bytes] = []
    position = 0
    for match in ESCAPE.finditer(inner):
        parts += [inner[position : match.start()].encode("utf-8", "surrogateescape"), _replaced(match)]
        position = match.end()
    parts.append(inner[position:].encode("utf-8", "surrogateescape"))
    return b"".join(parts).decode("utf-8", "surrogateescape")


def _replaced(match: re.Match[str]) -> bytes:
    kind, what = match.lastgroup, match.group(match.lastgroup or 0)
    if kind == "plain":
        return PLAIN_ESCAPES[what].encode()
    if kind in ("hex", "octal"):
        return bytes([int(what, 16 if kind == "hex" else 8) & 0xFF])
    if kind == "wrong":
        raise ValueError(match.start(), "a backslash is followed by what is no escape")
    number = int(what, 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        raise ValueError(match.start(), f"there is no character U+{number:04X}")
    return chr(number).encode()
