"""Records as lines of JSON. Knows nothing of where records come from or go to."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from barnabas import Record
from barnabas.records.texts import JsonText, ReadRecord

RecordFormat = Callable[[Record | ReadRecord], bytes]


def as_json(record: Record | ReadRecord) -> bytes:
    """One line of JSON. Bytes that are not UTF-8 stand as `{"base64": ...}`."""
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _in_json(record.key),
        "value": _in_json(record.value),
        "headers": [[name, _text_or_base64(value)] for name, value in record.headers],
    }
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _in_json(data: bytes | None) -> Any:
    return json.loads(data) if isinstance(data, JsonText) else _text_or_base64(data)


def _text_or_base64(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
