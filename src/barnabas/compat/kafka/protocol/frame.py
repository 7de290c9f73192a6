"""Bytes that are filled and read from where one is."""

from __future__ import annotations

from typing import Any


class KafkaBytes(bytearray):
    """So many bytes, with a place in them."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._idx = 0

    def read(self, nbytes: int | None = None) -> bytes:
        """The next so many bytes, or all the rest."""
        start = self._idx
        self._idx = len(self) if nbytes is None else min(start + nbytes, len(self))
        return bytes(self[start : self._idx])

    def write(self, data: Any) -> None:
        start = self._idx
        self._idx += len(data)
        self[start : self._idx] = data

    def seek(self, idx: int) -> None:
        self._idx = idx

    def tell(self) -> int:
        return self._idx

    def __str__(self) -> str:
        return f"KafkaBytes({len(self)})"

    __repr__ = __str__
