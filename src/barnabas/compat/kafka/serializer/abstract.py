"""What serializers and deserializers are: in kafka-python 3 they get a record's headers as well."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from barnabas.compat.kafka_python.generations import generation

Headers = list[tuple[str, bytes]]


class _SerializerOfHeaders(ABC):
    """Makes bytes of keys or values."""

    @abstractmethod
    def serialize(self, topic: str, headers: Headers, data: Any) -> Any: ...

    def close(self) -> None:  # noqa: B027 most have nothing to close
        ...


class _DeserializerOfHeaders(ABC):
    """Makes keys or values of bytes."""

    @abstractmethod
    def deserialize(self, topic: str, headers: Headers, data: bytes) -> Any: ...

    def close(self) -> None:  # noqa: B027 most have nothing to close
        ...


class _Serializer:
    """Makes bytes of keys or values."""

    def __init__(self, **config: Any) -> None: ...

    def serialize(self, topic: str, value: Any) -> Any: ...

    def close(self) -> None: ...


class _Deserializer:
    """Makes keys or values of bytes."""

    def __init__(self, **config: Any) -> None: ...

    def deserialize(self, topic: str, bytes_: bytes | None) -> Any: ...

    def close(self) -> None: ...


_TAKES_HEADERS = generation().serializers_take_headers
Serializer: Any = _SerializerOfHeaders if _TAKES_HEADERS else _Serializer
Deserializer: Any = _DeserializerOfHeaders if _TAKES_HEADERS else _Deserializer
Serializer.__name__ = Serializer.__qualname__ = "Serializer"
Deserializer.__name__ = Deserializer.__qualname__ = "Deserializer"
