"""One assigned partition of a consumer: where its reader stands.

Owns nothing: `SubscriptionState` does, and changes it with its lock held.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from barnabas.types import TopicPartition
from barnabas.values import mutable

StartingPoint = Literal["committed", "reset", "made again", "earliest", "latest"]
"""Where a position comes from: what the group committed, auto_offset_reset (since the position is out of
range, or the topic was made again), or an end of the partition."""

NO_END_OFFSET = 2**63 - 1


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
    end_offset: int = NO_END_OFFSET
    """Nothing from here on is wanted at present."""
    is_paused: bool = False
    is_stopped: bool = False
    """After an error, until a seek."""
    log_start_offset: int = -1
    high_watermark: int = -1
    highest_known_offset: int = -1
    """The highest watermark, or end of records, of all fetches that brought records. An election, or a
    follower, may give a lower watermark later. Apache Kafka looks the watermark up before it reads records,
    so these may end behind it."""
    last_stable_offset: int = -1
    returned_records: int = 0

    @property
    def has_position(self) -> bool:
        return self.starting_point is None

    @property
    def is_fetchable(self) -> bool:
        """Whether records from the position on are wanted at present, if there are any."""
        return (
            self.starting_point is None
            and not self.is_paused
            and not self.is_stopped
            and self.next_topic_id is None
        )

    def enter_next_topic(self) -> None:
        """The topic that has the name now is the one that is read. The position is the caller's to set."""
        if self.next_topic_id is None:
            return
        self.topic_id, self.next_topic_id = self.next_topic_id, None
        self.returned_by = 0
        self.log_start_offset = self.high_watermark = self.last_stable_offset = -1
        self.highest_known_offset = -1
