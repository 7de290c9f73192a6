"""What is in a record, as values of JSON: for conditions, for single fields, and for files.

Knows nothing of output.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, cast

from barnabas import Record
from barnabas.records.asked import UsageError
from barnabas.records.texts import JsonText, ReadRecord

NAMES = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
# `value.user.name`, `value."a.b"`, `value.lines.0`
_PARTS = re.compile(r'"([^"]+)"|([^."]+)')
_WHOLE = re.compile(r'("[^"]+"|[^."]+)(\.("[^"]+"|[^."]+))*')


def part_of(data: bytes | None) -> Any:
    """A key or a value: of JSON what it says, else its text; bytes that are none as base64."""
    if data is None:
        return None
    if isinstance(data, JsonText) or data[:1] in (b"{", b"["):
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            pass
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def fields_of(record: Record | ReadRecord) -> dict[str, Any]:
    """By the names of `NAMES`. Of several headers of one name, the last counts."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": part_of(record.key),
        "value": part_of(record.value),
        "headers": {
            name: None if value is None else value.decode(errors="replace") for name, value in record.headers
        },
    }


class FieldPath:
    """`key`, `value.user.name`, `headers.source`: where something is in a record. Raises: UsageError."""

    def __init__(self, text: str, option: str) -> None:
        self.text = text
        parts = [quoted or plain for quoted, plain in _PARTS.findall(text)]
        if _WHOLE.fullmatch(text) is None or parts[0] not in NAMES:
            raise UsageError(
                f"{option} {text!r} is no field: it begins with one of {', '.join(NAMES)}, and fields within "
                "follow after dots, as value.user.name"
            )
        self.parts = parts

    def of(self, fields: dict[str, Any]) -> Any:
        """None where there is nothing."""
        found: Any = fields
        for part in self.parts:
            if isinstance(found, dict):
                found = cast("dict[str, Any]", found).get(part)
            elif isinstance(found, list) and part.isdecimal() and int(part) < len(cast("list[Any]", found)):
                found = cast("list[Any]", found)[int(part)]
            else:
                return None
        return found
