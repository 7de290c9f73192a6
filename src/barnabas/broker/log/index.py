"""The sparse indexes of a segment, in Kafka's file formats: offset to position, timestamp to offset.

An index lives in memory; its file is written once the segment grows no more. Knows nothing of record batches.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_right

from barnabas.broker.log.memory_files import AnyPath

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY = struct.Struct(">qi")


class OffsetIndex:
    """Positions of some batches: entries of a batch's last offset, relative to the base, and its position.

    Both grow. A reader goes to the entry at or below its offset and walks from there.
    """

    def __init__(self, base_offset: int) -> None:
        self._base_offset = base_offset
        self._offsets = array("I")
        self._positions = array("I")

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def last_position(self) -> int:
        return self._positions[-1] if self._positions else 0

    def append(self, offset: int, position: int) -> None:
        self._offsets.append(offset - self._base_offset)
        self._positions.append(position)

    def position_at_or_before(self, offset: int) -> int:
        """The highest known position from which a walk meets the batch that contains `offset`."""
        return self.entry_at_or_before(offset)[1]

    def entry_at_or_before(self, offset: int) -> tuple[int | None, int]:
        """The same with the last offset of the batch there; None at the segment's begin."""
        found = bisect_right(self._offsets, max(0, offset - self._base_offset))
        if not found:
            return None, 0
        return self._base_offset + self._offsets[found - 1], self._positions[found - 1]

    def to_bytes(self) -> bytes:
        entries = array("I", bytes(OFFSET_ENTRY_BYTES * len(self._offsets)))
        entries[0::2] = self._offsets
        entries[1::2] = self._positions
        return _big_endian(entries).tobytes()

    @classmethod
    def load(cls, path: AnyPath, base_offset: int, segment_bytes: int) -> OffsetIndex | None:
        """The index in the file; None if there is no file, or one that cannot belong to the segment."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        if len(content) % OFFSET_ENTRY_BYTES:
            return None
        entries = array("I")
        entries.frombytes(content)
        entries = _big_endian(entries)
        index = cls(base_offset)
        index._offsets = entries[0::2]
        index._positions = entries[1::2]
        ordered = all(a < b for a, b in zip(index._positions, index._positions[1:], strict=False))
        if not ordered or index.last_position >= max(1, segment_bytes):
            return None
        return index


class TimeIndex:
    """Entries are (the greatest timestamp so far, the offset that has it), both growing.

    So whatever has a greater timestamp than an entry's has a greater offset too.
    """

    def __init__(self, base_offset: int) -> None:
        self._base_offset = base_offset
        self._timestamps = array("q")
        self._offsets = array("I")

    def __len__(self) -> int:
        return len(self._timestamps)

    @property
    def max_timestamp(self) -> int:
        return self._timestamps[-1] if self._timestamps else -1

    @property
    def offset_of_max_timestamp(self) -> int:
        return self._base_offset + self._offsets[-1] if self._offsets else self._base_offset

    def append(self, timestamp: int, offset: int) -> None:
        """Adds an entry, unless the timestamp is no greater than the last one's."""
        if timestamp > self.max_timestamp:
            self._timestamps.append(timestamp)
            self._offsets.append(offset - self._base_offset)

    def offset_before(self, timestamp: int) -> int:
        """An offset below which no record has at least this timestamp."""
        found = bisect_right(self._timestamps, timestamp - 1)
        return self._base_offset + (self._offsets[found - 1] if found else 0)

    def to_bytes(self) -> bytes:
        return b"".join(map(TIME_ENTRY.pack, self._timestamps, self._offsets))

    @classmethod
    def load(cls, path: AnyPath, base_offset: int) -> TimeIndex | None:
        """The index in the file; None if there is no file, or one that is cut short."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        if len(content) % TIME_ENTRY.size:
            return None
        index = cls(base_offset)
        for timestamp, offset in TIME_ENTRY.iter_unpack(content):
            index._timestamps.append(timestamp)
            index._offsets.append(offset)
        return index


def _big_endian(entries: array[int]) -> array[int]:
    if sys.byteorder == "little":
        entries.byteswap()
    return entries
