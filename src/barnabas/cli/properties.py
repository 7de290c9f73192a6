"""Java's properties files: lines of `name=value`, as Kafka's own tools take them. Knows no setting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from barnabas.errors import InvalidSettingError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
# A name ends at the first sign or blank that no backslash stands before.
_PAIR = re.compile(r"(?P<name>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)


def read_properties(path: Path) -> dict[str, str]:
    """All names and values; of a name that comes twice, the last. Raises: InvalidSettingError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettingError(f"{str(path)!r} cannot be read as a properties file: {error}") from None
    pairs = (_PAIR.fullmatch(line) for line in _logical_lines(text))
    return {_unescaped(pair["name"]): _unescaped(pair["value"]) for pair in pairs if pair is not None}


def property_line(name: str, value: str) -> str:
    """As `read_properties` and Java read it back."""
    return f"{_escaped(name, '=: ')}={_escaped(value, '')}"


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments; one that ends in a backslash goes on in the next."""
    begun = ""
    for natural in text.splitlines():
        line = natural.lstrip(" \t\f")
        if not begun and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            begun += line[:-1]
            continue
        yield begun + line
        begun = ""
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    def meaning(match: re.Match[str]) -> str:
        code, sign = match.groups()
        return chr(int(code, 16)) if code else _ESCAPES.get(sign, sign)

    return _ESCAPE.sub(meaning, text)


def _escaped(text: str, signs: str) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    for sign in signs:
        text = text.replace(sign, "\\" + sign)
    # A blank at the beginning would be taken for one around the sign; # and ! for a comment.
    return "\\" + text if text[:1] in (" ", "#", "!") and not text.startswith("\\") else text
