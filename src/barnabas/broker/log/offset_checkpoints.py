"""What is known of each log of a data directory beside the log itself: how far it is on the disk, where it
begins, and how far it was compacted. Kept in Kafka's three checkpoint files, one row for each log.

Owns these files, and what holds in place of a row that is not true any more. Knows nothing of what a log
holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass
from typing import Protocol

from barnabas.broker.log.files import read_checkpoint, write_checkpoint
from barnabas.broker.log.memory_files import AnyPath
from barnabas.types import TopicPartition

RECOVERY_POINTS_FILE = "recovery-point-offset-checkpoint"
START_OFFSETS_FILE = "log-start-offset-checkpoint"
CLEANER_OFFSETS_FILE = "cleaner-offset-checkpoint"
FILES = (RECOVERY_POINTS_FILE, START_OFFSETS_FILE, CLEANER_OFFSETS_FILE)
# In the folder of a log: what holds for it in place of its rows, until those are written again.
OWN_OFFSETS_FILE = "own-offsets-checkpoint"


@dataclass(frozen=True, slots=True)
class LogOffsets:
    """`recovery_point`: all below is on the disk. `start`: where the log begins. `cleaned_to`: compaction has
    seen all below."""

    recovery_point: int = 0
    start: int = 0
    cleaned_to: int = 0


NOTHING_KNOWN = LogOffsets()


class CheckpointedLog(Protocol):
    """What is written down of a log."""

    partition: TopicPartition
    recovery_point: int
    log_start_offset: int
    first_dirty_offset: int

    @property
    def first_base_offset(self) -> int:
        """Where its files begin, so that a start there needs no row."""
        ...


class OffsetCheckpoints:
    """The checkpoint files in `directory`."""

    def __init__(self, directory: AnyPath) -> None:
        self._directory = directory
        self._rows = {name: self._read(name) for name in FILES}
        """What is in each file, without one that could not be written."""
        self._own: dict[TopicPartition, AnyPath] = {}
        """The own files of logs, as far as they are known."""

    def _read(self, name: str) -> dict[TopicPartition, int]:
        rows = read_checkpoint(self._directory / name) or ()
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in rows}

    def of(self, partition: TopicPartition, directory: AnyPath) -> LogOffsets:
        """What holds for a log that is about to be opened."""
        own = read_checkpoint(directory / OWN_OFFSETS_FILE)
        if own is None:
            return LogOffsets(*(self._rows.get(name, {}).get(partition, 0) for name in FILES))
        self._own[partition] = directory / OWN_OFFSETS_FILE
        return LogOffsets(*(int(offset) for (offset,) in own))

    def replace(self, partition: TopicPartition, directory: AnyPath, offsets: LogOffsets) -> None:
        """Has `offsets` hold for a log, whatever its rows say, even after a crash. To be called before the
        log changes. Raises: OSError."""
        wanted = astuple(offsets)
        rows = [self._rows[name].get(partition, 0) if name in self._rows else None for name in FILES]
        if partition not in self._own and rows == [*wanted]:
            return
        directory.mkdir(parents=True, exist_ok=True)
        write_checkpoint(directory / OWN_OFFSETS_FILE, ((offset,) for offset in wanted))
        self._own[partition] = directory / OWN_OFFSETS_FILE

    def write(self, logs: Collection[CheckpointedLog]) -> None:
        """Raises: OSError."""
        self._write_rows(RECOVERY_POINTS_FILE, ((log, log.recovery_point) for log in logs))
        self._write_starts(logs)
        self._write_rows(CLEANER_OFFSETS_FILE, ((log, log.first_dirty_offset) for log in logs))
        own, self._own = self._own, {}
        for path in own.values():
            path.unlink(missing_ok=True)

    def write_starts(self, logs: Collection[CheckpointedLog]) -> None:
        """Makes deleted records stay deleted. Raises: OSError."""
        if self._own:
            self.write(logs)
        else:
            self._write_starts(logs)

    def _write_starts(self, logs: Iterable[CheckpointedLog]) -> None:
        rows = [(log, log.log_start_offset) for log in logs if log.log_start_offset > log.first_base_offset]
        self._write_rows(START_OFFSETS_FILE, rows)

    def _write_rows(self, name: str, offsets: Iterable[tuple[CheckpointedLog, int]]) -> None:
        rows = {log.partition: offset for log, offset in offsets}
        self._rows.pop(name, None)
        write_checkpoint(
            self._directory / name,
            ((partition.topic, partition.partition, offset) for partition, offset in rows.items()),
        )
        self._rows[name] = rows
