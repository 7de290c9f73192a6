"""A record as one line of JSON, in the form in which `barnabas consume --json` prints them."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, cast

from barnabas.errors import SerializationError
from barnabas.values import frozen

_NAMES = ("key", "value", "headers", "partition", "timestamp")
# What consume prints as well, and what is not the producer's to choose.
_PASSED_OVER = ("topic", "offset")


@frozen
class JsonRecord:
    """What a line says. `key` and `value` are bytes, or the JSON of what a format is to write."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None
    timestamp: int | None


def json_record(line: bytes, number: int, *, is_key_json: bool, is_value_json: bool) -> JsonRecord:
    """`is_key_json`, `is_value_json`: they are written in a format, and stay JSON until then. Else a text is
    itself, {"base64": ...} bytes, and all else its JSON. Raises: SerializationError (names the line)."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise SerializationError(f"line {number} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise SerializationError(f'line {number} is not an object of JSON with a value, as {{"value": "a"}}')
    fields = cast("dict[str, Any]", found)
    for name in fields:
        if name not in _NAMES and name not in _PASSED_OVER:
            raise SerializationError(f"line {number} has {name!r}; a record has {', '.join(_NAMES)}")
    try:
        return JsonRecord(
            _bytes_of(fields.get("key"), is_key_json),
            _bytes_of(fields.get("value"), is_value_json),
            _headers(fields.get("headers") or []),
            _whole_number("partition", fields.get("partition")),
            _whole_number("timestamp", fields.get("timestamp")),
        )
    except ValueError as error:
        raise SerializationError(f"line {number}: {error}") from None


def _bytes_of(value: Any, is_json: bool) -> bytes | None:
    if value is None:
        return None
    if is_json:
        return json.dumps(value, ensure_ascii=False).encode()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        text = fields.get("base64")
        if len(fields) == 1 and isinstance(text, str):
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as error:
                raise ValueError(f"{text!r} is not base64: {error}") from None
    return json.dumps(value, ensure_ascii=False).encode()


def _headers(given: Any) -> list[tuple[str, bytes | None]]:
    pairs: Any = list(cast("dict[str, Any]", given).items()) if isinstance(given, dict) else given
    found: list[tuple[str, bytes | None]] = []
    if not isinstance(pairs, list):
        raise ValueError("headers are an object, or a list of [name, value]")
    for pair in cast("list[Any]", pairs):
        match pair:
            case [str(name), value] | (str(name), value):
                found.append((name, _bytes_of(value, is_json=False)))
            case _:
                raise ValueError(f"a header is [name, value], not {json.dumps(pair)}")
    return found


def _whole_number(name: str, value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{name} is a number from 0 on, not {json.dumps(value)}")
    return value
