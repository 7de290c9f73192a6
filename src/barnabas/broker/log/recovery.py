"""Opening a log as the process before has left it: its segments are found, indexed, and, after a crash, read
and repaired.

Owns what is trusted, what is read again, and what is cut off. Must not know how the log goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import zip_longest

from barnabas._kernel import BatchInfo
from barnabas.broker.log.damage import DamagedLogError, Rules
from barnabas.broker.log.markers import end_marker
from barnabas.broker.log.memory_files import AnyPath
from barnabas.broker.log.producers import ProducerStates
from barnabas.broker.log.segment import Segment, described_damage
from barnabas.broker.log.side_files import SideFiles
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)

# What a crash may leave behind and nothing refers to.
UNFINISHED_SUFFIXES = (".cleaned", ".tmp")
# Of the last segment after a crash nobody knows where it ends.
NO_END = 2**63 - 1


class LogRecovery:
    """What `run` finds in a folder is in the attributes then. `is_contiguous`: each offset is there, but for
    what the log's start has passed. `recovery_point` and `clean`: as of PartitionLog."""

    def __init__(
        self,
        directory: AnyPath,
        partition: TopicPartition,
        *,
        index_interval_bytes: int,
        is_contiguous: bool,
        recovery_point: int,
        log_start_offset: int,
        clean: bool,
        now_ms: int,
    ) -> None:
        self._directory = directory
        self._partition = partition
        self._index_interval_bytes = index_interval_bytes
        self._is_contiguous = is_contiguous
        self._clean = clean
        self._now_ms = now_ms
        self._side_files = SideFiles(directory, partition)
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.log_end_offset = 0
        self.leader_epochs = self._side_files.leader_epochs()
        self.producers = ProducerStates()
        self.segments: list[Segment] = []

    def run(self) -> None:
        """Raises: DamagedLogError where acknowledged records are gone, OSError."""
        try:
            self._open()
        except BaseException:
            for segment in self.segments:
                segment.close()
            raise

    def _open(self) -> None:
        for path in self._directory.iterdir():
            if path.suffix in UNFINISHED_SUFFIXES:
                path.unlink()
        bases = sorted(int(path.stem) for path in self._directory.glob("*.log"))
        self.producers, read_up_to = self._side_files.producers()
        lowest = bases[0] if bases else 0
        replay_from = lowest if read_up_to is None else read_up_to
        for base, next_base in zip_longest(bases, bases[1:]):
            segment = self._new_segment(base)
            if self.segments and self.log_end_offset > base:
                # A compaction that was cut short had merged this one into the one before.
                segment.delete()
                continue
            self.segments.append(segment)
            self._open_segment(segment, next_base, replay_from)
        if not self.segments:
            self.segments.append(self._new_segment(self.log_start_offset))
            self.log_end_offset = self.log_start_offset
        self._check_end()
        self.segments[-1].remove_index_files()
        self.log_start_offset = max(self.log_start_offset, self.segments[0].base_offset)
        self.log_end_offset = max(self.log_end_offset, self.log_start_offset)
        self.leader_epochs.truncate_from_end(self.log_end_offset)

    def _open_segment(self, segment: Segment, next_base: int | None, replay_from: int) -> None:
        """Indexes a segment and learns from it. Only what a write that was cut short has left at the log's
        end is cut off: all else was acknowledged, and is told of when it is read.

        Raises: DamagedLogError where records are missing before the next segment.
        """
        self.log_end_offset = max(self.log_end_offset, segment.base_offset)
        known_end = (
            next_base if next_base is not None else (self.recovery_point or None) if self._clean else None
        )
        is_trusted = known_end is not None and (self._clean or known_end <= self.recovery_point)
        # A compaction that was cut short has left what lies behind in this one, too.
        end_offset = NO_END if known_end is None or not self._is_contiguous else known_end
        rules = Rules(end_offset, self._is_contiguous)
        if is_trusted and segment.load_indexes():
            found_end = segment.find_end_offset()
            ends_right = self._ends_right(found_end, known_end, is_last=next_base is None)
            if found_end is not None and ends_right and found_end <= replay_from:
                self.log_end_offset = max(self.log_end_offset, found_end)
                return
        segment.forget_indexes()
        for position, batches in segment.scan_good(rules):
            segment.note(batches, position)
            self._replay(segment, position, [b for b in batches if b.base_offset >= replay_from])
            for batch in batches:
                self.leader_epochs.assign(batch.leader_epoch, batch.base_offset)
            self.log_end_offset = max(self.log_end_offset, batches[-1].last_offset + 1)
        good_bytes, end_offset = segment.end_of_scan
        if good_bytes < segment.size:
            self._keep_or_cut(segment, known_end, end_offset)
        elif (
            next_base is not None
            and end_offset < next_base
            and not self._ends_right(end_offset, next_base, is_last=False)
        ):
            raise DamagedLogError(
                f"{self._partition}: offsets {end_offset} to {next_base} are missing in {self._directory}, "
                f"between {segment.path.name} and {next_base:020d}.log: restore the file from a copy, or, to "
                f"do without these records, move the files of all offsets below {next_base} away"
            )
        for damage in segment.damages:
            logger.error(
                "%s: %s; what lies around is served", self._partition, described_damage(segment, damage)
            )

    def _replay(self, segment: Segment, position: int, batches: Sequence[BatchInfo]) -> None:
        """Learns the producers' states from batches whose positions are relative to `position`."""
        for batch in batches:
            if not batch.is_control:
                self.producers.update((batch,), self._now_ms)
                continue
            try:
                marker = end_marker(batch, segment.read_batch(position, batch))
            except ValueError as error:
                logger.error("%s: control batch at offset %d: %s", self._partition, batch.base_offset, error)
                continue
            if marker is not None:
                self.producers.end(marker, batch.last_offset, batch.max_timestamp, self._now_ms)

    def _keep_or_cut(self, segment: Segment, known_end: int | None, end_offset: int) -> None:
        """Of a bad end: cuts off the part of a batch, and keeps a whole one, which was acknowledged."""
        count = segment.offsets_of_bad_end() if known_end is None else None
        if known_end is None and count is None:
            aside = segment.path.with_suffix(f".cut-at-{segment.end_of_scan[0]}")
            aside.write_bytes(segment.bad_end())
            logger.warning(
                "%s: %s ends with a part of a batch, as a write that was cut short leaves it: cut off at "
                "byte %d, offset %d, and kept as %s",
                self._partition,
                segment.path.name,
                segment.end_of_scan[0],
                end_offset,
                aside.name,
            )
            segment.truncate(segment.end_of_scan[0])
            return
        segment.note_bad_end(end_offset + count if count is not None else known_end or end_offset)
        self.log_end_offset = max(self.log_end_offset, segment.damages[-1].next_offset)

    def _ends_right(self, end_offset: int | None, known_end: int | None, *, is_last: bool) -> bool:
        """Whether a segment that ends so misses nothing, and has nothing that is the next one's. Compaction
        leaves the last one alone."""
        if end_offset is None or known_end is None or end_offset == known_end:
            return end_offset is not None
        may_miss = (not self._is_contiguous and not is_last) or known_end <= self.log_start_offset
        return end_offset < known_end and may_miss

    def _check_end(self) -> None:
        """Raises: DamagedLogError."""
        end = max(self.log_end_offset, self.log_start_offset)
        if end < self.recovery_point:
            raise DamagedLogError(
                f"{self._partition}: offsets {end} to {self.recovery_point}, which were on the disk, are "
                f"missing at the end of {self._directory}: restore its files from a copy, or, to do without "
                "these records, delete recovery-point-offset-checkpoint beside that folder"
            )
        self.recovery_point = min(self.recovery_point, end)

    def _new_segment(self, base_offset: int) -> Segment:
        return Segment(self._directory, base_offset, self._index_interval_bytes)
