"""One assigned partition of a consumer: where it stands, and what was fetched of it and not yet returned.

Owns nothing: the fetch buffer does, and changes it with its lock held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from barnabas._kernel import Record, RecordReader
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.values import frozen, mutable

if TYPE_CHECKING:
    from barnabas._kernel import FetchCredit

StartingPoint = Literal["committed", "reset", "made again", "earliest", "latest"]
"""Where a position comes from: what the group committed, auto_offset_reset (since the position is out of
range, or the topic was made again), or an end of the partition."""

NO_END_OFFSET = 2**63 - 1


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


@mutable
class PartitionState:
    """One assigned partition. `epoch` changes whenever what is under way for it loses its meaning."""

    partition: TopicPartition
    epoch: int
    starting_point: StartingPoint | None = "committed"
    """What the position has yet to be looked up from; None when there is a position."""
    topic_id: UUID | None = None
    """The topic that the position is in (KIP-516), None where that is not known."""
    next_topic_id: UUID | None = None
    """The topic that has the name now, where `topic_id` is gone."""
    position: int = -1
    """Offset of the next record to return."""
    leader_epoch: int = -1
    """Leader epoch of the last record returned, -1 if it is not known (KIP-320)."""
    returned_by: int = 0
    """The number of the poll that returned records last."""
    handled_position: int = -1
    """Where that poll began, or as far as the caller has got with what it returned."""
    handled_leader_epoch: int = -1
    fetch_offset: int = -1
    """Offset of the next record to fetch."""
    fetch_leader_epoch: int = -1
    """Leader epoch of the last record before `fetch_offset`, -1 if it is not known."""
    checked_leader_epoch: int = -1
    """The leader's epoch when its log was last seen to hold what was read, up to `fetch_offset`."""
    end_offset: int = NO_END_OFFSET
    """Nothing from here on is wanted at present."""
    is_paused: bool = False
    is_stopped: bool = False
    """After an error, until a seek."""
    is_queued: bool = False
    log_start_offset: int = -1
    high_watermark: int = -1
    highest_known_offset: int = -1
    """The highest watermark, or end of records, of all fetches that brought records. An election, or a
    follower, may give a lower watermark later. Apache Kafka looks the watermark up before it reads records,
    so these may end behind it."""
    last_stable_offset: int = -1
    marked_end: int = -1
    """Where the last `PartitionEnd` stands, or stood."""
    has_backlog: bool = False
    """Whether the last fetch left much to be fetched."""
    credit: FetchCredit | None = None
    """What the kernel fetches within, while it does that in bulk."""
    credit_place: int = 0
    readers: deque[tuple[Reader | PartitionEnd, int]] = field(
        default_factory=deque[tuple[Reader | PartitionEnd, int]]
    )
    """With the bytes of each."""
    queued_bytes: int = 0
    fetched_bytes: int = 0
    returned_records: int = 0

    @property
    def has_position(self) -> bool:
        return self.starting_point is None


@frozen
class Failure:
    """An error that a take raises, and, if it concerns one, the partition with its position (-1: none)."""

    error: BarnabasError
    partition: TopicPartition | None = None
    position: int = -1
