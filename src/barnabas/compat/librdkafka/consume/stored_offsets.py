"""The offsets of the assigned partitions as librdkafka keeps them: read, stored, and committed.

Read is where the program is; stored is what a commit without arguments, or an automatic one, commits;
committed is what was. All three begin unknown with each assignment. Thread safe: the lock is held for
moments, and never while anything is decoded or sent. What cannot be is refused, and told as a fault. Knows
nothing of groups or requests.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from barnabas.errors import ImpossibleOffsetError
from barnabas.types import OffsetAndMetadata, TopicPartition
from barnabas.values import frozen


@frozen
class HandedOut:
    """What the program was given of a partition: everything before `next_offset`.

    `leader_epoch` is the last message's, or -1. `epoch` is that of the fetch buffer: with another one the
    partition may be read again from an earlier offset. `highest_known_offset`: no fetch brought or announced
    a record from here on, -1 before the first fetch.
    """

    partition: TopicPartition
    next_offset: int
    leader_epoch: int
    epoch: int
    highest_known_offset: int


class StoredOffsets:
    """`stores_automatically`: what is read is stored (enable.auto.offset.store). `is_assigned`: whether the
    program has a partition at present. `on_fault` hears of what was refused, on any thread."""

    def __init__(
        self,
        *,
        stores_automatically: bool,
        is_assigned: Callable[[TopicPartition], bool],
        on_fault: Callable[[ImpossibleOffsetError], None],
    ) -> None:
        self._stores_automatically = stores_automatically
        self._is_assigned = is_assigned
        self._on_fault = on_fault
        self._lock = threading.Lock()
        self._read: dict[TopicPartition, tuple[OffsetAndMetadata, int]] = {}
        """With the epoch of the fetch buffer."""
        self._stored: dict[TopicPartition, OffsetAndMetadata] = {}
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}

    def was_read(self, handed_out: HandedOut) -> None:
        """For the thread that has taken the loan back."""
        self.note(lambda: handed_out)

    def note(self, progress: Callable[[], HandedOut | None]) -> None:
        """Reads how far a loan has come, and stores that. For any thread: between the two no seek and no new
        assignment can happen, as their holders take the loan back first, and then come here."""
        with self._lock:
            handed_out = progress()
            error = None if handed_out is None else self._complaint(handed_out)
            if handed_out is not None and error is None:
                epoch = handed_out.leader_epoch
                offset = OffsetAndMetadata(handed_out.next_offset, "", None if epoch < 0 else epoch)
                self._read[handed_out.partition] = offset, handed_out.epoch
                if self._stores_automatically:
                    self._stored[handed_out.partition] = offset
        if error is not None:
            self._on_fault(error)

    def _complaint(self, handed_out: HandedOut) -> ImpossibleOffsetError | None:
        partition, offset = handed_out.partition, handed_out.next_offset
        read = self._read.get(partition)
        if not self._is_assigned(partition):
            reason = "the partition is not assigned to this consumer"
        elif read is not None and read[1] == handed_out.epoch and offset < read[0].offset:
            reason = f"it was read up to {read[0].offset} before, and nothing was sought since"
        elif 0 <= handed_out.highest_known_offset < offset:
            reason = f"no fetch brought or announced more than {handed_out.highest_known_offset}"
        else:
            return None
        return ImpossibleOffsetError(
            f"{partition}: offset {offset} was to be stored as read, but {reason}; it is not stored, and not "
            "committed. This is a fault of Barnabas: please report it"
        )

    def store(self, partition: TopicPartition, offset: OffsetAndMetadata) -> None:
        """What the program says."""
        with self._lock:
            self._stored[partition] = offset

    def read(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        """The next offset to read, None before anything was read since the assignment or the last seek."""
        with self._lock:
            read = self._read.get(partition)
            return None if read is None else read[0]

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

    def was_unread(self, partition: TopicPartition, offset: int) -> None:
        """What was read from `offset` on did not reach the program, and is to be read again."""
        with self._lock:
            self._read.pop(partition, None)
            if self._stores_automatically and partition in self._stored:
                self._stored[partition] = OffsetAndMetadata(offset)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They are not assigned any more, or anew."""
        with self._lock:
            for partition in partitions:
                self._read.pop(partition, None)
                self._stored.pop(partition, None)
                self._committed.pop(partition, None)
