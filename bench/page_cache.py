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

MOST_FILLED_BYTES = 32 << 30
"""Of a machine with more memory some stays free."""
LEAST_FREE_BYTES = 400 << 20
_PIECE_BYTES = 4 << 20


class PageCache:
    """Pages of a file without contents."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        # Twice as much as there is: a page that is read again may be one that is still there.
        self._size = 2 * min(os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE, MOST_FILLED_BYTES)
        self._file.truncate(self._size)
        self._buffer = bytearray(_PIECE_BYTES)

    def fill(self) -> None:
        """Has it take the memory that is free: about a second for a gigabyte."""
        read = 0
        while read < self._size and _free_bytes() > LEAST_FREE_BYTES:
            count = self._file.readinto(self._buffer) or 0
            if not count:
                self._file.seek(0)
            read += count


@contextmanager
def page_cache() -> Iterator[PageCache]:
    with tempfile.TemporaryFile(buffering=0) as file:
        yield PageCache(file)


def _free_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
