"""What is damaged in a segment: where it lies, which offsets it hides, and where good batches go on.

Pure: looks at bytes that it is given. A byte may be wrong anywhere, also where no checksum covers it (the
base offset, the length, the leader epoch and the magic number of a batch), so a batch counts as good only
where its offsets follow from what lies before it. Must not know files or requests.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.errors import BarnabasError, CorruptBatchError
from barnabas.values import frozen

BATCH_PREFIX = struct.Struct(">qi")  # base offset, bytes after this prefix
BATCH_HEADER_BYTES = 61
MAGIC_POSITION = 16
MAGIC = 2
LAST_OFFSET_DELTA = struct.Struct(">i")
LAST_OFFSET_DELTA_POSITION = 23
RECORD_COUNT = struct.Struct(">i")
RECORD_COUNT_POSITION = 57


class DamagedLogError(BarnabasError):
    """Records that were acknowledged are not in the files of a log any more, or cannot be read."""


@frozen
class Damage:
    """Bytes of a segment that are no good batches, and the offsets (up to `next_offset`) that they hide."""

    position: int
    end_position: int
    first_offset: int
    next_offset: int


@frozen
class Rules:
    """What the offsets of a segment's batches must be: below `end_offset`, and, where nothing was compacted
    away (`is_contiguous`), one after the other."""

    end_offset: int
    is_contiguous: bool

    def allows(self, base_offset: int, last_offset: int, lowest: int) -> bool:
        """Whether such a batch can stand where the next offset is `lowest`."""
        begins_right = base_offset == lowest if self.is_contiguous else base_offset >= lowest
        return begins_right and base_offset <= last_offset < self.end_offset

    def good_part(self, batches: Sequence[BatchInfo], lowest: int) -> Sequence[BatchInfo]:
        """The batches up to the first that cannot stand there."""
        for count, batch in enumerate(batches):
            if not self.allows(batch.base_offset, batch.last_offset, lowest):
                return batches[:count]
            lowest = batch.last_offset + 1
        return batches


def find_good_batch(content: mmap.mmap, position: int, lowest: int, rules: Rules) -> tuple[int, int] | None:
    """The next good batch behind a bad one at `position`: its position and base offset."""
    claimed = position + _claimed_size(content, position)
    if claimed > position and _is_good(content, claimed, lowest, rules):
        return claimed, _base_offset(content, claimed)
    magic_at = content.find(bytes([MAGIC]), position + 1 + MAGIC_POSITION)
    while magic_at >= 0:
        if _is_good(content, magic_at - MAGIC_POSITION, lowest, rules):
            return magic_at - MAGIC_POSITION, _base_offset(content, magic_at - MAGIC_POSITION)
        magic_at = content.find(bytes([MAGIC]), magic_at + 1)
    return None


def offsets_of_last(content: mmap.mmap, position: int) -> int | None:
    """How many offsets a bad batch has that the content ends with; None where it is a part of one only, as a
    write that was cut short leaves it."""
    size = len(content) - position
    if size < BATCH_HEADER_BYTES:
        return None
    batch = bytearray(content[position:])
    is_whole = _claimed_size(content, position) == size
    # What no checksum covers is put right.
    BATCH_PREFIX.pack_into(batch, 0, 0, size - BATCH_PREFIX.size)
    batch[MAGIC_POSITION] = MAGIC
    (delta,) = LAST_OFFSET_DELTA.unpack_from(batch, LAST_OFFSET_DELTA_POSITION)
    (count,) = RECORD_COUNT.unpack_from(batch, RECORD_COUNT_POSITION)
    if delta + 1 != count:
        # One of the two is wrong; with the right one in its place the checksum holds.
        for number in {delta + 1, count} - {0}:
            LAST_OFFSET_DELTA.pack_into(batch, LAST_OFFSET_DELTA_POSITION, number - 1)
            RECORD_COUNT.pack_into(batch, RECORD_COUNT_POSITION, number)
            if _has_good_checksum(batch):
                return number
    if _has_good_checksum(batch) or is_whole:
        return max(1, min(delta + 1, count))
    return None


def _has_good_checksum(batch: bytearray) -> bool:
    try:
        return bool(_kernel.scan_batches(bytes(batch), check_crcs=True))
    except CorruptBatchError:
        return False


def _claimed_size(content: mmap.mmap, position: int) -> int:
    """With the prefix; 0 where that cannot be."""
    if position + BATCH_PREFIX.size > len(content):
        return 0
    _, length = BATCH_PREFIX.unpack_from(content, position)
    size = BATCH_PREFIX.size + length
    return size if BATCH_HEADER_BYTES <= size <= len(content) - position else 0


def _base_offset(content: mmap.mmap, position: int) -> int:
    return BATCH_PREFIX.unpack_from(content, position)[0]


def _is_good(content: mmap.mmap, position: int, lowest: int, rules: Rules) -> bool:
    """Whether a whole, good batch begins there. What lies before it may hide offsets."""
    size = _claimed_size(content, position)
    if not size or content[position + MAGIC_POSITION] != MAGIC:
        return False
    base_offset = _base_offset(content, position)
    (delta,) = LAST_OFFSET_DELTA.unpack_from(content, position + LAST_OFFSET_DELTA_POSITION)
    if not (lowest <= base_offset and delta >= 0 and base_offset + delta < rules.end_offset):
        return False
    try:
        return bool(_kernel.scan_batches(content[position : position + size], check_crcs=True))
    except CorruptBatchError:
        return False
