"""The JSON of Avro schemas, as Avro's own library reads and writes it, which is Java's Jackson.

It reads comments, and writes numbers and control characters in a way of its own.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, cast

from barnabas.registry.errors import InvalidSchemaError

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
# Each alternative ends somewhere, so that nothing is looked at twice.
_TEXT_OR_COMMENT = re.compile(r'"(?:[^"\\]+|\\.)*"?|//[^\r\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_ESCAPED = re.compile(r"\\u00[01][0-9a-f]|\\.")
_PLAIN_FROM, _PLAIN_TO = Decimal("0.001"), Decimal(10_000_000)
# What java.lang.Double reads, which is more than JSON has.
_DOUBLE = re.compile(
    r"[\x00-\x20]*([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?[\x00-\x20]*"
)


def loaded(text: str) -> Any:
    """A schema: a primitive type may be written without its quotation marks. Raises: InvalidSchemaError."""
    if text.strip() in PRIMITIVES:
        return text.strip()
    try:
        return json.loads(_without_comments(text), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidSchemaError(f"the Avro schema is not JSON: {error}") from None


def _without_comments(text: str) -> str:
    return _TEXT_OR_COMMENT.sub(_kept, text) if "//" in text or "/*" in text else text


def _kept(found: re.Match[str]) -> str:
    part = found[0]
    if part.startswith('"'):
        return part
    if part.startswith("/*") and (len(part) < len("/**/") or not part.endswith("*/")):
        raise ValueError("a comment has no end")
    return " "


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def double_of(text: str) -> float | None:
    """The number that a text is, which may stand for one as the default of a float or a double. None: it is
    none."""
    found = _DOUBLE.fullmatch(text)
    return None if found is None else float(found[1])


def written(value: Any, *, is_sorted: bool = False) -> str:
    """Without spaces. What is no number in JSON is a text."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        names = sorted(fields) if is_sorted else list(fields)
        parts = [f"{written(name)}:{written(fields[name], is_sorted=is_sorted)}" for name in names]
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        items = cast(list[Any], value)
        return "[" + ",".join(written(item, is_sorted=is_sorted) for item in items) + "]"
    if isinstance(value, float):
        return _number(value)
    return _ESCAPED.sub(_in_capitals, json.dumps(value, ensure_ascii=False))


def _in_capitals(found: re.Match[str]) -> str:
    return found[0] if len(found[0]) == 2 else f"\\u{found[0][2:].upper()}"


def _number(value: float) -> str:
    """As java.lang.Double is written."""
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f'"{name}"'
    exact = Decimal(repr(value))
    if not value or _PLAIN_FROM <= abs(exact) < _PLAIN_TO:
        return repr(value) if "e" not in repr(value) else f"{exact:f}"
    sign, digits, _ = exact.as_tuple()
    listed = "".join(map(str, digits)).rstrip("0")
    return f"{'-' if sign else ''}{listed[0]}.{listed[1:] or '0'}E{exact.adjusted()}"
