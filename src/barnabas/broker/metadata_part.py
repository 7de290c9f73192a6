"""One part of what the broker keeps on disk besides its logs.

Owns that a change is kept or does not happen. Must not know what the part means, nor how it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

Keep = Callable[[str, Callable[[], None]], None]
"""Writes a change that is made in memory. Where it cannot, it calls the function, which takes the change
back, and tells what cannot be done. Raises: KafkaStorageError."""


class MetadataPart(Generic[T]):
    """The field `name` of `metadata`. `what`: what it is called where it cannot be kept."""

    def __init__(self, metadata: object, name: str, what: str, keep: Keep) -> None:
        self._metadata = metadata
        self._name = name
        self._what = what
        self._keep = keep

    @property
    def value(self) -> T:
        return getattr(self._metadata, self._name)

    def change(self, value: T) -> None:
        """Raises: KafkaStorageError."""
        before = self.value
        setattr(self._metadata, self._name, value)
        self._keep(f"keep {self._what}", lambda: setattr(self._metadata, self._name, before))
