"""What the controller knows of one partition, and decides: its replicas, who of them is in sync, who leads,
and how a reassignment goes on. Pure: a registration and what happened give the next registration.

Must not know logs, nodes' addresses or where registrations are kept.
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
    then those that are to go (`removing`); `adding` are the new ones among them.

    `eligible` (KIP-966): left while fewer than min.insync.replicas were in sync, when nothing was
    acknowledged any more, so that they have all that was. `last_leader`: who led before there was
    none, or -1.
    """

    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    eligible: tuple[int, ...] = ()
    last_leader: int = NO_LEADER

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

    def is_short(self, min_in_sync: int) -> bool:
        """Whether fewer are in sync than min.insync.replicas wants, of which a partition needs no more
        than it has replicas."""
        return len(self.in_sync) < min(min_in_sync, len(self.replicas))

    def without_eligible(self) -> PartitionRegistration:
        """As it is where eligible.leader.replicas.version is 0."""
        if not self.eligible and self.last_leader == NO_LEADER:
            return self
        return replace(self, eligible=(), last_leader=NO_LEADER)


def new_partition(
    replicas: Sequence[int], alive: Container[int], leader_epoch: int = 0
) -> PartitionRegistration:
    """All living replicas of a new partition are in sync, as all are empty; the first of them leads."""
    living = tuple(replica for replica in replicas if replica in alive)
    return PartitionRegistration(tuple(replicas), living, living[0] if living else NO_LEADER, leader_epoch)


def restarted(before: PartitionRegistration, leader: int) -> PartitionRegistration:
    """After all nodes have come at once, and one was found to have most."""
    in_sync = before.in_sync if leader in before.in_sync else (leader,)
    return replace(
        before,
        in_sync=in_sync,
        eligible=_without(before.eligible, in_sync),
        leader=leader,
        leader_epoch=before.leader_epoch + 1,
        partition_epoch=before.partition_epoch + 1,
        last_leader=NO_LEADER,
    )


def without_node(
    before: PartitionRegistration,
    node: int,
    alive: Container[int],
    min_in_sync: int | None,
    *,
    may_be_unclean: bool = False,
) -> PartitionRegistration:
    """After a node that was in sync has gone, or lags. `min_in_sync`: None where there are no eligible
    leaders, so that the last in sync stays in sync, as nobody else has all that was acknowledged.
    `may_be_unclean`: as for `with_node`."""
    if node not in before.in_sync:
        return before
    after = replace(before, in_sync=_without(before.in_sync, (node,)))
    if min_in_sync is None:
        after = _led(after, before, alive) if after.in_sync else _changed(before, before, NO_LEADER)
    else:
        eligible = tuple(sorted((*before.eligible, node))) if after.is_short(min_in_sync) else ()
        after = _led(replace(after, eligible=eligible), before, alive)
    if after.leader != NO_LEADER or not may_be_unclean:
        return after
    return _led_by_any(after, before, [other for other in after.replicas if other in alive and other != node])


def with_node(
    before: PartitionRegistration, alive: Container[int], *, may_be_unclean: bool = False
) -> PartitionRegistration:
    """After a node has come: a partition without a leader gets one if it can. With `may_be_unclean` any
    living replica will do, though records may be lost by it."""
    if before.leader != NO_LEADER:
        return before
    after = _led(before, before, alive)
    if after.leader != NO_LEADER or not may_be_unclean:
        return after
    return _led_by_any(before, before, [replica for replica in before.replicas if replica in alive])


def with_in_sync(
    before: PartitionRegistration, replica: int, alive: Container[int], min_in_sync: int | None
) -> PartitionRegistration:
    """After a replica has caught up. Ends the reassignment that waited for it. `min_in_sync`: as above."""
    if replica in before.in_sync or replica not in before.replicas:
        return before
    after = replace(before, in_sync=tuple(sorted((*before.in_sync, replica))))
    is_short = min_in_sync is not None and after.is_short(min_in_sync)
    eligible = _without(before.eligible, (replica,)) if is_short else ()
    return _completed(_changed(replace(after, eligible=eligible), before, before.leader), alive)


def with_preferred_leader(before: PartitionRegistration, alive: Container[int]) -> PartitionRegistration:
    """Raises: ElectionNotNeededError, PreferredLeaderNotAvailableError."""
    preferred = before.replicas[0]
    if before.leader == preferred:
        raise ElectionNotNeededError("Leader election not needed for topic partition.")
    if preferred not in before.in_sync or preferred not in alive:
        raise PreferredLeaderNotAvailableError("The preferred leader was not available.")
    return _changed(before, before, preferred)


