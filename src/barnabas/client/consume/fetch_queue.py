"""What was fetched of one partition and not yet returned, and where the next fetch goes on.

Owns nothing: the fetch buffer does, and changes it with its lock held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas._kernel import Record, RecordReader
from barnabas.client.consume.partition_state import PartitionState
from barnabas.values import frozen

if TYPE_CHECKING:
    from barnabas._kernel import FetchCredit


class GivenBack:
    """Records that were taken but not used, to be taken again: a reader like the kernel's."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._taken = 0

    @property
    def next_offset(self) -> int:
        return self._records[self._taken - 1].offset + 1 if self._taken else self._records[0].offset

    @property
    def last_leader_epoch(self) -> int:
        epoch = self._records[max(0, self._taken - 1)].leader_epoch
        return -1 if epoch is None else epoch

    @property
    def remaining_bytes(self) -> int:
        return sum(record.serialized_size + 1 for record in self._records[self._taken :])

    def take(self, max_records: int) -> list[Record]:
        taken = list(self._records[self._taken : self._taken + max_records])
        self._taken += len(taken)
        return taken


Reader = RecordReader | GivenBack


@frozen
class PartitionEnd:
    """Stands in a partition's queue where a fetch found nothing more."""

    offset: int


@frozen
class FetchPlace:
    """Where the next fetch of a partition begins, as of one moment."""

    epoch: int
    """That of the partition's state: after a seek it is another one."""
    fetch_offset: int
    leader_epoch: int
    """Leader epoch of the last record before, -1 if it is not known."""


class FetchQueue:
    """Of one assigned partition, whose `state` is the subscription's."""

    __slots__ = (
        "checked_leader_epoch",
        "credit",
        "credit_place",
        "fetch_leader_epoch",
        "fetch_offset",
        "fetched_bytes",
        "has_backlog",
        "has_turn",
        "marked_end",
        "partition",
        "queued_bytes",
        "readers",
        "state",
    )

    def __init__(self, state: PartitionState) -> None:
        self.state = state
        self.partition = state.partition
        self.readers: deque[tuple[Reader | PartitionEnd, int]] = deque()
        """With the bytes of each."""
        self.queued_bytes = 0
        self.has_turn = False
        """Whether it is among those that are taken from in turn."""
        self.fetch_offset = -1
        """Offset of the next record to fetch; means nothing while there is no position."""
        self.fetch_leader_epoch = -1
        """Leader epoch of the last record before `fetch_offset`, -1 if it is not known."""
        self.checked_leader_epoch = -1
        """The leader's epoch when its log was last seen to hold what was read, up to `fetch_offset`."""
        self.marked_end = -1
        """Where the last `PartitionEnd` stands, or stood."""
        self.has_backlog = False
        """Whether the last fetch left much to be fetched."""
        self.credit: FetchCredit | None = None
        """What the kernel fetches within, while it does that in bulk."""
        self.credit_place = 0
        self.fetched_bytes = 0

    def drop(self) -> None:
        """Forgets what was fetched."""
        self.has_backlog = False
        self.readers.clear()
        self.queued_bytes = 0
        self.marked_end = -1

    def fetch_from_position(self) -> None:
        self.fetch_offset = self.state.position
        self.fetch_leader_epoch = self.state.leader_epoch
        self.checked_leader_epoch = -1

    @property
    def is_read_ahead(self) -> bool:
        """Whether the taker of records was interrupted before the position moved."""
        reader = self.readers[0][0] if self.readers else None
        return isinstance(reader, RecordReader | GivenBack) and reader.next_offset > self.state.position
