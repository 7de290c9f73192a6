"""A group and its members, as far as they are alike whatever is assigned to them.

Must not know time, storage or requests; a coordinator moves it along.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from barnabas.broker.groups.records import Entry
from barnabas.broker.heartbeat_groups.journal import Written
from barnabas.broker_errors import UnknownMemberIdError

JOINING_EPOCH = 0
LEAVING_EPOCH = -1
STATIC_LEAVING_EPOCH = -2
"""A static member goes that means to come back within its session."""
# As Kafka counts: the first member is in epoch 2.
FIRST_EPOCH = 1


@dataclass(slots=True, eq=False, kw_only=True)
class HeartbeatMember:
    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    epoch: int = 0
    previous_epoch: int = 0
    session_timer: asyncio.TimerHandle | None = None
    rebalance_timer: asyncio.TimerHandle | None = None


M = TypeVar("M", bound=HeartbeatMember)
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class HeartbeatGroup(Generic[M, T]):
    """`epoch` grows with each change of what an assignment is made from, and `assignment_epoch` follows.
    `target`: what each member is to have."""

    group_id: str
    epoch: int = 0
    assignment_epoch: int = 0
    assigned_ms: int = 0
    """When, in milliseconds since 1970; 0 is never, or not known."""
    members: dict[str, M] = field(default_factory=dict[str, Any])
    target: dict[str, T] = field(default_factory=dict[str, Any])
    written: Written = field(default_factory=Written)
    has_replaced_member: bool = False
    """Since the last time that it was written: records of a member that is no more are to go."""

    @property
    def is_empty(self) -> bool:
        return not self.members

    def find(self, member_id: str) -> M:
        """Raises: UnknownMemberIdError."""
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberIdError(f"Member {member_id} is not a member of group {self.group_id}.")
        return member

    def remove(self, member: M) -> None:
        del self.members[member.member_id]
        self.target.pop(member.member_id, None)

    def removal_entries(self) -> list[Entry]:
        """What takes back all that was written of it."""
        return [(key, None) for key, _ in self.written.values()]