def with_leader(before: PartitionRegistration, leader: int, alive: Container[int]) -> PartitionRegistration:
    """Led by a replica that is in sync. Raises: PreferredLeaderNotAvailableError."""
    if leader not in before.in_sync or leader not in alive:
        raise PreferredLeaderNotAvailableError(f"node {leader} is not in sync, and cannot lead")
    return before if leader == before.leader else _changed(before, before, leader)


def with_any_leader(before: PartitionRegistration, alive: Container[int]) -> PartitionRegistration:
    """An unclean election. Raises: ElectionNotNeededError, EligibleLeadersNotAvailableError."""
    if before.leader != NO_LEADER:
        raise ElectionNotNeededError("Leader election not needed for topic partition.")
    elected = with_node(before, alive, may_be_unclean=True)
    if elected.leader == NO_LEADER:
        raise EligibleLeadersNotAvailableError("Eligible topic partition leaders are not available.")
    return elected


def reassigned(
    before: PartitionRegistration, target: Sequence[int], alive: Container[int]
) -> PartitionRegistration:
    """A reassignment begun, or carried out where no replica has to catch up first. One that was under way
    gives way to it."""
    original = before.original_replicas
    if tuple(target) == before.replicas and not before.is_being_reassigned:
        return before
    dropped = _without(before.adding, target)
    removing = _without(original, target)
    begun = replace(
        before,
        replicas=(*target, *removing),
        in_sync=_without(before.in_sync, dropped),
        adding=_without(tuple(target), original),
        removing=removing,
    )
    return _completed(_led(begun, before, alive), alive)


def reassignment_cancelled(
    before: PartitionRegistration, alive: Container[int], *, may_be_unclean: bool = False
) -> PartitionRegistration:
    """With `may_be_unclean` the first of the old replicas will do where none of them is in sync.

    Raises: NoReassignmentInProgressError, InvalidReplicaAssignmentError.
    """
    if not before.is_being_reassigned:
        raise NoReassignmentInProgressError
    in_sync = _without(before.in_sync, before.adding)
    if not in_sync:
        if not may_be_unclean:
            raise InvalidReplicaAssignmentError("it would require an unclean leader election.")
        in_sync = before.original_replicas[:1]
    after = replace(before, replicas=before.original_replicas, in_sync=in_sync, adding=(), removing=())
    return _led(after, before, alive)


def _completed(before: PartitionRegistration, alive: Container[int]) -> PartitionRegistration:
    """Unchanged as long as a new replica is not in sync."""
    in_sync = _without(before.in_sync, before.removing)
    if not before.is_being_reassigned or not in_sync or any(new not in in_sync for new in before.adding):
        return before
    after = replace(before, replicas=before.target_replicas, in_sync=in_sync, adding=(), removing=())
    return _led(after, before, alive)


def _led(
    after: PartitionRegistration, before: PartitionRegistration, alive: Container[int]
) -> PartitionRegistration:
    """With the leader it had, or else the first living replica that has all that was acknowledged."""
    if after.leader in after.in_sync and after.leader in alive:
        return _changed(after, before, after.leader)
    living = [replica for replica in after.replicas if replica in alive]
    for candidates in (after.in_sync, after.eligible):
        leader = next((replica for replica in living if replica in candidates), NO_LEADER)
        if leader != NO_LEADER:
            in_sync = after.in_sync if leader in after.in_sync else (leader,)
            eligible = _without(after.eligible, in_sync)
            return _changed(replace(after, in_sync=in_sync, eligible=eligible), before, leader)
    return _changed(after, before, NO_LEADER)


def _led_by_any(
    after: PartitionRegistration, before: PartitionRegistration, living: Sequence[int]
) -> PartitionRegistration:
    """With the first living replica alone, whatever it lacks."""
    if not living:
        return after
    return _changed(replace(after, in_sync=(living[0],), eligible=()), before, living[0])


def _changed(
    after: PartitionRegistration, before: PartitionRegistration, leader: int
) -> PartitionRegistration:
    """The leader's epoch grows when the leader is another, and when a replica goes that had been one."""
    if after == before and leader == before.leader:
        return before
    gone = _without(before.replicas, after.replicas)
    if leader != NO_LEADER:
        last_leader = NO_LEADER
    else:
        last_leader = before.last_leader if before.leader == NO_LEADER else before.leader
    return replace(
        after,
        # The log of a replica that goes is deleted: should it come again, it has nothing at first.
        eligible=tuple(node for node in after.eligible if node in after.replicas),
        leader=leader,
        leader_epoch=before.leader_epoch + (leader != before.leader or bool(gone)),
        partition_epoch=before.partition_epoch + 1,
        last_leader=last_leader,
    )


def _without(replicas: Sequence[int], gone: Container[int]) -> tuple[int, ...]:
    return tuple(replica for replica in replicas if replica not in gone)
