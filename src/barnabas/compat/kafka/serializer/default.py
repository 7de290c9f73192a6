"""Text as bytes."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.serializer.abstract import Deserializer, Serializer

_AS_THEY_ARE = (bytes, bytearray, memoryview, type(None))


class DefaultSerializer(Serializer, Deserializer):
    """str as bytes in an `encoding` ("utf-8"); bytes and None as they are. In generation 3."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Any, data: Any) -> Any:  # type: ignore[override]
        return data if type(data) in _AS_THEY_ARE else data.encode(self.encoding)

    def deserialize(self, topic: str, headers: Any, data: Any) -> Any:  # type: ignore[override]
        return None if data is None else data.decode(self.encoding)
