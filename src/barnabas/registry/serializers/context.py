"""Where a value goes or comes from. Rules, strategies and callables that users give are called with it."""

from __future__ import annotations

from typing import Any, Literal, Protocol

Field = Literal["key", "value"]
Headers = Any
"""A list of (name, bytes), or a mapping of names to bytes."""


class ContextLike(Protocol):
    """What is read of a context, which may be another package's."""

    @property
    def topic(self) -> Any: ...
    @property
    def field(self) -> Any: ...
    @property
    def headers(self) -> Any: ...


class RecordLike(Protocol):
    """What a consumer gives."""

    @property
    def topic(self) -> str: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Any: ...


class SerializationContext:
    """The topic of a value's record, whether it is the record's key or value, and the record's headers."""

    __slots__ = ("field", "headers", "topic")

    def __init__(self, topic: str | None, field: Field = "value", headers: Headers = None) -> None:
        self.topic = topic
        self.field: Field = field
        self.headers: Headers = headers

    def __repr__(self) -> str:
        return f"SerializationContext({self.topic!r}, {self.field!r})"
