"""A Streams group: its topology, its members, which tasks each has and is to have (KIP-1071).

Owns the invariant that a task is worked on by one member at a time, and that no process has it twice. Must
not know time, storage or requests; `coordinator` moves it along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from barnabas.broker.heartbeat_groups.group import (
    FIRST_EPOCH,
    JOINING_EPOCH,
    HeartbeatGroup,
    HeartbeatMember,
)
from barnabas.broker.streams_groups.tasks import MemberTasks, TaskId, TaskSet
from barnabas.broker.streams_groups.topology import (
    ConfiguredTopology,
    Topology,
    is_same,
    source_subtopologies,
)
from barnabas.broker_errors import (
    FencedMemberEpochError,
    InconsistentGroupProtocolError,
    InvalidRequestError,
    StaleMemberEpochError,
)
from barnabas.types import TopicPartition

NO_TOPOLOGY_EPOCH = -1


class StreamsState(Enum):
    """Kafka's names of a group's states."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class TaskReconciliation(IntEnum):
    """With Kafka's numbers."""

    STABLE = 0
    UNREVOKED_TASKS = 1
    """The member has tasks to give up before it goes on to the next epoch."""
    UNRELEASED_TASKS = 2
    """It waits for tasks that others have yet to give up."""


@dataclass(slots=True, eq=False, kw_only=True)
class StreamsMember(HeartbeatMember):
    rebalance_timeout_ms: int = -1
    topology_epoch: int = NO_TOPOLOGY_EPOCH
    process_id: str = ""
    endpoint: tuple[str, int] | None = None
    """Where it answers queries of its state: host and port."""
    client_tags: Mapping[str, str] = field(default_factory=dict[str, str])
    state: TaskReconciliation = TaskReconciliation.STABLE
    assigned: MemberTasks = field(default_factory=MemberTasks)
    pending_revocation: MemberTasks = field(default_factory=MemberTasks)
    active_epochs: dict[TaskId, int] = field(default_factory=dict[TaskId, int])
    """Since which epoch it has each active task, those that it is to give up as well."""

    @property
    def description(self) -> tuple[object, ...]:
        """A change of this makes a new assignment."""
        return (
            *(self.rack_id, self.client_id, self.client_host, self.rebalance_timeout_ms),
            *(self.topology_epoch, self.process_id, self.endpoint, dict(self.client_tags)),
        )

    def check_epoch(self, epoch: int, owned: MemberTasks | None) -> None:
        """Of a heartbeat. Raises: FencedMemberEpochError."""
        must = "The member must abandon all its partitions and rejoin."
        if epoch == JOINING_EPOCH:
            return
        if epoch > self.epoch:
            raise FencedMemberEpochError(
                f"The streams group member has a greater member epoch ({epoch}) than the one known by the "
                f"group coordinator ({self.epoch}). {must}"
            )
        # The answer that told of the next epoch may have been lost.
        is_behind = epoch == self.previous_epoch and owned is not None and not owned - self.assigned
        if epoch < self.epoch and not is_behind:
            raise FencedMemberEpochError(
                f"The streams group member has a smaller member epoch ({epoch}) than the one known by the "
                f"group coordinator ({self.epoch}). {must}"
            )


