"""What keys and values are once they were read: JSON, text, or bytes that could not be read. Knows nothing of
formats."""

from __future__ import annotations

from typing import Any, Literal

from barnabas.values import frozen

Side = Literal["key", "value"]
SIDES: tuple[Side, ...] = ("key", "value")


class JsonText(bytes):
    """A key or value that is JSON, and not what the record has."""


class Unread(bytes):
    """A key or value that could not be read: what the record has."""

    error: str = ""
    """Why: the text of an error, which names topic, partition and offset."""

    @classmethod
    def because(cls, data: bytes | None, error: str) -> Unread:
        found = cls(data or b"")
        found.error = error
        return found


Part = bytes | None
"""A key or a value as it was read: `JsonText`, `Unread`, or text."""


@frozen
class ReadRecord:
    """A record whose key or value was read by a format."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Part
    value: Part
    headers: Any


def place_of(record: Any) -> str:
    """Of a record, for errors."""
    return f"{record.topic}-{record.partition} at offset {record.offset}"
