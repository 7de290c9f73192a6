"""The bases of a program's serializers and deserializers, with the arguments that the generation gives
them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from barnabas.compat.kafka_engine.generations import generation

__all__ = ["Deserializer", "Serializer"]

if generation().serializers_take_headers:

    class Serializer(ABC):  # pyright: ignore[reportRedeclaration]
        """Makes bytes of keys and values."""

        @abstractmethod
        def serialize(self, topic: str, headers: list[tuple[str, bytes]], data: Any) -> Any:
            """The bytes of a key or a value, or None. What is added to `headers` is sent with the record."""

        def close(self) -> None:  # noqa: B027 it need not be there
            """Called when the producer closes."""

    class Deserializer(ABC):  # pyright: ignore[reportRedeclaration]
        """Makes keys and values of bytes."""

        @abstractmethod
        def deserialize(self, topic: str, headers: list[tuple[str, bytes]], data: bytes) -> Any:
            """What the bytes of a key or a value, or None, stand for."""

        def close(self) -> None:  # noqa: B027 it need not be there
            """Called when the consumer closes."""

else:

    class Serializer:  # pyright: ignore[reportRedeclaration]
        """Makes bytes of keys and values."""

        def __init__(self, **config: Any) -> None:
            pass

        def serialize(self, topic: str, value: Any) -> Any:
            """The bytes of a key or a value, or None."""

        def close(self) -> None:
            """Called when the producer closes."""

    class Deserializer:  # pyright: ignore[reportRedeclaration]
        """Makes keys and values of bytes."""

        def __init__(self, **config: Any) -> None:
            pass

        def deserialize(self, topic: str, bytes_: Any) -> Any:
            """What the bytes of a key or a value, or None, stand for."""

        def close(self) -> None:
            """Called when the consumer closes."""