@dataclass(slots=True, eq=False)
class StreamsGroup(HeartbeatGroup[StreamsMember, MemberTasks]):
    epoch: int = FIRST_EPOCH
    assignment_epoch: int = FIRST_EPOCH
    topology: Topology | None = None
    validated_topology_epoch: int = 0
    metadata_hash: int = 0
    """Of the topics that the topology needs, as they were at `epoch`."""
    assignment_settings: Mapping[str, str] = field(default_factory=dict[str, str])
    configured: ConfiguredTopology | None = None
    endpoint_epoch: int = 0
    shut_down_by: str | None = None
    """The member that has asked for the end of the whole application."""
    delay_timer: asyncio.TimerHandle | None = None
    """A new group waits for more members."""

    @property
    def kind(self) -> str:
        return "streams"

    @property
    def takes_offsets(self) -> bool:
        return True

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def state(self) -> StreamsState:
        if not self.members:
            return StreamsState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return StreamsState.ASSIGNING
        settled = all(self.is_settled(member) for member in self.members.values())
        return StreamsState.STABLE if settled else StreamsState.RECONCILING

    def is_settled(self, member: StreamsMember) -> bool:
        return member.state is TaskReconciliation.STABLE and member.epoch == self.assignment_epoch

    def remove(self, member: StreamsMember) -> None:
        # With slots the class is made anew, and super() alone would look for the one before.
        super(StreamsGroup, self).remove(member)
        if not self.members:
            self.shut_down_by = None

    def topology_with(self, said: Topology | None) -> Topology:
        """The topology once a member has said its own. Raises: InvalidRequestError."""
        if self.topology is None:
            assert said is not None
            return said
        if said is not None and said.epoch >= self.topology.epoch and not is_same(said, self.topology):
            raise InvalidRequestError("Topology updates are not supported yet.")
        return self.topology

    def check_may_turn_classic(self) -> None:
        """Raises: InconsistentGroupProtocolError."""
        if self.members:
            raise InconsistentGroupProtocolError(f"Group {self.group_id} is a streams group.")

    def check_member(self, member_id: str, epoch: int) -> None:
        """Of a request about offsets. Raises: UnknownMemberIdError, StaleMemberEpochError."""
        if epoch < 0 and not member_id:
            return
        member = self.find(member_id)
        if epoch != member.epoch:
            raise StaleMemberEpochError(
                f"The received member epoch {epoch} does not match the expected member epoch {member.epoch}."
            )

    def check_commit(self, member_id: str, epoch: int, partitions: Collection[TopicPartition]) -> None:
        """A member that has not heard of its newest epoch commits what it has had since before.

        Raises: UnknownMemberIdError, StaleMemberEpochError.
        """
        if epoch < 0 and not self.members:
            return
        member = self.find(member_id)
        if epoch > member.epoch:
            raise StaleMemberEpochError(
                f"Received member epoch {epoch} is newer than current member epoch {member.epoch}."
            )
        if epoch == member.epoch:
            return
        readers = {} if self.topology is None else source_subtopologies(self.topology)
        for topic, index in partitions:
            if topic not in readers:
                raise StaleMemberEpochError(f"Topic {topic} is not in the topology.")
            task = TaskId(readers[topic], index)
            since = member.active_epochs.get(task)
            name = f"{task.subtopology_id}-{index}"
            if since is None:
                raise StaleMemberEpochError(f"Task {name} is not assigned or pending revocation for member.")
            if epoch < since:
                raise StaleMemberEpochError(
                    f"Received member epoch {epoch} is older than assignment epoch {since} for task {name}."
                )

    def subscribes_to(self, topic: str) -> bool:
        return (
            bool(self.members) and self.topology is not None and topic in source_subtopologies(self.topology)
        )

    # Reconciling

    def reconcile(self, member: StreamsMember, owned: MemberTasks | None) -> None:
        """Takes a member as far towards its target as may be. `owned`: what it says that it has, None where
        it says nothing."""
        if self.is_settled(member):
            return
        if member.state is not TaskReconciliation.UNREVOKED_TASKS:
            self._move(member, owned, member.epoch)
        elif owned is not None and not owned & member.pending_revocation:
            self._move(member, owned, member.epoch + 1)

    def _move(self, member: StreamsMember, owned: MemberTasks | None, epoch: int) -> None:
        target = self.target.get(member.member_id, MemberTasks())
        kept = member.assigned & target
        to_revoke = member.assigned - kept
        wanted = target - kept
        free = self._free(member, wanted)
        member.previous_epoch = member.epoch
        if to_revoke and (owned is None or owned & to_revoke):
            member.state, member.epoch = TaskReconciliation.UNREVOKED_TASKS, epoch
            member.assigned, member.pending_revocation = kept, to_revoke
        else:
            member.state = (
                TaskReconciliation.STABLE if free == wanted else TaskReconciliation.UNRELEASED_TASKS
            )
            member.epoch = self.assignment_epoch
            member.assigned, member.pending_revocation = kept | free, MemberTasks()
        before = member.active_epochs
        member.active_epochs = {
            task: before.get(task, self.assignment_epoch)
            for task in member.assigned.active | member.pending_revocation.active
        }

    def _free(self, member: StreamsMember, wanted: MemberTasks) -> MemberTasks:
        """Those that nobody works on, and that the member's process does not have in another way."""
        worked_on: set[TaskId] = set()
        active_here: set[TaskId] = set()
        copied_here: set[TaskId] = set()
        for other in self.members.values():
            has = other.assigned | other.pending_revocation
            worked_on |= has.active
            if other.process_id == member.process_id:
                active_here |= has.active
                copied_here |= has.standby | has.warmup
        blocked: TaskSet = frozenset(active_here | copied_here)
        return MemberTasks(
            wanted.active - worked_on - copied_here, wanted.standby - blocked, wanted.warmup - blocked
        )
