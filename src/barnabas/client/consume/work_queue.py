"""Records that wait for a handler, those that are with one, and what may be committed of them.

Owns the order: records of one lane (a key, a partition, or a record alone) are given out one after the other,
lanes side by side. Pure: knows nothing of threads, tasks, handlers or consumers, and is not thread safe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, Literal

from barnabas._kernel import Record
from barnabas.types import OffsetAndMetadata, TopicPartition
from barnabas.values import mutable

Ordering = Literal["key", "partition", "none"]
"""Which records are handled in their order, one after the other: those of one key in one partition (records
without a key have no order), those of one partition, or none."""


@mutable
class Work:
    """One record on its way through a handler."""

    record: Record[Any, Any]
    partition: PartitionWork
    lane: Lane
    attempts: int = 0


@mutable
class Lane:
    """Records that are handled one after the other. Ready, or with a handler, while it exists."""

    key: bytes | None
    waiting: deque[Work] = field(default_factory=deque[Work])


@mutable
class PartitionWork:
    """One partition since it was assigned."""

    partition: TopicPartition
    lanes: dict[bytes, Lane] = field(default_factory=dict[bytes, Lane])
    """By key; those that have records."""
    unfinished: deque[int] = field(default_factory=deque[int])
    """Offsets in order, from the lowest that is not finished; finished ones behind it are still here."""
    finished: set[int] = field(default_factory=set[int])
    """Those of `unfinished` that are."""
    next_offset: int = -1
    """Behind the last record that came."""
    committed: int = -1
    under_way: int = 0
    is_given_up: bool = False

    @property
    def backlog(self) -> int:
        """Records that came and are not finished."""
        return len(self.unfinished) - len(self.finished)

    @property
    def committable(self) -> int:
        """The offset that a commit may name: everything below is finished."""
        return self.unfinished[0] if self.unfinished else self.next_offset


class WorkQueue:
    """The work of one consumer."""

    def __init__(self, ordering: Ordering) -> None:
        self._ordering = ordering
        self._partitions: dict[TopicPartition, PartitionWork] = {}
        self._ready: deque[Lane] = deque()

    def add(self, records: Sequence[Record[Any, Any]]) -> None:
        """Records of one poll, in their order in each partition."""
        for record in records:
            partition = self._partition_of(record)
            partition.unfinished.append(record.offset)
            partition.next_offset = record.offset + 1
            # The bytes: what a deserializer makes of them may have no hash.
            key = record.raw.key if self._ordering == "key" else None
            key = b"" if self._ordering == "partition" else key
            lane = None if key is None else partition.lanes.get(key)
            if lane is None:
                lane = Lane(key)
                if key is not None:
                    partition.lanes[key] = lane
                self._ready.append(lane)
            lane.waiting.append(Work(record, partition, lane))

    def _partition_of(self, record: Record[Any, Any]) -> PartitionWork:
        name = TopicPartition(record.topic, record.partition)
        partition = self._partitions.get(name)
        if partition is None:
            partition = self._partitions[name] = PartitionWork(name, committed=record.offset)
        return partition

    def next(self) -> Work | None:
        """The next record for a handler, if there is one; to be given back by `finish`."""
        while self._ready:
            lane = self._ready.popleft()
            if lane.waiting:
                work = lane.waiting.popleft()
                work.partition.under_way += 1
                return work
        return None

    def finish(self, work: Work) -> None:
        """The record is done with, and the next one of its lane may be given out."""
        partition = work.partition
        partition.under_way -= 1
        partition.finished.add(work.record.offset)
        while partition.unfinished and partition.unfinished[0] in partition.finished:
            partition.finished.remove(partition.unfinished.popleft())
        self._close_lane(work)

    def abandon(self, work: Work) -> None:
        """The record is with no handler any more, and not done with: nothing from it on is ever committed."""
        work.partition.under_way -= 1
        work.lane.waiting.clear()
        self._close_lane(work)

    def _close_lane(self, work: Work) -> None:
        if work.lane.waiting:
            self._ready.append(work.lane)
        elif work.lane.key is not None:
            del work.partition.lanes[work.lane.key]

    def give_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Gives out nothing more of these partitions."""
        for partition in self._known(partitions):
            partition.is_given_up = True
        for lane in [*self._ready, *(lane for p in self._known(partitions) for lane in p.lanes.values())]:
            if lane.waiting and lane.waiting[0].partition.is_given_up:
                lane.waiting.clear()

    def under_way(self, partitions: Iterable[TopicPartition] | None = None) -> int:
        """How many records of these partitions (of all) are with a handler."""
        return sum(partition.under_way for partition in self._known(partitions))

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """The partitions belong to somebody else; what is under way of them no longer counts."""
        for partition in partitions:
            self._partitions.pop(partition, None)

    def committable(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit of these partitions (of all) may store, where `note_commit` knows of less."""
        return {
            p.partition: OffsetAndMetadata(p.committable)
            for p in self._known(partitions)
            if p.committable > p.committed
        }

    def note_commit(self, offsets: Iterable[tuple[TopicPartition, OffsetAndMetadata]]) -> None:
        """These offsets were committed, or are about to be."""
        for name, offset in offsets:
            partition = self._partitions.get(name)
            if partition is not None:
                partition.committed = offset.offset

    def backlogs(self) -> dict[TopicPartition, int]:
        """Records that came and are not finished, by partition."""
        return {name: partition.backlog for name, partition in list(self._partitions.items())}

    def _known(self, partitions: Iterable[TopicPartition] | None) -> list[PartitionWork]:
        if partitions is None:
            return list(self._partitions.values())
        return [self._partitions[p] for p in partitions if p in self._partitions]
