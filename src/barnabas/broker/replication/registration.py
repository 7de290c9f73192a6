"""What the controller decides about one partition: its replicas, who of them is in sync, who leads, and how a
reassignment goes on. Pure: a state and what happened give the next state.

Must not know logs, nodes' addresses or where states are kept.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from barnabas.broker_errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidReplicaAssignmentError,
    NoReassignmentInProgressError,
    PreferredLeaderNotAvailableError,
)

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class PartitionRegistration:
    """`replicas` are in the order of preference. While a reassignment goes on they are those that are to be,
    then those that are to go (`removing`); `adding` are the new ones among them."""

    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def original_replicas(self) -> tuple[int, ...]:
        """Those before the reassignment."""
        return _without(self.replicas, self.adding)

    @property
    def target_replicas(self) -> tuple[int, ...]:
        """Those after the reassignment."""
        return _without(self.replicas, self.removing)


def new_partition(
    replicas: Sequence[int], alive: Container[int], leader_epoch: int = 0
) -> PartitionRegistration:
    """All living replicas of a new partition are in sync, as all are empty; the first of them leads."""
    living = tuple(replica for replica in replicas if replica in alive)
    return PartitionRegistration(tuple(replicas), living, living[0] if living else NO_LEADER, leader_epoch)


def without_node(state: PartitionRegistration, node: int, alive: Container[int]) -> PartitionRegistration:
    """After a node has gone. The last one in sync stays so, as nobody else has all that was acknowledged."""
    if node not in state.in_sync and state.leader != node:
        return state
    in_sync = _without(state.in_sync, (node,)) or state.in_sync
    return _led(replace(state, in_sync=in_sync), state, alive)


def with_node(
    state: PartitionRegistration, alive: Container[int], *, may_be_unclean: bool = False
) -> PartitionRegistration:
    """After a node has come: a partition without a leader gets one if it can. With `may_be_unclean` any
    living replica will do, though records may be lost by it."""
    if state.leader != NO_LEADER:
        return state
    after = _led(state, state, alive)
    if after.leader != NO_LEADER or not may_be_unclean:
        return after
    return _unclean(state, alive) or after


def with_in_sync(state: PartitionRegistration, replica: int, alive: Container[int]) -> PartitionRegistration:
    """After a replica has caught up. Ends the reassignment that waited for it."""
    if replica in state.in_sync or replica not in state.replicas:
        return state
    in_sync = (*state.in_sync, replica)
    after = replace(state, in_sync=in_sync, partition_epoch=state.partition_epoch + 1)
    return _completed(after, alive)


def with_preferred_leader(state: PartitionRegistration, alive: Container[int]) -> PartitionRegistration:
    """Raises: ElectionNotNeededError, PreferredLeaderNotAvailableError."""
    preferred = state.replicas[0]
    if state.leader == preferred:
        raise ElectionNotNeededError("Leader election not needed for topic partition.")
    if preferred not in state.in_sync or preferred not in alive:
        raise PreferredLeaderNotAvailableError("The preferred leader was not available.")
    return _changed(state, state, preferred)


def with_any_leader(state: PartitionRegistration, alive: Container[int]) -> PartitionRegistration:
    """An unclean election. Raises: ElectionNotNeededError, EligibleLeadersNotAvailableError."""
    if state.leader != NO_LEADER:
        raise ElectionNotNeededError("Leader election not needed for topic partition.")
    elected = with_node(state, alive, may_be_unclean=True)
    if elected.leader == NO_LEADER:
        raise EligibleLeadersNotAvailableError("Eligible topic partition leaders are not available.")
    return elected


def reassigned(
    state: PartitionRegistration, target: Sequence[int], alive: Container[int]
) -> PartitionRegistration:
    """A reassignment begun, or carried out where no replica has to catch up first. One that was under way
    gives way to it."""
    original = state.original_replicas
    if tuple(target) == original and not state.is_being_reassigned:
        return state
    adding = _without(tuple(target), original)
    removing = _without(original, target)
    dropped = _without(state.adding, target)
    begun = replace(
        state,
        replicas=(*target, *removing),
        in_sync=_without(state.in_sync, dropped) or state.in_sync,
        adding=adding,
        removing=removing,
        partition_epoch=state.partition_epoch + 1,
    )
    return _completed(_led(begun, state, alive) if state.leader in dropped else begun, alive)


def reassignment_cancelled(state: PartitionRegistration, alive: Container[int]) -> PartitionRegistration:
    """Raises: NoReassignmentInProgressError, InvalidReplicaAssignmentError."""
    if not state.is_being_reassigned:
        raise NoReassignmentInProgressError
    in_sync = _without(state.in_sync, state.adding)
    if not in_sync:
        raise InvalidReplicaAssignmentError("it would require an unclean leader election.")
    # Kafka puts those back in their old order; which is told by no state, so the ones to stay go first.
    original = state.original_replicas
    return _led(
        replace(state, replicas=original, in_sync=in_sync, adding=(), removing=()),
        state,
        alive,
        bumps_epoch=bool(state.adding),
    )


def _completed(state: PartitionRegistration, alive: Container[int]) -> PartitionRegistration:
    """The state itself as long as a new replica is not in sync."""
    in_sync = _without(state.in_sync, state.removing)
    if not state.is_being_reassigned or not in_sync or any(new not in in_sync for new in state.adding):
        return state
    after = replace(state, replicas=state.target_replicas, in_sync=in_sync, adding=(), removing=())
    return _led(after, state, alive, bumps_epoch=bool(state.removing))


def _led(
    after: PartitionRegistration,
    before: PartitionRegistration,
    alive: Container[int],
    *,
    bumps_epoch: bool = False,
) -> PartitionRegistration:
    """With the leader it had, or else the first replica that lives and is in sync."""
    if after.leader in after.in_sync and after.leader in after.replicas and after.leader in alive:
        leader = after.leader
    else:
        candidates = (replica for replica in after.replicas if replica in after.in_sync and replica in alive)
        leader = next(candidates, NO_LEADER)
    return _changed(after, before, leader, bumps_epoch=bumps_epoch)


def _changed(
    after: PartitionRegistration, before: PartitionRegistration, leader: int, *, bumps_epoch: bool = False
) -> PartitionRegistration:
    if after == before and leader == before.leader:
        return before
    bumps = bumps_epoch or leader != before.leader
    return replace(
        after,
        leader=leader,
        leader_epoch=before.leader_epoch + bumps,
        partition_epoch=before.partition_epoch + 1,
    )


def _unclean(state: PartitionRegistration, alive: Container[int]) -> PartitionRegistration | None:
    leader = next((replica for replica in state.replicas if replica in alive), None)
    return None if leader is None else _changed(replace(state, in_sync=(leader,)), state, leader)


def _without(replicas: Sequence[int], gone: Container[int]) -> tuple[int, ...]:
    return tuple(replica for replica in replicas if replica not in gone)
