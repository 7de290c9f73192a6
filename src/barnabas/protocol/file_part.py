"""Bytes of a file in the place of bytes in memory: who sends them has the kernel take them from there.

Owns the descriptor that keeps the file there. Must not know whose file it is, nor how it is sent.
"""

from __future__ import annotations

import os


class FilePart:
    """`size` bytes from `position` on, for as long as nobody cuts the file off. Owns `descriptor`, which is
    closed by `close`, or with the last reference."""

    __slots__ = ("_descriptor", "position", "size")

    def __init__(self, descriptor: int, position: int, size: int) -> None:
        self._descriptor: int | None = descriptor
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def fileno(self) -> int:
        """Raises: ValueError once it is closed."""
        if self._descriptor is None:
            raise ValueError("the file is closed")
        return self._descriptor

    def read(self) -> bytes:
        """Fewer than `size` bytes where the file was cut off."""
        return os.pread(self.fileno(), self.size, self.position)
