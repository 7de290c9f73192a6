"""Keeps memory full of page cache while a machine is measured, as that of one is that has been up a while.

A virtual machine may be given a page only when it is first touched, and give it back when it is free: the
next to touch it then waits for the host, for up to 10 us a page of 4 KiB, which is longer than all that a
broker does with what it writes there. Who takes pages out of a full page cache does not. Of 230 MB that were
written, 100 MB more or less of free memory made a difference of a third.
"""

from __future__ import annotations

import io
import mmap
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_BYTES = 1 << 40
"""No end in practice: a page that is read again might be one that is still there, and takes no memory."""
MOST_FILLED_BYTES = 32 << 30
"""At once: of a machine with more memory some stays free."""
IN_VAIN_BYTES = 512 << 20
"""After so many the system gives as much memory back as is taken."""
MOST_SPARE_BYTES = 16 << 20
"""It gives back far more than it needs, at times: so much may be free beyond the least that was."""
MOST_IN_VAIN_BYTES = 2 << 30
RETURNABLE_ORDER = 9
"""Linux gives free memory back to the host in blocks of 2**9 pages and more."""
PATH_VARIABLE = "BARNABAS_BENCH_PAGE_CACHE"
_PIECE_BYTES = 4 << 20


class PageCache:
    """Pages of a file without contents, from some place in it on."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self._file.seek(random.randrange(FILE_BYTES // _PIECE_BYTES) * _PIECE_BYTES)
        self._buffer = bytearray(_PIECE_BYTES)

    def fill(self) -> None:
        """Has it take the memory that is free, but for what the system keeps so: about a second for a
        gigabyte, or several where the host has to give it first."""
        filled = in_vain = 0
        least = free = _returnable_bytes()
        while filled < MOST_FILLED_BYTES and (
            in_vain < IN_VAIN_BYTES or (free > least + MOST_SPARE_BYTES and in_vain < MOST_IN_VAIN_BYTES)
        ):
            self._read_piece()
            filled += _PIECE_BYTES
            free = _returnable_bytes()
            in_vain = in_vain + _PIECE_BYTES if free > least - _PIECE_BYTES // 2 else 0
            least = min(least, free)

    def _read_piece(self) -> None:
        if not self._file.readinto(self._buffer):
            self._file.seek(0)


@contextmanager
def page_cache() -> Iterator[PageCache]:
    """Also that of the processes that are started meanwhile."""
    with tempfile.NamedTemporaryFile(buffering=0) as file:
        file.truncate(FILE_BYTES)
        os.environ[PATH_VARIABLE] = file.name
        try:
            yield PageCache(file)
        finally:
            del os.environ[PATH_VARIABLE]


def fill_page_cache() -> None:
    """Fills that of the process that started this one, if it has one."""
    path = os.environ.get(PATH_VARIABLE)
    if path is not None:
        with open(path, "rb", buffering=0) as file:
            PageCache(file).fill()


def _returnable_bytes() -> int:
    try:
        zones = Path("/proc/buddyinfo").read_text().splitlines()
    except OSError:
        return 0
    # Node 0, zone Normal, and the number of free blocks of each order.
    zones_of_counts = [map(int, zone.split()[4:]) for zone in zones]
    orders = [(order, count) for counts in zones_of_counts for order, count in enumerate(counts)]
    return sum(count << order for order, count in orders if order >= RETURNABLE_ORDER) * mmap.PAGESIZE
