"""Functions in the place of serializers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.compat.kafka.serializer.abstract import Deserializer, Serializer

Function = Callable[[Any], Any]


class SerializeWrapper(Serializer):
    """Calls a function, which is given the key or the value alone; None leaves them as they are."""

    def __init__(self, fn: Function | None) -> None:
        self.fn = fn

    def serialize(self, topic: str, headers: Any, data: Any) -> Any:  # type: ignore[override]
        return data if self.fn is None else self.fn(data)


class DeserializeWrapper(Deserializer):
    """As SerializeWrapper, for consumers."""

    def __init__(self, fn: Function | None) -> None:
        self.fn = fn

    def deserialize(self, topic: str, headers: Any, data: Any) -> Any:  # type: ignore[override]
        return data if self.fn is None else self.fn(data)
