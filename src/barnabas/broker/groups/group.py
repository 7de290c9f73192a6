"""A group: its offsets, and, of the classic protocol, its members and its generation.

Owns the state and its invariants: which protocol is chosen, who leads, who is a static member. Must not know
time, storage or requests; coordinators move it along.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from barnabas.broker.groups.offsets import GroupOffsets, offset_entry
from barnabas.broker.groups.records import Entry
from barnabas.broker_errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    InvalidGroupIdError,
    UnknownMemberIdError,
)
from barnabas.errors import BrokerError
from barnabas.protocol.messages.group_metadata_key import GroupMetadataKey
from barnabas.types import TopicPartition

Protocols = Sequence[tuple[str, bytes]]
"""What a member can do, the preferred first: (name, its metadata for that)."""


class GroupState(Enum):
    """Kafka's names of a group's states."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class JoinResult:
    """What a member learns when a generation begins.

    Only the leader gets `members`: (member id, instance id, metadata).
    """

    generation: int
    protocol_type: str
    protocol: str
    leader: str
    member_id: str
    members: Sequence[tuple[str, str | None, bytes]] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class MemberIdentity:
    """Who a client says that it is. A generation below 0 is that of nobody in the group."""

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None

    @property
    def is_anonymous(self) -> bool:
        """A program that manages no members names none."""
        return self.generation < 0 and not self.member_id and self.group_instance_id is None


@dataclass(slots=True, eq=False)
class Member:
    """A member. `joining` and `syncing` are set while it waits for the others."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    joining: asyncio.Future[JoinResult] | None = None
    syncing: asyncio.Future[bytes] | None = None
    session_timer: asyncio.TimerHandle | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    def stop_waiting(self, error: BrokerError) -> None:
        """The client hears of an error instead of what it waits for."""
        fail(self.joining, error)
        fail(self.syncing, error)
        self.joining = self.syncing = None

    def take_description(self, other: Member) -> None:
        """What the client has said of itself."""
        self.client_id, self.client_host = other.client_id, other.client_host
        self.session_timeout_ms, self.rebalance_timeout_ms = (
            other.session_timeout_ms,
            other.rebalance_timeout_ms,
        )
        self.protocols = other.protocols

    def stop_session(self) -> None:
        if self.session_timer is not None:
            self.session_timer.cancel()
            self.session_timer = None

    def metadata(self, protocol: str) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")


class Consumers(Protocol):
    """The members of a group that the coordinator assigns to: those of the consumer protocol (KIP-848), of a
    share group (KIP-932) or of a Streams group (KIP-1071)."""

    @property
    def group_id(self) -> str: ...

    @property
    def kind(self) -> str:
        """Kafka's name of the group's type, and of its protocol."""
        ...

    @property
    def is_empty(self) -> bool: ...

    @property
    def state_name(self) -> str:
        """Kafka's name of the group's state."""
        ...

    @property
    def takes_offsets(self) -> bool:
        """Whether offsets are committed in the group."""
        ...

    def check_may_turn_classic(self) -> None:
        """Whether members of the classic protocol may join. Raises: InconsistentGroupProtocolError."""
        ...

    def check_member(self, member_id: str, epoch: int) -> None:
        """Of a request about offsets. Raises: UnknownMemberIdError, StaleMemberEpochError."""
        ...

    def check_commit(self, member_id: str, epoch: int, partitions: Collection[TopicPartition]) -> None:
        """Of a commit of these partitions' offsets. Raises: UnknownMemberIdError, StaleMemberEpochError."""
        ...

    def subscribes_to(self, topic: str) -> bool: ...

    def removal_entries(self) -> list[Entry]:
        """What takes back all that was written of them."""
        ...


