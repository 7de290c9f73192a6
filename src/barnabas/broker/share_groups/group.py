"""A share group: its members and what each is to fetch (KIP-932). Partitions may be several members'.

Must not know time, storage or requests; `coordinator` moves it along.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, field

from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.heartbeat_groups.group import JOINING_EPOCH, HeartbeatGroup, HeartbeatMember
from barnabas.broker_errors import (
    FencedMemberEpochError,
    GroupIdNotFoundError,
    InconsistentGroupProtocolError,
)
from barnabas.types import TopicPartition

Partitions = frozenset[TopicIdPartition]


@dataclass(slots=True, eq=False, kw_only=True)
class ShareMember(HeartbeatMember):
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: Partitions = frozenset()

    def check_epoch(self, epoch: int) -> None:
        """Of a heartbeat. Raises: FencedMemberEpochError."""
        must = "The member must abandon all its partitions and rejoin."
        if epoch > self.epoch:
            raise FencedMemberEpochError(
                f"The share group member has a greater member epoch ({epoch}) than the one known by the "
                f"group coordinator ({self.epoch}). {must}"
            )
        # The answer that told of the next epoch may have been lost.
        if epoch < self.epoch and epoch not in (JOINING_EPOCH, self.previous_epoch):
            raise FencedMemberEpochError(
                f"The share group member has a smaller member epoch ({epoch}) than the one known by the "
                f"group coordinator ({self.epoch}), and it does not match the previous member epoch "
                f"({self.previous_epoch}). {must}"
            )


@dataclass(slots=True, eq=False)
class ShareGroup(HeartbeatGroup[ShareMember, Partitions]):
    partition_counts: dict[uuid.UUID, int] = field(default_factory=dict[uuid.UUID, int])
    """Of the topics that are subscribed to, at `epoch`."""

    @property
    def kind(self) -> str:
        return "share"

    @property
    def state_name(self) -> str:
        return "Empty" if self.is_empty else "Stable"

    @property
    def takes_offsets(self) -> bool:
        return False

    def check_may_turn_classic(self) -> None:
        """Raises: InconsistentGroupProtocolError."""
        raise InconsistentGroupProtocolError(f"Group {self.group_id} is a share group.")

    def check_member(self, member_id: str, epoch: int) -> None:
        """Of a request about committed offsets, which the group has none of. Raises: GroupIdNotFoundError."""
        raise GroupIdNotFoundError(f"Group {self.group_id} is not a consumer group.")

    def check_commit(self, member_id: str, epoch: int, partitions: Collection[TopicPartition]) -> None:
        """Whatever the partitions are. Raises: as `check_member`."""
        self.check_member(member_id, epoch)

    def subscribes_to(self, topic: str) -> bool:
        return any(topic in member.subscribed_topic_names for member in self.members.values())
