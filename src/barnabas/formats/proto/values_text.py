"""Values of options as text, in the form of Confluent's registry."""

from __future__ import annotations

from barnabas.formats.proto.elements import Number, Value, Word

ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", "'": "\\'", '"': '\\"',
}  # fmt: skip


def value_text(value: Value) -> str:
    """May have several lines."""
    if isinstance(value, Word | Number):
        return value.text
    if isinstance(value, str):
        return f'"{_escaped(value)}"'
    if isinstance(value, dict):
        return _lines("{", [f"{key}: {value_text(each)}" for key, each in value.items()], "}")
    return _lines("[", [value_text(each) for each in value], "]")


def _lines(opening: str, parts: list[str], closing: str) -> str:
    lines = [f"  {line}" for line in ",\n".join(parts).split("\n") if parts]
    return "\n".join([opening, *lines, closing])


def _escaped(text: str) -> str:
    return "".join(ESCAPES.get(each) or _by_number(each) for each in text)


def _by_number(character: str) -> str:
    """What no .proto text may hold as it is: bytes that are no UTF-8, and what cannot be seen."""
    number = ord(character)
    if 0xDC80 <= number < 0xDD00:
        return f"\\{number - 0xDC00:03o}"
    return f"\\{number:03o}" if number < 32 or number == 127 else character
