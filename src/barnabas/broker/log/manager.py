"""All logs of a data directory: opening, creating, deleting, and the upkeep that goes on behind the requests.

Owns the mark of a clean shutdown. Must not know topics' metadata or requests. Its methods belong to the
event loop's thread; slow work is handed to other threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping

from barnabas.broker.log.compaction import CompactionPlan, collect_keys, plan_compaction, write_survivors
from barnabas.broker.log.files import described, remove_tree, sync_directory
from barnabas.broker.log.memory_files import AnyPath
from barnabas.broker.log.offset_checkpoints import NOTHING_KNOWN, LogOffsets, OffsetCheckpoints
from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker.log.settings import LogSettings
from barnabas.clock import now_ms
from barnabas.errors import CorruptBatchError
from barnabas.turns import in_turns
from barnabas.types import TopicPartition

logger = logging.getLogger(__name__)

CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
DELETED_SUFFIX = "-delete"


def log_directories(directory: AnyPath) -> list[AnyPath]:
    """The directories that hold logs of partitions: those named `TOPIC-PARTITION`."""
    return [
        path for path in directory.glob("*-*") if path.is_dir() and path.name.rpartition("-")[2].isdigit()
    ]


class LogManager:
    """The logs in `directory`, by partition."""

    def __init__(self, directory: AnyPath, leader_epoch: int) -> None:
        self._directory = directory
        self._leader_epoch = leader_epoch
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._clean_mark = directory / CLEAN_SHUTDOWN_FILE
        self.was_clean = self._clean_mark.exists()
        self._checkpoints = OffsetCheckpoints(directory)

    def open(self, settings: Mapping[TopicPartition, LogSettings]) -> None:
        """Opens the logs of all partitions that exist; directories of others go."""
        for path in self._directory.glob(f"*{DELETED_SUFFIX}"):
            remove_tree(path)
        names = {str(partition) for partition in settings}
        for path in log_directories(self._directory):
            if path.name not in names:
                logger.warning("%s belongs to no topic, as its deletion was cut short; deleted now", path)
                self.discard_directory(path)
        for partition, its_settings in settings.items():
            offsets = self._checkpoints.of(partition, self._directory / str(partition))
            self._open_log(partition, its_settings, offsets, clean=self.was_clean)
        # From here on the files change; until the next end in good order a start has to check them.
        self._clean_mark.unlink(missing_ok=True)

    def _open_log(
        self, partition: TopicPartition, settings: LogSettings, offsets: LogOffsets, *, clean: bool
    ) -> PartitionLog:
        log = PartitionLog(
            self._directory / str(partition),
            partition,
            settings,
            leader_epoch=self._leader_epoch,
            now_ms=now_ms(),
            recovery_point=offsets.recovery_point,
            log_start_offset=offsets.start,
            clean=clean,
            was_compacted=offsets.cleaned_to > 0,
        )
        log.first_dirty_offset = offsets.cleaned_to
        self._logs[partition] = log
        return log

    def create(self, partition: TopicPartition, settings: LogSettings) -> PartitionLog:
        """A new, empty log. Raises: OSError."""
        self.forget(partition)
        return self._open_log(partition, settings, NOTHING_KNOWN, clean=False)

    def forget(self, partition: TopicPartition) -> None:
        """Deletes what is left of a log that was there. Raises: OSError."""
        log = self._logs.pop(partition, None)
        if log is not None:
            log.abandon()
        directory = self._directory / str(partition)
        self.discard_directory(directory)
        self._checkpoints.replace(partition, directory, NOTHING_KNOWN)

    def truncate(self, log: PartitionLog, end_offset: int) -> PartitionLog:
        """The log without what reaches beyond an offset. Where nothing is left, or the offset lies behind the
        log's end, it is empty, and begins there.

        Raises: OSError.
        """
        partition, settings = log.partition, log.settings
        start_offset = log.log_start_offset
        leaves_some = max(log.segments[0].base_offset, start_offset) < end_offset <= log.log_end_offset
        if leaves_some:
            kept = LogOffsets(
                min(log.recovery_point, end_offset), start_offset, min(log.first_dirty_offset, end_offset)
            )
        else:
            kept = LogOffsets(start=end_offset)
        # First, so that a process that is killed meanwhile does not miss next time what is cut off.
        self._checkpoints.replace(partition, log.directory, kept)
        if leaves_some:
            log.cut_off(end_offset)
        else:
            log.abandon()
            log.remove_all()
        return self._open_log(partition, settings, kept, clean=False)

    def get(self, partition: TopicPartition) -> PartitionLog:
        return self._logs[partition]

    def delete(self, log: PartitionLog) -> None:
        """Takes a log out of service; its files go at once, or at the next start after a crash. Does nothing
        where it is no more, as its node was stopped or a new one has its place."""
        if self._logs.get(log.partition) is log:
            del self._logs[log.partition]
            log.abandon()
            self.discard_directory(log.directory)

    def discard_directory(self, path: AnyPath) -> None:
        """Deletes the directory of a log that no partition has."""
        if path.exists():
            doomed = path.with_name(f"{uuid.uuid4().hex}{DELETED_SUFFIX}")
            path.rename(doomed)
            remove_tree(doomed, ignore_errors=True)

    def close(self) -> None:
        """Flushes and closes all logs, and marks the end as one in good order if all went well."""
        good = True
        for log in self._logs.values():
            try:
                log.close(now_ms())
            except OSError as error:
                good = False
                logger.error("%s: cannot close in good order: %s", log.partition, described(error))
        try:
            self.write_checkpoints()
            if good:
                self._clean_mark.touch()
                sync_directory(self._directory)
        except OSError as error:
            logger.error(
                "%s: cannot write checkpoints, the next start will check all logs: %s",
                self._directory,
                described(error),
            )
        self._logs.clear()

    def abandon(self) -> None:
        """Lets go of all logs as the end of a process does: nothing is flushed or written down."""
        for log in self._logs.values():
            log.abandon()
        self._logs.clear()

    # Upkeep

    async def _each(self) -> AsyncIterator[PartitionLog]:
        """Each log that is still there when its turn comes."""
        async for log in in_turns(list(self._logs.values())):
            if self._logs.get(log.partition) is log:
                yield log

    async def enforce_retention(self) -> None:
        """Removes what is too old or too much. A failing disk is logged; the next round tries again."""
        async for log in self._each():
            log.producers.expire(now_ms() - log.settings.producer_id_expiration_ms)
            try:
                log.enforce_retention(now_ms())
            except OSError as error:
                logger.error("%s: cannot remove old segments: %s", log.partition, described(error))

    async def flush_due(self) -> None:
        """Forces to the disk, on another thread, segments that have ended and logs whose flush.ms is over."""
        async for log in self._each():
            due = now_ms() - log.last_flush_ms >= log.settings.flush_ms
            if due:
                log.last_flush_ms = now_ms()
            descriptors, offset = log.begin_flush(closed_only=not due)
            if not descriptors:
                continue
            try:
                await asyncio.to_thread(_sync_and_close, descriptors)
                log.flushed(offset)
            except OSError as error:
                logger.error("%s: cannot flush: %s", log.partition, described(error))

    async def compact_all(self) -> None:
        """Compacts every log that is due, the slow part on another thread."""
        async for log in self._each():
            plan = plan_compaction(log, now_ms()) if log.settings.compacts else None
            if plan is None:
                continue
            try:
                await self._compact(log, plan)
            except (OSError, CorruptBatchError) as error:
                if self._logs.get(log.partition) is log:
                    logger.error("%s: compaction failed: %s", log.partition, error)

    async def _compact(self, log: PartitionLog, plan: CompactionPlan) -> None:
        keys = await asyncio.to_thread(collect_keys, plan)
        for group in plan.groups:
            cleaned = await asyncio.to_thread(write_survivors, log.directory, group, keys, plan.cleaner)
            if self._logs.get(log.partition) is not log or not log.replace_segments(group, cleaned):
                return
        log.first_dirty_offset = plan.end_offset

    def write_checkpoints(self) -> None:
        """Raises: OSError."""
        self._checkpoints.write(self._logs.values())

    def write_start_offsets(self) -> None:
        """Makes deleted records stay deleted. Raises: OSError."""
        self._checkpoints.write_starts(self._logs.values())


def _sync_and_close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
