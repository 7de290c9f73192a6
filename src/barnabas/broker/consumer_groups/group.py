"""A group of the consumer protocol: its members, their epochs, what each has and is to have (KIP-848).

Owns the invariant that a partition is had by one member at a time: a member gets one only when the member
before it has said that it has given it up. Must not know time, storage or requests; `coordinator` moves it
along.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from barnabas.broker.consumer_groups.assignors import ASSIGNORS, TopicIdPartition
from barnabas.broker.groups.group import Protocols
from barnabas.broker.heartbeat_groups.group import JOINING_EPOCH, HeartbeatGroup, HeartbeatMember
from barnabas.broker.name_pattern import name_pattern
from barnabas.broker_errors import (
    FencedMemberEpochError,
    IllegalGenerationError,
    StaleMemberEpochError,
)
from barnabas.types import TopicPartition

Partitions = frozenset[TopicIdPartition]


class ConsumersState(Enum):
    """Kafka's names of a group's states."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class Reconciliation(IntEnum):
    """With Kafka's numbers."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """The member has partitions to give up before it goes on to the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others have yet to give up."""


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """Of a member that speaks the classic protocol in a group of this one."""

    session_timeout_ms: int
    protocols: Protocols


@dataclass(slots=True, eq=False, kw_only=True)
class ConsumerMember(HeartbeatMember):
    instance_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    previous_epoch: int = -1
    state: Reconciliation = Reconciliation.STABLE
    assigned: Partitions = frozenset()
    pending_revocation: Partitions = frozenset()
    classic: ClassicSide | None = None
    may_see: Callable[[str], bool] | None = None
    """Whether its regular expression may match a topic; None is all."""

    def check_epoch(self, epoch: int, owned: Collection[TopicIdPartition] | None) -> None:
        """Of a heartbeat. Raises: FencedMemberEpochError."""
        if epoch > self.epoch:
            raise FencedMemberEpochError(
                f"The consumer group member has a greater member epoch ({epoch}) than the one known by the "
                f"group coordinator ({self.epoch}). The member must abandon all its partitions and rejoin."
            )
        # The answer that told of the next epoch may have been lost.
        is_behind = epoch == self.previous_epoch and owned is not None and self.assigned.issuperset(owned)
        if JOINING_EPOCH != epoch < self.epoch and not is_behind:
            raise FencedMemberEpochError(
                f"The consumer group member has a smaller member epoch ({epoch}) than the one known by the "
                f"group coordinator ({self.epoch}). The member must abandon all its partitions and rejoin."
            )


@dataclass(slots=True, eq=False)
class ConsumerGroup(HeartbeatGroup[ConsumerMember, Partitions]):
    static_members: dict[str, str] = field(default_factory=dict[str, str])
    partition_counts: dict[uuid.UUID, int] = field(default_factory=dict[uuid.UUID, int])
    """Of the topics that are subscribed to, at `epoch`."""

    @property
    def kind(self) -> str:
        return "consumer"

    @property
    def takes_offsets(self) -> bool:
        return True

    @property
    def state_name(self) -> str:
        return self.state.value

    def check_may_turn_classic(self) -> None:
        pass

    @property
    def state(self) -> ConsumersState:
        if not self.members:
            return ConsumersState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumersState.ASSIGNING
        settled = all(
            member.state is Reconciliation.STABLE and member.epoch == self.assignment_epoch
            for member in self.members.values()
        )
        return ConsumersState.STABLE if settled else ConsumersState.RECONCILING

    @property
    def assignor_name(self) -> str:
        """The one that most members ask for."""
        votes = Counter(member.server_assignor for member in self.members.values() if member.server_assignor)
        return votes.most_common(1)[0][0] if votes else next(iter(ASSIGNORS))

    @property
    def has_classic_members_alone(self) -> bool:
        return bool(self.members) and all(member.classic is not None for member in self.members.values())

    def common_classic_protocols(self) -> set[str]:
        """Those that all members of the classic protocol can do."""
        common: set[str] | None = None
        for member in self.members.values():
            if member.classic is not None:
                names = {name for name, _ in member.classic.protocols}
                common = names if common is None else common & names
        return common or set()

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether partitions that the member is to have are another's still."""
        wanted = self.target.get(member.member_id, frozenset[TopicIdPartition]()) - member.assigned
        return not wanted.isdisjoint(self._had_by_others(member))

    def add(self, member: ConsumerMember) -> None:
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove(self, member: ConsumerMember) -> None:
        # With slots the class is made anew, and super() alone would look for the one before.
        super(ConsumerGroup, self).remove(member)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.member_id:
            del self.static_members[member.instance_id]

    def check_member(self, member_id: str, epoch: int) -> None:
        """Of a request about offsets. Raises: UnknownMemberIdError, StaleMemberEpochError,
        of a classic member IllegalGenerationError."""
        if epoch < 0 and not self.members:
            return
        member = self.find(member_id)
        if epoch != member.epoch and member.classic is not None:
            raise IllegalGenerationError(
                f"The received generation id {epoch} does not match the expected member epoch {member.epoch}."
            )
        if epoch != member.epoch:
            raise StaleMemberEpochError(
                f"The received member epoch {epoch} does not match the expected member epoch {member.epoch}."
            )

    def check_commit(self, member_id: str, epoch: int, partitions: Collection[TopicPartition]) -> None:
        """Whatever the partitions are. Raises: as `check_member`."""
        self.check_member(member_id, epoch)

    def subscribed_topics(self, resolved: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
        """The topics of each member. `resolved`: those that match each regular expression."""
        return {
            member.member_id: member.subscribed_topic_names.union(
                filter(member.may_see, resolved.get(member.subscribed_topic_regex or "", ()))
                if member.may_see is not None
                else resolved.get(member.subscribed_topic_regex or "", ())
            )
            for member in self.members.values()
        }

    def subscribes_to(self, topic: str) -> bool:
        return any(
            topic in member.subscribed_topic_names
            or (
                member.subscribed_topic_regex is not None
                and name_pattern(member.subscribed_topic_regex).matches(topic)
            )
            for member in self.members.values()
        )

    def reconcile(self, member: ConsumerMember, owned: Collection[TopicIdPartition] | None) -> bool:
        """Takes a member as far towards its target as may be. `owned`: what it says that it has, None where
        it says nothing. Whether anything has changed."""
        before = member.epoch, member.state, member.assigned, member.pending_revocation
        if member.state is Reconciliation.UNREVOKED_PARTITIONS:
            if owned is not None and member.pending_revocation.isdisjoint(owned):
                self._move(member, owned)
        elif member.state is Reconciliation.UNRELEASED_PARTITIONS or member.epoch != self.assignment_epoch:
            self._move(member, owned)
        return before != (member.epoch, member.state, member.assigned, member.pending_revocation)

    def _move(self, member: ConsumerMember, owned: Collection[TopicIdPartition] | None) -> None:
        target = self.target.get(member.member_id, frozenset[TopicIdPartition]())
        kept = member.assigned & target
        to_revoke = member.assigned - target
        wanted = target - kept
        free = wanted - self._had_by_others(member)
        if to_revoke and (owned is None or not to_revoke.isdisjoint(owned)):
            member.state = Reconciliation.UNREVOKED_PARTITIONS
            member.assigned, member.pending_revocation = kept, to_revoke
            return
        if member.epoch != self.assignment_epoch:
            member.previous_epoch, member.epoch = member.epoch, self.assignment_epoch
        member.state = Reconciliation.STABLE if free == wanted else Reconciliation.UNRELEASED_PARTITIONS
        member.assigned, member.pending_revocation = kept | free, frozenset()

    def _had_by_others(self, member: ConsumerMember) -> Partitions:
        others = (other for other in self.members.values() if other is not member)
        return frozenset[TopicIdPartition]().union(
            *(other.assigned | other.pending_revocation for other in others)
        )
