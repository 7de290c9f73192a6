"""The offsets of the assigned partitions as librdkafka keeps them: read, stored, and committed.

Read is where the program is; stored is what a commit without arguments, or an automatic one, commits;
committed is what was. All three begin unknown with each assignment. Thread safe. Knows nothing of groups or
requests.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from barnabas.types import OffsetAndMetadata, TopicPartition


class StoredOffsets:
    """`stores_automatically`: what is read is stored (enable.auto.offset.store)."""

    def __init__(self, *, stores_automatically: bool) -> None:
        self._stores_automatically = stores_automatically
        self._lock = threading.Lock()
        self._read: dict[TopicPartition, OffsetAndMetadata] = {}
        self._stored: dict[TopicPartition, OffsetAndMetadata] = {}
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}

    def was_read(self, partition: TopicPartition, next_offset: int, leader_epoch: int) -> None:
        """The program was given everything before `next_offset`; `leader_epoch` is the last message's, or
        -1."""
        offset = OffsetAndMetadata(next_offset, "", None if leader_epoch < 0 else leader_epoch)
        with self._lock:
            self._read[partition] = offset
            if self._stores_automatically:
                self._stored[partition] = offset

    def store(self, partition: TopicPartition, offset: OffsetAndMetadata) -> None:
        with self._lock:
            self._stored[partition] = offset

    def read(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        """The next offset to read, None before anything was read since the assignment or the last seek."""
        with self._lock:
            return self._read.get(partition)

    def due(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """What is stored and goes beyond what was committed."""
        with self._lock:
            return {p: self._stored[p] for p in partitions if p in self._stored and self._is_beyond(p)}

    def stored(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        with self._lock:
            return {p: self._stored[p] for p in partitions if p in self._stored}

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        with self._lock:
            return {p: self._committed[p] for p in partitions if p in self._committed}

    def _is_beyond(self, partition: TopicPartition) -> bool:
        committed = self._committed.get(partition)
        return committed is None or self._stored[partition].offset > committed.offset

    def were_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        with self._lock:
            self._committed.update(offsets)

    def were_not_committed(self, partitions: Iterable[TopicPartition]) -> None:
        """A commit of these has failed: what is stored is due again."""
        with self._lock:
            for partition in partitions:
                self._committed.pop(partition, None)

    def was_sought(self, partition: TopicPartition) -> None:
        """A seek: where the program is shows with the next message."""
        with self._lock:
            self._read.pop(partition, None)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They are not assigned any more, or anew."""
        with self._lock:
            for partition in partitions:
                self._read.pop(partition, None)
                self._stored.pop(partition, None)
                self._committed.pop(partition, None)
