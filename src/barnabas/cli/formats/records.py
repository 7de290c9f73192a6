"""A record as a line of text. Knows nothing of where records come from or go to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from barnabas import Record
from barnabas.cli.options import UsageError
from barnabas.records.json_lines import RecordFormat
from barnabas.records.texts import ReadRecord

_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\0": "\0", r"\\": "\\", "{{": "{", "}}": "}"}
_TOKENS = re.compile(r"\\[nt0\\]|\{\{|\}\}|\{(\w*)\}|[^\\{}]+|.", re.DOTALL)

_FIELDS: dict[str, RecordFormat] = {
    "topic": lambda record: record.topic.encode(),
    "partition": lambda record: b"%d" % record.partition,
    "offset": lambda record: b"%d" % record.offset,
    "timestamp": lambda record: b"%d" % record.timestamp,
    "time": lambda record: _time(record.timestamp),
    "key": lambda record: b"" if record.key is None else record.key,
    "value": lambda record: b"" if record.value is None else record.value,
    "headers": lambda record: headers_as_text(record),
    "key_size": lambda record: b"%d" % _size(record.key),
    "value_size": lambda record: b"%d" % _size(record.value),
}

_KCAT_FIELDS: dict[str, RecordFormat] = {
    "s": _FIELDS["value"],
    "S": _FIELDS["value_size"],
    "R": lambda record: _size(record.value).to_bytes(4, "big", signed=True),
    "k": _FIELDS["key"],
    "K": _FIELDS["key_size"],
    "t": _FIELDS["topic"],
    "p": _FIELDS["partition"],
    "o": _FIELDS["offset"],
    "T": _FIELDS["timestamp"],
    "h": lambda record: _header_text(record, b"NULL"),
    "%": lambda _: b"%",
}
_KCAT_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_KCAT_TOKENS = re.compile(r"%(.?)|\\x([0-9A-Fa-f]{1,2})|\\(.)|[^%\\]+|.", re.DOTALL)


def plain(*, key: bool, headers: bool) -> RecordFormat:
    """The value and a newline; before it, divided by tabs, the headers and the key if asked for."""
    parts = (["{headers}"] if headers else []) + (["{key}"] if key else []) + ["{value}"]
    return templated(r"\t".join(parts) + r"\n")


def templated(template: str) -> RecordFormat:
    r"""A template such as `{partition}:{offset} {key} {value}\n`.

    Fields: topic, partition, offset, timestamp (ms since 1970), time (UTC, as ISO 8601 has it), key, value,
    headers, key_size, value_size (bytes, -1 where there is none). `\n`, `\t`, `\0` and
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

    return _joined(parts)


def as_by_kcat(text: str) -> RecordFormat:
    r"""A format as kcat's -f takes it, such as `%t %p@%o: %k %s\n`.

    %s value, %S its size (-1 where there is none), %R the size as 4 bytes, %k key, %K its size, %t topic, %p
    partition, %o offset, %T timestamp (ms since 1970), %h headers, %% a sign; `\n`, `\t`, `\r`, `\xHH`.
    Raises: UsageError for a letter that is none of these.
    """
    parts: list[bytes | RecordFormat] = []
    for match in _KCAT_TOKENS.finditer(text):
        field, code, sign = match.groups()
        if field is not None:
            if field not in _KCAT_FIELDS:
                known = ", ".join("%" + letter for letter in _KCAT_FIELDS)
                raise UsageError(f"-f has no %{field}; there are {known}")
            parts.append(_KCAT_FIELDS[field])
        elif code is not None:
            parts.append(bytes([int(code, 16)]))
        elif sign is not None:
            parts.append(_KCAT_ESCAPES.get(sign, sign.encode()))
        else:
            parts.append(match[0].encode())
    return _joined(parts)


def _joined(parts: Iterable[bytes | RecordFormat]) -> RecordFormat:
    fixed = list(parts)

    def formatted(record: Record | ReadRecord) -> bytes:
        return b"".join(part if isinstance(part, bytes) else part(record) for part in fixed)

    return formatted


def headers_as_text(record: Record | ReadRecord) -> bytes:
    return _header_text(record, b"")


def _header_text(record: Record | ReadRecord, null: bytes) -> bytes:
    return b",".join(
        name.encode() + b"=" + (null if value is None else value) for name, value in record.headers
    )


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _time(timestamp_ms: int) -> bytes:
    if timestamp_ms < 0:
        return b""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").encode()
