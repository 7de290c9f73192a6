"""The serializer of texts."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka.serializer.abstract import Deserializer, Headers, Serializer

_BYTES = (bytes, bytearray, memoryview, type(None))


class DefaultSerializer(Serializer, Deserializer):
    """Encodes texts, and lets bytes and None pass."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return data if type(data) in _BYTES else data.encode(self.encoding)

    def deserialize(self, topic: str, headers: Headers, data: Any) -> Any:
        return None if data is None else data.decode(self.encoding)
