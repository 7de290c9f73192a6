"""Functions as serializers and deserializers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.compat.kafka.serializer.abstract import Deserializer, Headers, Serializer


class DeserializeWrapper(Deserializer):
    """Calls a function of the bytes; without one they pass."""

    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def deserialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return data if self.fn is None else self.fn(data)


class SerializeWrapper(Serializer):
    """Calls a function of the key or the value; without one they pass."""

    def __init__(self, fn: Callable[[Any], Any] | None) -> None:
        self.fn = fn

    def serialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return data if self.fn is None else self.fn(data)
