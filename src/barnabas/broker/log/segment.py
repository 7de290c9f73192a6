"""One segment file of a log: appending, reading by offset and by time, scanning after a crash.

Owns the file, its indexes, and what is known to be damaged in it. What was there when the segment was opened,
and not scanned then, is checked when it is read. Must not know retention, producers or how segments follow
each other.
"""

from __future__ import annotations

import mmap
import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.broker.log.damage import (
    BATCH_HEADER_BYTES,
    BATCH_PREFIX,
    LAST_OFFSET_DELTA,
    LAST_OFFSET_DELTA_POSITION,
    MAGIC,
    MAGIC_POSITION,
    Damage,
    Rules,
    find_good_batch,
    offsets_of_last,
)
from barnabas.broker.log.files import DISK, OpenFile
from barnabas.broker.log.index import OffsetIndex, TimeIndex
from barnabas.broker.log.memory_files import AnyPath
from barnabas.errors import CorruptBatchError
from barnabas.protocol.file_part import FilePart

if TYPE_CHECKING:
    from barnabas._kernel import Buffer

SCAN_CHUNK_BYTES = 8 << 20
# To read fewer costs less than to have them sent from the file.
LEAST_FILE_BYTES = 32_768
# Kafka's indexes hold positions and relative offsets as int32.
MAX_SEGMENT_BYTES = (1 << 31) - 1
MAX_RELATIVE_OFFSET = (1 << 31) - 1
MOST_UNPACKED_BYTES = 1 << 30
Found = tuple[int, int, int]
"""The offset of a record, its timestamp, its leader epoch."""


