"""What goes wrong between values and bytes."""

from __future__ import annotations


class SerializerError(Exception):
    """A value or a message could not be converted."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(error={self.message})"

    def __str__(self) -> str:
        return self.message


class KeySerializerError(SerializerError):
    """Of a key."""


class ValueSerializerError(SerializerError):
    """Of a value."""
