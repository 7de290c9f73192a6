"""A record as a line of text or of JSON. Knows nothing of where records come from or go to."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from barnabas import Record
from barnabas.cli.options import UsageError
from barnabas.cli.value_formats import JsonText, ReadRecord

RecordFormat = Callable[[Record | ReadRecord], bytes]

_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\0": "\0", r"\\": "\\", "{{": "{", "}}": "}"}
_TOKENS = re.compile(r"\\[nt0\\]|\{\{|\}\}|\{(\w*)\}|[^\\{}]+|.", re.DOTALL)

_FIELDS: dict[str, RecordFormat] = {
    "topic": lambda record: record.topic.encode(),
    "partition": lambda record: b"%d" % record.partition,
    "offset": lambda record: b"%d" % record.offset,
    "timestamp": lambda record: b"%d" % record.timestamp,
    "key": lambda record: b"" if record.key is None else record.key,
    "value": lambda record: b"" if record.value is None else record.value,
    "headers": lambda record: headers_as_text(record),
}


def plain(*, key: bool, headers: bool) -> RecordFormat:
    """The value and a newline; before it, divided by tabs, the headers and the key if asked for."""
    parts = (["{headers}"] if headers else []) + (["{key}"] if key else []) + ["{value}"]
    return templated(r"\t".join(parts) + r"\n")


def templated(template: str) -> RecordFormat:
    r"""A template such as `{partition}:{offset} {key} {value}\n`.

    Fields: topic, partition, offset, timestamp (ms since 1970), key, value, headers. `\n`, `\t`, `\0` and
    `\\` are what they are elsewhere; `{{` is a brace. Raises: UsageError for a field that is not there.
    """
    parts: list[bytes | RecordFormat] = []
    for match in _TOKENS.finditer(template):
        token = match[0]
        if match[1] is not None:
            if match[1] not in _FIELDS:
                raise UsageError(f"--format has no field {match[1]!r}; there are {', '.join(_FIELDS)}")
            parts.append(_FIELDS[match[1]])
        else:
            parts.append(_ESCAPES.get(token, token).encode())

    def formatted(record: Record | ReadRecord) -> bytes:
        return b"".join(part if isinstance(part, bytes) else part(record) for part in parts)

    return formatted


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


def headers_as_text(record: Record | ReadRecord) -> bytes:
    return b",".join(name.encode() + b"=" + (value or b"") for name, value in record.headers)


def _in_json(data: bytes | None) -> Any:
    return json.loads(data) if isinstance(data, JsonText) else _text_or_base64(data)


def _text_or_base64(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