class UnreadableError(Exception):
    """What is at an offset cannot be read. `damage` says which bytes, and how far."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(f"bytes {damage.position} to {damage.end_position}")
        self.damage = damage


class _BadBatchError(Exception):
    """A batch does not stand where it should; a scan tells more."""


class LargeBatchError(Exception):
    """A batch takes more bytes once it is unpacked than were allowed. `search` goes on in what was read; it
    needs no segment, so that another thread may do it."""

    def __init__(self, chunk: bytes, timestamp: int, from_offset: int) -> None:
        super().__init__("a batch is large once it is unpacked")
        self._chunk = chunk
        self._timestamp = timestamp
        self._from_offset = from_offset

    def search(self) -> Found | None:
        """Raises: CorruptBatchError."""
        return _kernel.find_batch_offset_for_timestamp(
            self._chunk, self._timestamp, from_offset=self._from_offset
        )


class Segment:
    """A file of record batches from `base_offset` on.

    `size` counts the bytes that belong to the log; what a failed write left beyond them is cut off.
    Index files exist only beside segments that grow no more, so a crash never leaves one that is too short.
    """

    def __init__(self, directory: AnyPath, base_offset: int, index_interval_bytes: int) -> None:
        self.base_offset = base_offset
        self.path = directory / f"{base_offset:020d}.log"
        self._index_interval_bytes = index_interval_bytes
        self._file = OpenFile(self.path)
        self._descriptor = self._file.descriptor
        self.size = os.fstat(self._descriptor).st_size
        self.index = OffsetIndex(base_offset)
        self.time_index = TimeIndex(base_offset)
        self.max_timestamp = -1
        self.offset_of_max_timestamp = base_offset
        self.first_timestamp: int | None = None
        self._bytes_since_index_entry = 0
        self.damages: list[Damage] = []
        """Those that a scan has found, in their order."""
        self.end_of_scan = 0, base_offset
        """Where good batches ended, and the offset that comes next."""
        self._unscanned_bytes = self.size
        """So many, from the beginning on, were there before this process wrote or scanned any."""

    @property
    def index_path(self) -> AnyPath:
        return self.path.with_suffix(".index")

    @property
    def time_index_path(self) -> AnyPath:
        return self.path.with_suffix(".timeindex")

    # Writing

    def append(self, data: Buffer, batches: Sequence[BatchInfo]) -> None:
        """Writes batches that `batches` describes; raises OSError with the segment as it was before."""
        start = self.size
        view = memoryview(data)
        try:
            DISK.check(self.path)
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
        """May be called twice."""
        self._file.close()
        self._descriptor = -1

    def delete(self) -> None:
        self.remove_index_files()
        self.path.unlink()
        self.close()

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

    def read(
        self,
        offset: int,
        max_bytes: int,
        rules: Rules,
        *,
        at_least_one: bool,
        before: int | None = None,
        as_file: bool = False,
    ) -> bytes | FilePart | None:
        """Batches from the one that contains `offset` (or the next one) on, up to `max_bytes`, and up to what
        is damaged. The last may be cut. With `at_least_one` the first comes whole, however large. With
        `before` none that begins at that offset or later. None at the end. With `as_file` many bytes may
        stay in the file.

        Raises: UnreadableError where `offset` itself is damaged.
        """
        try:
            return self._read(offset, max_bytes, rules, at_least_one, before, as_file)
        except _BadBatchError:
            self.scan_all(rules)
            return self._read(offset, max_bytes, rules, at_least_one, before, as_file)

    def _read(
        self,
        offset: int,
        max_bytes: int,
        rules: Rules,
        at_least_one: bool,
        before: int | None,
        as_file: bool,
    ) -> bytes | FilePart | None:
        found = self._find(offset, rules)
        if found is None:
            return None
        position, size, base_offset = found
        count = max_bytes
        if before is not None:
            if base_offset >= before:
                return b""
            end = self._find(before, rules)
            if end is not None:
                count = min(count, end[0] - position)
        if size > max_bytes:
            if not at_least_one:
                return b""
            count = size
        for damage in self.damages:
            if damage.position >= position:
                count = min(count, damage.position - position)
                break
        is_checked = position >= self._unscanned_bytes
        count = min(count, self.size - position)
        if as_file and is_checked and count >= LEAST_FILE_BYTES:
            return FilePart(self.duplicate_descriptor(), position, count)
        data = self._read_at(position, count)
        if not is_checked:
            self._check(data, base_offset, rules)
        return data

    def _check(self, data: bytes, lowest: int, rules: Rules) -> None:
        """Of batches that an earlier process wrote. What their checksums cover is the reader's to check."""
        try:
            batches = _kernel.scan_batches(data, check_crcs=False)
        except CorruptBatchError:
            raise _BadBatchError from None
        if len(rules.good_part(batches, lowest)) < len(batches):
            raise _BadBatchError

    def _find(self, offset: int, rules: Rules) -> tuple[int, int, int] | None:
        """Position, size and base offset of the first batch that ends at or after `offset`."""
        last_there, position = self.index.entry_at_or_before(offset)
        lowest = self.base_offset if last_there is None else None
        headers = self._read_at(position, self._index_interval_bytes)
        skipped = 0
        damages = {damage.position: damage for damage in self.damages}
        while position + skipped + BATCH_HEADER_BYTES <= self.size:
            damage = damages.get(position + skipped)
            if damage is not None:
                if damage.next_offset > offset:
                    raise UnreadableError(damage)
                position, skipped, headers, lowest = damage.end_position, 0, b"", damage.next_offset
                continue
            if skipped + BATCH_HEADER_BYTES > len(headers):
                position, skipped = position + skipped, 0
                headers = self._read_at(position, max(BATCH_HEADER_BYTES, self._index_interval_bytes))
            base_offset, length = BATCH_PREFIX.unpack_from(headers, skipped)
            (delta,) = LAST_OFFSET_DELTA.unpack_from(headers, skipped + LAST_OFFSET_DELTA_POSITION)
            last_offset, size = base_offset + delta, BATCH_PREFIX.size + length
            if (
                headers[skipped + MAGIC_POSITION] != MAGIC
                or not BATCH_HEADER_BYTES <= size <= self.size - position - skipped
                or not rules.allows(base_offset, last_offset, base_offset if lowest is None else lowest)
                or (lowest is None and last_offset != last_there)
            ):
                raise _BadBatchError
            if last_offset >= offset:
                return position + skipped, size, base_offset
            lowest = last_offset + 1
            skipped += size
        left = damages.get(position + skipped)
        if left is not None and left.next_offset > offset:
            raise UnreadableError(left)
        return None

    def first_at_or_after(
        self, timestamp: int, from_offset: int = 0, max_unpacked_bytes: int = MOST_UNPACKED_BYTES
    ) -> Found | None:
        """(offset, timestamp, leader epoch) of the first record from an offset on with at least this
        timestamp. Raises: LargeBatchError."""
        offset = max(self.time_index.offset_before(timestamp), from_offset)
        for chunk in self.chunks(self.index.position_at_or_before(offset)):
            try:
                found = _kernel.find_batch_offset_for_timestamp(
                    chunk, timestamp, from_offset=from_offset, max_decompressed_bytes=max_unpacked_bytes
                )
            except CorruptBatchError:
                if max_unpacked_bytes == MOST_UNPACKED_BYTES:
                    raise
                raise LargeBatchError(chunk, timestamp, from_offset) from None
            if found is not None:
                return found
        return None

    def with_max_timestamp(self, max_unpacked_bytes: int = MOST_UNPACKED_BYTES) -> Found | None:
        """(offset, timestamp, leader epoch) of the earliest record with the greatest timestamp.

        Raises: LargeBatchError."""
        if self.max_timestamp < 0:
            return None
        return self.first_at_or_after(self.max_timestamp, 0, max_unpacked_bytes)

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

    def scan_good(self, rules: Rules) -> Iterator[tuple[int, Sequence[BatchInfo]]]:
        """All good batches, with the position that theirs are relative to. Notes what is damaged between
        them; `end_of_scan` is then where the last one ends."""
        self.damages = []
        position, lowest = 0, self.base_offset
        while position < self.size:
            for start, batches in self.scan(position, check_crcs=True):
                good = rules.good_part(batches, lowest)
                if good:
                    yield start, good
                    position = start + good[-1].position + good[-1].size
                    lowest = good[-1].last_offset + 1
                if len(good) < len(batches):
                    break
            self.end_of_scan = position, lowest
            if position >= self.size:
                break
            with self._content() as content:
                found = find_good_batch(content, position, lowest, rules)
            if found is None:
                break
            self.damages.append(Damage(position, found[0], lowest, found[1]))
            position, lowest = found
        self.end_of_scan = position, lowest
        self._unscanned_bytes = 0

    def scan_all(self, rules: Rules) -> None:
        """Indexes the segment anew, and notes all that is damaged in it."""
        self.forget_indexes()
        for position, batches in self.scan_good(rules):
            self.note(batches, position)
        if self.end_of_scan[0] < self.size:
            self.note_bad_end(rules.end_offset)

    def note_bad_end(self, next_offset: int) -> None:
        """What a scan has found behind the last good batch hides the offsets up to `next_offset`."""
        position, lowest = self.end_of_scan
        self.damages.append(Damage(position, self.size, lowest, max(lowest, next_offset)))

    def offsets_of_bad_end(self) -> int | None:
        """How many offsets the bad batch has that ends the file; None where it is cut."""
        with self._content() as content:
            return offsets_of_last(content, self.end_of_scan[0])

    def read_batch(self, start: int, batch: BatchInfo) -> bytes:
        """A batch whose position is relative to `start`."""
        return self._read_at(start + batch.position, batch.size)

    def bad_end(self) -> bytes:
        """What lies behind the last good batch."""
        return self._read_at(self.end_of_scan[0], self.size)

    def _content(self) -> mmap.mmap:
        return mmap.mmap(self._descriptor, self.size, prot=mmap.PROT_READ)

    def find_end_offset(self) -> int | None:
        """The offset after the last record, by a walk from the last index entry; None where it does not come
        to the end of the file."""
        position, end = self.index.last_position, self.base_offset
        for start, batches in self.scan(position, check_crcs=False):
            position = start + batches[-1].position + batches[-1].size
            end = batches[-1].last_offset + 1
        return end if position == self.size else None

    def chunks(self, position: int = 0) -> Iterator[bytes]:
        """The segment's content from a batch's position on, in pieces of whole batches, without what is known
        to be damaged."""
        damages = deque(damage for damage in self.damages if damage.end_position > position)
        while position < self.size:
            if damages and damages[0].position <= position:
                position = damages.popleft().end_position
                continue
            room = damages[0].position - position if damages else SCAN_CHUNK_BYTES
            chunk = self._read_at(position, min(SCAN_CHUNK_BYTES, room))
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


def end_of_batches(data: bytes, offset: int) -> int:
    """The offset after the last whole batch in `data`; `offset` if there is none."""
    position = 0
    while position + BATCH_HEADER_BYTES <= len(data):
        base_offset, length = BATCH_PREFIX.unpack_from(data, position)
        (delta,) = LAST_OFFSET_DELTA.unpack_from(data, position + LAST_OFFSET_DELTA_POSITION)
        position += BATCH_PREFIX.size + length
        offset = max(offset, base_offset + delta + 1)
    return offset


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


def described_damage(segment: Segment, damage: Damage) -> str:
    """In words for whoever is to repair it."""
    return (
        f"{segment.path} is damaged from byte {damage.position} to {damage.end_position}: offsets "
        f"{damage.first_offset} to {damage.next_offset} cannot be read; restore the file from a copy, or "
        f"read on from {damage.next_offset}"
    )
