"""The log of one partition: a row of segments, the last of which grows.

Owns offsets, rolling, the producers' states and the leader epochs. Must not know requests, topics'
metadata or time as anything but an argument. All methods belong to one thread.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from barnabas import _kernel
from barnabas._kernel import BatchInfo
from barnabas.broker.log.damage import Rules
from barnabas.broker.log.files import described
from barnabas.broker.log.markers import EndMarker, end_marker
from barnabas.broker.log.memory_files import AnyPath
from barnabas.broker.log.offset_checkpoints import OWN_OFFSETS_FILE
from barnabas.broker.log.producers import AbortedSpan
from barnabas.broker.log.recovery import LogRecovery
from barnabas.broker.log.retention import count_below, count_beyond_size, count_expired
from barnabas.broker.log.segment import (
    MAX_RELATIVE_OFFSET,
    MOST_UNPACKED_BYTES,
    Found,
    Segment,
    UnreadableError,
    described_damage,
    end_of_batches,
)
from barnabas.broker.log.settings import LogSettings
from barnabas.broker.log.side_files import SideFiles
from barnabas.broker_errors import CorruptMessageError, KafkaStorageError, OffsetOutOfRangeError
from barnabas.protocol.file_part import FilePart
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import Buffer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Appended:
    """Where batches went. `log_append_time` is -1 unless the broker set the timestamps (milliseconds)."""

    base_offset: int
    log_append_time: int
    duplicate: bool = False


class PartitionLog:
    """A log in `directory`, opened and, after a crash, repaired.

    `recovery_point`: all data below this offset is known to be on disk and good. `clean`: the last process
    that had the log closed it in good order. Raises: DamagedLogError where acknowledged records are gone.
    """

    def __init__(
        self,
        directory: AnyPath,
        partition: TopicPartition,
        settings: LogSettings,
        *,
        leader_epoch: int,
        now_ms: int,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean: bool = False,
        was_compacted: bool = False,
    ) -> None:
        self.directory = directory
        self.partition = partition
        self.settings = settings
        self.leader_epoch = leader_epoch
        self.was_compacted = was_compacted
        """Whether offsets may be missing between batches, though the topic is not compacted any more."""
        self.first_dirty_offset = 0
        """Compaction has seen everything below this offset."""
        self.bytes_appended = 0
        """Grows with every append; tells a reader how much has come since it looked."""
        self.replicated_to: int | None = None
        """Up to where all replicas that count have this log; None: to its end."""
        self.on_written: Callable[[Buffer, Sequence[BatchInfo]], None] | None = None
        """Given what was written, as it is in the log."""
        self.last_flush_ms = now_ms
        self._storage_failed = False
        directory.mkdir(parents=True, exist_ok=True)
        self._side_files = SideFiles(directory, partition)
        recovery = LogRecovery(
            directory,
            partition,
            index_interval_bytes=settings.index_interval_bytes,
            is_contiguous=self._is_contiguous,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=clean,
            now_ms=now_ms,
        )
        recovery.run()
        self.segments, self.producers = recovery.segments, recovery.producers
        self.leader_epochs = recovery.leader_epochs
        self.recovery_point = recovery.recovery_point
        self.log_start_offset, self.log_end_offset = recovery.log_start_offset, recovery.log_end_offset
        self.leader_epochs.assign(leader_epoch, self.log_end_offset)

    @property
    def _is_contiguous(self) -> bool:
        """Whether each offset is there: nothing is missing but what compaction took."""
        return not self.settings.compacts and not self.was_compacted

    # Writing

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    def append(
        self, data: Buffer, batches: Sequence[BatchInfo], *, now_ms: int, set_append_time: bool = False
    ) -> Appended:
        """Gives batches their offsets and writes them to the operating system.

        `batches` describes `data`, which is taken as checked. A repetition of an earlier batch is answered
        with that one's offset. Raises: KafkaStorageError (nothing was written), InvalidProducerEpochError,
        OutOfOrderSequenceNumberError, InvalidTxnStateError.
        """
        for batch in batches:
            earlier = self.producers.check(batch)
            if earlier is not None:
                time = earlier.timestamp if set_append_time else -1
                return Appended(earlier.base_offset, time, duplicate=True)
        base_offset = self.log_end_offset
        log_append_time = now_ms if set_append_time else None
        stamped_batches = self._write(data, log_append_time, now_ms)
        self.producers.update(stamped_batches, now_ms)
        return Appended(base_offset, -1 if log_append_time is None else log_append_time)

    def append_marker(self, marker: EndMarker, *, now_ms: int, needs_newer_epoch: bool = False) -> None:
        """Ends a producer's transaction here. Raises: KafkaStorageError (nothing was written),
        InvalidProducerEpochError, TransactionCoordinatorFencedError."""
        self.producers.check_marker(marker, needs_newer_epoch=needs_newer_epoch)
        (batch,) = self._write(marker.to_batch(now_ms), None, now_ms)
        self.producers.end(marker, batch.last_offset, batch.max_timestamp, now_ms)

    def _write(self, data: Buffer, log_append_time: int | None, now_ms: int) -> Sequence[BatchInfo]:
        """Raises: KafkaStorageError, and then nothing was written."""
        base_offset = self.log_end_offset
        stamped = _kernel.stamp_batches(data, base_offset, self.leader_epoch, log_append_time=log_append_time)
        stamped_batches = _kernel.scan_batches(stamped)
        self._write_stamped(stamped, stamped_batches)
        self.leader_epochs.assign(self.leader_epoch, base_offset)
        if self.log_end_offset - self.recovery_point >= self.settings.flush_messages:
            self.flush(now_ms)
        if self.on_written is not None:
            self.on_written(stamped, stamped_batches)
        return stamped_batches

    def append_replica(self, data: Buffer, batches: Sequence[BatchInfo], *, now_ms: int) -> None:
        """Writes batches as they are in the leader's log. Raises: KafkaStorageError (nothing was written)."""
        self._write_stamped(data, batches)
        content = memoryview(data)
        for batch in batches:
            self.leader_epochs.assign(batch.leader_epoch, batch.base_offset)
            if not batch.is_control:
                self.producers.update((batch,), now_ms)
                continue
            marker = end_marker(batch, content[batch.position : batch.position + batch.size])
            if marker is not None:
                self.producers.end(marker, batch.last_offset, batch.max_timestamp, now_ms)
        if self.log_end_offset - self.recovery_point >= self.settings.flush_messages:
            self.flush(now_ms)

    def _write_stamped(self, data: Buffer, batches: Sequence[BatchInfo]) -> None:
        try:
            self._roll_if_due(len(data), batches)
            self.active.append(data, batches)
        except OSError as error:
            raise self._storage_error(error) from error
        self._storage_failed = False
        self.log_end_offset = batches[-1].last_offset + 1
        self.bytes_appended += len(data)

    def begin_epoch(self, leader_epoch: int) -> None:
        """What is appended from now on is of this epoch."""
        self.leader_epoch = leader_epoch
        self.leader_epochs.assign(leader_epoch, self.log_end_offset)

    def _roll_if_due(self, size: int, batches: Sequence[BatchInfo]) -> None:
        active = self.active
        if active.size == 0:
            if active.base_offset != self.log_end_offset:
                self.roll()
            return
        first_ms = active.first_timestamp if active.first_timestamp is not None else -1
        waited_ms = batches[0].max_timestamp - first_ms if first_ms >= 0 else 0
        if (
            active.size + size > self.settings.segment_bytes
            or waited_ms > self.settings.segment_ms
            or batches[-1].last_offset - active.base_offset > MAX_RELATIVE_OFFSET
        ):
            self.roll()

    def roll(self) -> None:
        """Ends the active segment and begins the next one. Raises: OSError, and then nothing has changed."""
        ended = self.segments[-1] if self.segments else None
        if ended is not None and ended.base_offset == self.log_end_offset:
            return
        self.segments.append(self._new_segment(self.log_end_offset))
        if ended is None:
            return
        # They can be made again from the log, so a full disk fails nothing.
        try:
            ended.write_indexes()
            self._write_side_files()
        except OSError as error:
            logger.warning("%s: cannot write the indexes of %s: %s", self.partition, ended.path.name, error)
            ended.remove_index_files()

    def _write_side_files(self) -> None:
        self._side_files.write_producers(self.producers, self.log_end_offset)
        self._side_files.write_leader_epochs(self.leader_epochs)

    def _storage_error(self, error: OSError) -> KafkaStorageError:
        text = (
            f"{self.partition}: cannot append at offset {self.log_end_offset} in {self.directory}: "
            f"{described(error)}; reads go on"
        )
        if not self._storage_failed:
            self._storage_failed = True
            logger.error("%s", text)
        return KafkaStorageError(text)

    def flush(self, now_ms: int) -> None:
        """Makes everything appended so far survive a power cut."""
        for segment in self._unflushed_segments():
            segment.flush()
        self.flushed(self.log_end_offset)
        self.last_flush_ms = now_ms

    def begin_flush(self, *, closed_only: bool) -> tuple[list[int], int]:
        """(descriptors to be synced and closed on another thread, offset to give to `flushed` afterwards)."""
        segments = list(self._unflushed_segments())
        end = self.log_end_offset
        if closed_only:
            segments = [segment for segment in segments if segment is not self.active]
            end = self.active.base_offset
        return [segment.duplicate_descriptor() for segment in segments], end

    def flushed(self, offset: int) -> None:
        """All data below `offset` is on the disk."""
        self.recovery_point = max(self.recovery_point, offset)

    def _unflushed_segments(self) -> Iterator[Segment]:
        for segment, following in zip_longest(self.segments, self.segments[1:]):
            end = self.log_end_offset if following is None else following.base_offset
            if end > self.recovery_point:
                yield segment

    def close(self, now_ms: int) -> None:
        """Flushes, and writes what spares the next opening all scanning."""
        try:
            self.flush(now_ms)
            self.active.write_indexes()
            self._write_side_files()
        finally:
            for segment in self.segments:
                segment.close()

    def abandon(self) -> None:
        """Closes the files of a log that is to be deleted, or whose node was killed. It must not be used any
        more."""
        for segment in self.segments:
            segment.close()
        self.segments.clear()

    @property
    def first_base_offset(self) -> int:
        """Where its files begin."""
        return self.segments[0].base_offset

    # Reading

    @property
    def high_watermark(self) -> int:
        """Below it nothing is lost as long as one of the replicas in sync is left."""
        return self.log_end_offset if self.replicated_to is None else self.replicated_to

    @property
    def last_stable_offset(self) -> int:
        """Below it all transactions are decided."""
        unstable = self.producers.first_unstable_offset
        end = self.high_watermark
        return end if unstable is None else min(end, max(unstable, self.log_start_offset))

    def aborted_in(self, offset: int, data: bytes) -> list[AbortedSpan]:
        """Which transactions among `data`, read from `offset` on, were aborted."""
        if not data or not self.producers.aborted or self.producers.aborted[-1].last_offset < offset:
            return []
        return self.producers.aborted_between(offset, end_of_batches(data, offset))

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool, before: int | None = None) -> bytes:
        """Batches from the one that holds `offset` on, of those that begin `before` an offset; empty at the
        end of the log.

        Stays within `max_bytes`, but for a first batch that is larger and wanted with `at_least_one`.
        Raises: OffsetOutOfRangeError, KafkaStorageError, CorruptMessageError.
        """
        data = self._read(offset, max_bytes, at_least_one, before, as_file=False)
        assert isinstance(data, bytes)
        return data

    def read_to_send(
        self, offset: int, max_bytes: int, *, at_least_one: bool, before: int | None = None
    ) -> bytes | FilePart:
        """As `read`; many bytes may stay in their file."""
        return self._read(offset, max_bytes, at_least_one, before, as_file=True)

    def _read(
        self, offset: int, max_bytes: int, at_least_one: bool, before: int | None, *, as_file: bool
    ) -> bytes | FilePart:
        self.check_offset(offset)
        segment = self.active
        try:
            for segment, following in _from_offset(self.segments, offset):
                end_offset = self.log_end_offset if following is None else following.base_offset
                rules = Rules(end_offset, self._is_contiguous)
                data = segment.read(
                    offset, max_bytes, rules, at_least_one=at_least_one, before=before, as_file=as_file
                )
                # Compaction may have removed a segment's end; what follows the offset is in the next one.
                if data is not None:
                    return data
        except UnreadableError as error:
            text = f"{self.partition}: {described_damage(segment, error.damage)}"
            logger.error("%s; offset %d was asked for", text, offset)
            raise CorruptMessageError(text) from None
        except OSError as error:
            raise KafkaStorageError(
                f"{self.partition}: cannot read offset {offset}: {described(error)}"
            ) from error
        return b""

    def check_offset(self, offset: int) -> None:
        """Raises: OffsetOutOfRangeError."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRangeError(
                f"{self.partition}: offset {offset} is outside "
                f"{self.log_start_offset} to {self.log_end_offset}"
            )

    def first_at_or_after(
        self, timestamp: int, max_unpacked_bytes: int = MOST_UNPACKED_BYTES
    ) -> Found | None:
        """(offset, timestamp, leader epoch) of the first record at or after a time in milliseconds, of those
        from the log's start on. Raises: LargeBatchError."""
        for segment in self.segments:
            if segment.max_timestamp >= timestamp:
                found = segment.first_at_or_after(timestamp, self.log_start_offset, max_unpacked_bytes)
                if found is not None:
                    return found
        return None

    def with_max_timestamp(self, max_unpacked_bytes: int = MOST_UNPACKED_BYTES) -> Found | None:
        """(offset, timestamp, leader epoch) of the record with the greatest timestamp. Raises:
        LargeBatchError."""
        newest = max(self.segments, key=lambda segment: segment.max_timestamp)
        return newest.with_max_timestamp(max_unpacked_bytes)

    def size(self) -> int:
        """Bytes in all segments."""
        return sum(segment.size for segment in self.segments)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    # Removing

    def delete_records_before(self, offset: int) -> None:
        """Moves the start of the log up; whole segments below it go. Raises: OffsetOutOfRangeError."""
        self.check_offset(offset)
        self.log_start_offset = offset
        self._remove_segments(count_below(self.segments, offset))
        self.producers.forget_before(offset)

    def enforce_retention(self, now_ms: int) -> None:
        """Removes the oldest segments by time, by size, and below the log's start."""
        count = count_below(self.segments, self.log_start_offset)
        if self.settings.deletes:
            count = max(
                count,
                count_expired(self.segments, self.settings, now_ms),
                count_beyond_size(self.segments, self.settings),
            )
        if count == 0:
            return
        if count == len(self.segments):
            self.roll()
        self._remove_segments(count)
        self.log_start_offset = max(self.log_start_offset, self.segments[0].base_offset)
        self.leader_epochs.truncate_from_start(self.log_start_offset)
        self.producers.forget_before(self.log_start_offset)

    def _remove_segments(self, count: int) -> None:
        for segment in self.segments[:count]:
            segment.delete()
        del self.segments[:count]

    def cut_off(self, end_offset: int) -> None:
        """Removes all batches that reach beyond an offset, and closes the log, to be opened anew."""
        while len(self.segments) > 1 and self.active.base_offset >= end_offset:
            self.segments.pop().delete()
        active = self.active
        size = active.size
        for position, batches in active.scan(0, check_crcs=False):
            beyond = next((batch for batch in batches if batch.last_offset >= end_offset), None)
            if beyond is not None:
                size = position + beyond.position
                break
        active.remove_index_files()
        active.truncate(size)
        self._side_files.remove_producers_beyond(end_offset)
        self.leader_epochs.truncate_from_end(end_offset)
        self._side_files.write_leader_epochs(self.leader_epochs)
        self.abandon()

    def remove_all(self) -> None:
        """Deletes the files of a log that is closed, to be opened anew, and empty. What is known of it
        beside them stays."""
        for path in self.directory.iterdir():
            if path.name != OWN_OFFSETS_FILE:
                path.unlink()

    # Compaction, the part of it that belongs to the log's thread

    def replace_segments(self, old: Sequence[Segment], cleaned: AnyPath) -> bool:
        """Puts a file of surviving batches in the place of closed segments; False if those are gone.

        The first rename decides: a crash after it leaves segments that the next opening knows to be merged.
        """
        first = self.segments.index(old[0]) if old[0] in self.segments else -1
        if first < 0 or self.segments[first : first + len(old)] != list(old):
            cleaned.unlink()
            return False
        for segment in old:
            segment.remove_index_files()
        cleaned.replace(old[0].path)
        for segment in old[1:]:
            segment.path.unlink()
        for segment in old:
            segment.close()
        merged = self._new_segment(old[0].base_offset)
        for position, batches in merged.scan(0, check_crcs=False):
            merged.note(batches, position)
        merged.write_indexes()
        self.segments[first : first + len(old)] = [merged]
        return True

    # Helpers

    def _new_segment(self, base_offset: int) -> Segment:
        return Segment(self.directory, base_offset, self.settings.index_interval_bytes)


def _from_offset(segments: list[Segment], offset: int) -> Iterator[tuple[Segment, Segment | None]]:
    """Those that may hold `offset` and what comes behind, each with the one after it."""
    first = max(0, bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1)
    return zip_longest(segments[first:], segments[first + 1 :])
