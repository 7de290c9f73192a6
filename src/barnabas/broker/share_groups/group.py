"""A share group: its members and what each is to fetch (KIP-932). Partitions may be several members'.

Must not know time, storage or requests; `coordinator` moves it along.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field

from barnabas.broker.consumer_groups.assignors import TopicIdPartition
from barnabas.broker.group_journal import Written
from barnabas.broker.group_records import Entry
from barnabas.broker_errors import (
    FencedMemberEpochError,
    GroupIdNotFoundError,
    InconsistentGroupProtocolError,
    UnknownMemberIdError,
)
from barnabas.types import TopicPartition

JOINING_EPOCH = 0
LEAVING_EPOCH = -1


@dataclass(slots=True, eq=False)
class ShareMember:
    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    epoch: int = 0
    previous_epoch: int = 0
    assigned: frozenset[TopicIdPartition] = frozenset()
    session_timer: asyncio.TimerHandle | None = None

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
class ShareGroup:
    """`epoch` grows with each change of members, subscriptions or topics, and `assignment_epoch` follows."""

    group_id: str
    epoch: int = 0
    assignment_epoch: int = 0
    assigned_ms: int = 0
    """When, in milliseconds since 1970; 0 is never, or not known."""
    members: dict[str, ShareMember] = field(default_factory=dict[str, ShareMember])
    target: dict[str, frozenset[TopicIdPartition]] = field(
        default_factory=dict[str, frozenset[TopicIdPartition]]
    )
    partition_counts: dict[uuid.UUID, int] = field(default_factory=dict[uuid.UUID, int])
    """Of the topics that are subscribed to, at `epoch`."""
    written: Written = field(default_factory=Written)
    is_behind: bool = False

    @property
    def kind(self) -> str:
        return "share"

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state_name(self) -> str:
        return "Empty" if self.is_empty else "Stable"

    @property
    def takes_offsets(self) -> bool:
        return False

    def find(self, member_id: str) -> ShareMember:
        """Raises: UnknownMemberIdError."""
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberIdError(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def remove(self, member: ShareMember) -> None:
        del self.members[member.member_id]
        self.target.pop(member.member_id, None)

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

    def removal_entries(self) -> list[Entry]:
        return [(key, None) for key, _ in self.written.values()]
