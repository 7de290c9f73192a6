"""One segment file of a log: appending, reading by offset and by time, scanning after a crash.

Owns the file and its indexes. Must not know retention, producers or how segments follow each other.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.broker.log.index import OffsetIndex, TimeIndex
from barnabas.errors import CorruptBatchError

if TYPE_CHECKING:
    from barnabas._kernel import Buffer

BATCH_PREFIX = struct.Struct(">qi")  # base offset, bytes after this prefix
BATCH_HEADER_BYTES = 61
LAST_OFFSET_DELTA = struct.Struct(">i")
LAST_OFFSET_DELTA_POSITION = 23
SCAN_CHUNK_BYTES = 8 << 20
# Kafka's indexes hold positions and relative offsets as int32.
MAX_SEGMENT_BYTES = (1 << 31) - 1
MAX_RELATIVE_OFFSET = (1 << 31) - 1


class Segment:
    """A file of record batches from `base_offset` on.

    `size` counts the bytes that belong to the log; what a failed write left beyond them is cut off.
    Index files exist only beside segments that grow no more, so a crash never leaves one that is too short.
    """

    def __init__(self, directory: Path, base_offset: int, index_interval_bytes: int) -> None:
        self.base_offset = base_offset
        self.path = directory / f"{base_offset:020d}.log"
        self._index_interval_bytes = index_interval_bytes
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.size = os.fstat(self._descriptor).st_size
        self.index = OffsetIndex(base_offset)
        self.time_index = TimeIndex(base_offset)
        self.max_timestamp = -1
        self.offset_of_max_timestamp = base_offset
        self.first_timestamp: int | None = None
        self._bytes_since_index_entry = 0

    @property
    def index_path(self) -> Path:
        return self.path.with_suffix(".index")

    @property
    def time_index_path(self) -> Path:
        return self.path.with_suffix(".timeindex")

    # Writing

    def append(self, data: Buffer, batches: Sequence[BatchInfo]) -> None:
        """Writes batches that `batches` describes; raises OSError with the segment as it was before."""
        start = self.size
        view = memoryview(data)
        try:
            written = 0
            while written < len(view):
                written += os.pwrite(self._descriptor, view[written:], start + written)
        except OSError:
            os.ftruncate(self._descriptor, start)
            raise
        self.note(batches, start)
        self.size = start + len(view)

    def note(self, batches: Sequence[BatchInfo], position: int) -> None:
        """Indexes batches whose positions are relative to `position`."""
        for batch in batches:
            if self.first_timestamp is None:
                self.first_timestamp = batch.max_timestamp
            if batch.max_timestamp > self.max_timestamp:
                self.max_timestamp = batch.max_timestamp
                self.offset_of_max_timestamp = batch.last_offset
            if self._bytes_since_index_entry > self._index_interval_bytes:
                self.index.append(batch.last_offset, position + batch.position)
                self.time_index.append(self.max_timestamp, self.offset_of_max_timestamp)
                self._bytes_since_index_entry = 0
            self._bytes_since_index_entry += batch.size

    def truncate(self, size: int) -> None:
        """Cuts the file off where a scan that made the indexes found good data to end."""
        os.ftruncate(self._descriptor, size)
        self.size = size

    def flush(self) -> None:
        """Makes all appended data survive a power cut."""
        os.fsync(self._descriptor)

    def modified_ms(self) -> int:
        """When the file was last written, in milliseconds."""
        return os.fstat(self._descriptor).st_mtime_ns // 1_000_000

    def duplicate_descriptor(self) -> int:
        """For a flush on another thread, which then need not care when the segment is closed."""
        return os.dup(self._descriptor)

    def write_indexes(self) -> None:
        """Writes the index files of a segment that grows no more."""
        self.time_index.append(self.max_timestamp, self.offset_of_max_timestamp)
        self.index_path.write_bytes(self.index.to_bytes())
        self.time_index_path.write_bytes(self.time_index.to_bytes())

    def remove_index_files(self) -> None:
        """To be done before the segment grows or is replaced."""
        self.index_path.unlink(missing_ok=True)
        self.time_index_path.unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._descriptor)

    # Opening

    def load_indexes(self) -> bool:
        """Takes the indexes from their files; False when they have to be made by a scan."""
        index = OffsetIndex.load(self.index_path, self.base_offset, self.size)
        time_index = TimeIndex.load(self.time_index_path, self.base_offset)
        if index is None or time_index is None:
            return False
        self.index, self.time_index = index, time_index
        self.max_timestamp = time_index.max_timestamp
        self.offset_of_max_timestamp = time_index.offset_of_max_timestamp
        self._bytes_since_index_entry = self.size - index.last_position
        first = next(self.scan(0, check_crcs=False, chunk_bytes=BATCH_HEADER_BYTES), None)
        self.first_timestamp = first[1][0].max_timestamp if first else None
        return True

    def forget_indexes(self) -> None:
        """Before a scan of the whole segment."""
        self.index = OffsetIndex(self.base_offset)
        self.time_index = TimeIndex(self.base_offset)
        self.max_timestamp, self.offset_of_max_timestamp = -1, self.base_offset
        self.first_timestamp = None
        self._bytes_since_index_entry = 0

    # Reading

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> bytes | None:
        """Batches from the one that contains `offset` (or the next one) on, up to `max_bytes`.

        The last may be cut. With `at_least_one` the first comes whole, however large. None at the end.
        """
        found = self._find(offset)
        if found is None:
            return None
        position, size = found
        if size > max_bytes:
            return self._read_at(position, size) if at_least_one else b""
        return self._read_at(position, max_bytes)

    def _find(self, offset: int) -> tuple[int, int] | None:
        """Position and size of the first batch that ends at or after `offset`."""
        position = self.index.position_at_or_before(offset)
        headers = self._read_at(position, self._index_interval_bytes)
        skipped = 0
        while position + skipped + BATCH_HEADER_BYTES <= self.size:
            if skipped + BATCH_HEADER_BYTES > len(headers):
                position, skipped = position + skipped, 0
                headers = self._read_at(position, max(BATCH_HEADER_BYTES, self._index_interval_bytes))
            base_offset, length = BATCH_PREFIX.unpack_from(headers, skipped)
            (last_offset_delta,) = LAST_OFFSET_DELTA.unpack_from(
                headers, skipped + LAST_OFFSET_DELTA_POSITION
            )
            if base_offset + last_offset_delta >= offset:
                return position + skipped, BATCH_PREFIX.size + length
            skipped += BATCH_PREFIX.size + max(0, length)
        return None

    def first_at_or_after(self, timestamp: int) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the first record with at least this timestamp."""
        position = self.index.position_at_or_before(self.time_index.offset_before(timestamp))
        for chunk in self.chunks(position):
            found = _kernel.find_batch_offset_for_timestamp(chunk, timestamp)
            if found is not None:
                return found
        return None

    def with_max_timestamp(self) -> tuple[int, int, int] | None:
        """(offset, timestamp, leader epoch) of the earliest record with the greatest timestamp."""
        return self.first_at_or_after(self.max_timestamp) if self.max_timestamp >= 0 else None

    def scan(
        self, position: int, *, check_crcs: bool, chunk_bytes: int = SCAN_CHUNK_BYTES
    ) -> Iterator[tuple[int, list[BatchInfo]]]:
        """Good batches, with the position that theirs are relative to. Ends at the first bad or cut one."""
        while True:
            chunk = self._read_at(position, chunk_bytes)
            batches = _good_prefix(chunk, check_crcs)
            if not batches:
                needed = _needed_bytes(chunk)
                if needed is None or needed <= len(chunk) or position + needed > self.size:
                    return
                batches = _good_prefix(self._read_at(position, needed), check_crcs)
                if not batches:
                    return
            yield position, batches
            position += batches[-1].position + batches[-1].size

    def find_end_offset(self) -> int:
        """The offset after the last record, by a walk from the last index entry."""
        end = self.base_offset
        for _, batches in self.scan(self.index.last_position, check_crcs=False):
            end = batches[-1].last_offset + 1
        return end

    def chunks(self, position: int = 0) -> Iterator[bytes]:
        """The segment's content from a batch's position on, in pieces of whole batches."""
        while position < self.size:
            chunk = self._read_at(position, SCAN_CHUNK_BYTES)
            end = _end_of_whole_batches(chunk)
            if end == 0:
                needed = _needed_bytes(chunk)
                if needed is None or needed <= len(chunk) or position + needed > self.size:
                    return
                chunk = self._read_at(position, needed)
                end = needed
            yield chunk if end == len(chunk) else chunk[:end]
            position += end

    def _read_at(self, position: int, count: int) -> bytes:
        return os.pread(self._descriptor, max(0, min(count, self.size - position)), position)