@dataclass(slots=True, eq=False)
class Group:
    """A group. `pending` are member ids given out to clients that have yet to join with them (KIP-394)."""

    group_id: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    members: dict[str, Member] = field(default_factory=dict[str, Member])
    static_members: dict[str, str] = field(default_factory=dict[str, str])
    pending: dict[str, asyncio.TimerHandle] = field(default_factory=dict[str, asyncio.TimerHandle])
    offsets: GroupOffsets = field(default_factory=GroupOffsets)
    rebalance_timer: asyncio.TimerHandle | None = None
    gathers_first_members: bool = False
    """A new group waits group.initial.rebalance.delay.ms for more members, even once all have joined."""
    changed_ms: int = -1
    """When the state last changed; an empty group's offsets age from here."""
    consumers: Consumers | None = None
    """With members of these, the group is stable as far as the classic protocol can say."""

    def add(self, member: Member) -> None:
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if not self.leader:
            self.leader = member.member_id

    def remove(self, member: Member) -> None:
        del self.members[member.member_id]
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), "")

    def rename_static_member(self, member: Member, new_id: str) -> None:
        """A static member that has restarted keeps its place under a new id (KIP-345)."""
        assert member.group_instance_id is not None
        leads = self.leader == member.member_id
        self.members = {
            (new_id if key == member.member_id else key): other for key, other in self.members.items()
        }
        member.member_id = new_id
        self.static_members[member.group_instance_id] = new_id
        if leads:
            self.leader = new_id

    def find(self, member_id: str, group_instance_id: str | None) -> Member:
        """Raises: UnknownMemberIdError, FencedInstanceIdError if another client has the instance's place."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                raise UnknownMemberIdError(f"group {self.group_id} has no static member {group_instance_id}")
            if current != member_id:
                raise FencedInstanceIdError(
                    f"group {self.group_id}: static member {group_instance_id} has joined again as {current}"
                )
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberIdError(f"group {self.group_id} has no member {member_id}")
        return member

    def check_generation(self, generation: int) -> None:
        """Raises: IllegalGenerationError."""
        if generation != self.generation:
            raise IllegalGenerationError(
                f"group {self.group_id} is in generation {self.generation}, not {generation}"
            )

    @property
    def is_bare(self) -> bool:
        """Whether it has neither members nor offsets."""
        return not self.members and not self.offsets

    def removal_entries(self) -> list[Entry]:
        """What takes back all that was written of it."""
        return [
            *(offset_entry(self.group_id, partition, None) for partition in self.offsets.partitions()),
            (GroupMetadataKey(self.group_id), None),
            *(() if self.consumers is None else self.consumers.removal_entries()),
        ]

    def stop_timers(self) -> None:
        """Nothing more happens to the group by itself."""
        self.stop_rebalance_timer()
        for member in self.members.values():
            member.stop_session()
        for timer in self.pending.values():
            timer.cancel()

    def stop_rebalance_timer(self) -> None:
        if self.rebalance_timer is not None:
            self.rebalance_timer.cancel()
            self.rebalance_timer = None

    def takes(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols can belong to the group."""
        if not protocol_type or not protocols:
            return False
        if not self.members:
            return True
        common = self._common_protocols()
        return self.protocol_type == protocol_type and any(name in common for name, _ in protocols)

    def choose_protocol(self) -> str:
        """The protocol that most members like best among those that all of them can do."""
        common = self._common_protocols()
        votes = Counter(
            next(name for name, _ in member.protocols if name in common) for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    def _common_protocols(self) -> set[str]:
        common: set[str] | None = None
        for member in self.members.values():
            names = {name for name, _ in member.protocols}
            common = names if common is None else common & names
        return common or set()

    def all_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self.members.values())

    def member_metadata(self) -> list[tuple[str, str | None, bytes]]:
        return [
            (member.member_id, member.group_instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        ]

    def join_result(self, member: Member) -> JoinResult:
        leads = member.member_id == self.leader
        return JoinResult(
            self.generation,
            self.protocol_type,
            self.protocol,
            self.leader,
            member.member_id,
            self.member_metadata() if leads else (),
        )


def check_group_id(group_id: str) -> None:
    """Raises: InvalidGroupIdError."""
    if not group_id:
        raise InvalidGroupIdError("a group needs a name")


def fail(future: asyncio.Future[JoinResult] | asyncio.Future[bytes] | None, error: BrokerError) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
