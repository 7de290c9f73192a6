"""Which records `consume` prints: by their key, value and headers. Knows nothing of where they come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from barnabas.cli.options import UsageError


class Contents(Protocol):
    """What a filter looks at in a record."""

    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Any: ...


RecordFilter = Callable[[Contents], bool]


def record_filter(key: str | None, value: str | None, headers: Sequence[str]) -> RecordFilter | None:
    """Records whose key and value have what the regular expressions find, and that have all `headers`, each
    NAME or NAME=REGEX. None if nothing is asked for. Raises: UsageError."""
    conditions: list[RecordFilter] = []
    if key is not None:
        key_pattern = _compiled(key, "--match-key")
        conditions.append(lambda record: _found(key_pattern, record.key))
    if value is not None:
        value_pattern = _compiled(value, "--match-value")
        conditions.append(lambda record: _found(value_pattern, record.value))
    conditions += map(_header_filter, headers)
    return (lambda record: all(condition(record) for condition in conditions)) if conditions else None


def _header_filter(text: str) -> RecordFilter:
    name, equals, expression = text.partition("=")
    if not name:
        raise UsageError(f"--match-header {text!r} is neither NAME nor NAME=REGEX")
    if not equals:
        return lambda record: any(header == name for header, _ in record.headers)
    pattern = _compiled(expression, "--match-header")
    return lambda record: any(header == name and _found(pattern, data) for header, data in record.headers)


def _compiled(text: str, option: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"{option} {text!r} is no regular expression: {error}") from None


def _found(pattern: re.Pattern[str], data: bytes | None) -> bool:
    return data is not None and pattern.search(data.decode(errors="replace")) is not None