def _needed_bytes(chunk: bytes) -> int | None:
    """The size that the first batch claims; None if that cannot be a batch."""
    if len(chunk) < BATCH_PREFIX.size:
        return None
    _, length = BATCH_PREFIX.unpack_from(chunk)
    size = BATCH_PREFIX.size + length
    return size if BATCH_HEADER_BYTES <= size <= MAX_SEGMENT_BYTES else None


def _end_of_whole_batches(chunk: bytes) -> int:
    end = 0
    while end + BATCH_PREFIX.size <= len(chunk):
        _, length = BATCH_PREFIX.unpack_from(chunk, end)
        if length < 0 or end + BATCH_PREFIX.size + length > len(chunk):
            break
        end += BATCH_PREFIX.size + length
    return end


def _good_prefix(chunk: bytes, check_crcs: bool) -> list[BatchInfo]:
    try:
        return _kernel.scan_batches(chunk, check_crcs=check_crcs)
    except CorruptBatchError:
        pass
    view = memoryview(chunk)
    end = 0
    while (needed := _needed_bytes(chunk[end : end + BATCH_PREFIX.size])) is not None:
        try:
            if not _kernel.scan_batches(view[end : end + needed], check_crcs=check_crcs):
                break
        except CorruptBatchError:
            break
        end += needed
    return _kernel.scan_batches(view[:end])
