"""Keeps memory full of page cache while a machine is measured, as that of one is that has been up a while.

A virtual machine may be given a page only when it is first touched, and give it back when it is free: the
next to touch it then waits for the host, for up to 10 us a page of 4 KiB, which is longer than all that a
broker does with what it writes there. Who takes pages out of a full page cache does not.
"""

from __future__ import annotations

import io
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

FILE_BYTES = 1 << 40
"""No end in practice: a page that is read again might be one that is still there, and takes no memory."""
MOST_FILLED_BYTES = 32 << 30
"""At once: of a machine with more memory some stays free."""
LEAST_FREE_BYTES = 400 << 20
STEPS_IN_VAIN = 4
"""After so many the system gives as much memory back as is taken."""
_PIECE_BYTES = 4 << 20
_STEP_BYTES = 128 << 20


class PageCache:
    """Pages of a file without contents."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self._file.truncate(FILE_BYTES)
        self._buffer = bytearray(_PIECE_BYTES)

    def fill(self) -> None:
        """Has it take the memory that is free, until the system keeps what is left so: about a second for a
        gigabyte."""
        filled = steps_in_vain = 0
        least = _free_bytes()
        while filled < MOST_FILLED_BYTES and least > LEAST_FREE_BYTES and steps_in_vain < STEPS_IN_VAIN:
            self._read(_STEP_BYTES)
            filled += _STEP_BYTES
            free = _free_bytes()
            steps_in_vain = steps_in_vain + 1 if free > least - _STEP_BYTES // 2 else 0
            least = min(least, free)

    def _read(self, count: int) -> None:
        for _ in range(count // _PIECE_BYTES):
            if not self._file.readinto(self._buffer):
                self._file.seek(0)


@contextmanager
def page_cache() -> Iterator[PageCache]:
    with tempfile.TemporaryFile(buffering=0) as file:
        yield PageCache(file)


def _free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
