"""What the controller decides about a partition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.broker.replication.registration import (
    NO_LEADER,
    PartitionRegistration,
    new_partition,
    reassigned,
    reassignment_cancelled,
    restarted,
    with_any_leader,
    with_in_sync,
    with_node,
    with_preferred_leader,
    without_node,
)
from barnabas.broker_errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidReplicaAssignmentError,
    NoReassignmentInProgressError,
    PreferredLeaderNotAvailableError,
)

ALL = {1, 2, 3}


def gone(before: PartitionRegistration, *nodes: int, min_in_sync: int | None = 1) -> PartitionRegistration:
    """After nodes have gone one after the other."""
    alive = set(ALL)
    for node in nodes:
        alive.discard(node)
        before = without_node(before, node, alive, min_in_sync)
    return before


def test_the_first_living_replica_of_a_new_partition_leads() -> None:
    made = new_partition([3, 1, 2], {1, 2})
    assert (made.leader, made.in_sync, made.leader_epoch) == (1, (1, 2), 0)


def test_a_leader_that_goes_is_followed_by_the_next_in_sync() -> None:
    after = gone(new_partition([3, 1, 2], ALL), 3)
    assert (after.leader, after.in_sync, after.leader_epoch) == (1, (1, 2), 1)


def test_a_follower_that_goes_leaves_the_leaders_epoch_as_it_is() -> None:
    after = gone(new_partition([3, 1, 2], ALL), 1)
    assert (after.leader, after.in_sync, after.leader_epoch, after.partition_epoch) == (3, (3, 2), 0, 1)


def test_without_eligible_leaders_the_last_one_in_sync_stays_in_sync_and_leads_again_when_it_comes() -> None:
    after = gone(new_partition([1, 2, 3], ALL), 1, 3, 2, min_in_sync=None).without_eligible()
    assert (after.leader, after.in_sync, after.eligible, after.last_leader) == (
        NO_LEADER,
        (2,),
        (),
        NO_LEADER,
    )
    assert with_node(after, {1, 3}) is after
    back = with_node(after, {1, 2, 3})
    assert (back.leader, back.in_sync) == (2, (2,))
    joined = with_in_sync(back, 1, ALL, None)
    assert (joined.in_sync, joined.eligible) == ((1, 2), ())


def test_the_last_one_in_sync_leads_again_when_it_comes_and_nobody_before() -> None:
    after = gone(new_partition([1, 2, 3], ALL), 1, 3, 2)
    assert (after.leader, after.in_sync, after.eligible, after.last_leader) == (NO_LEADER, (), (2,), 2)
    assert with_node(after, {1, 3}) is after
    back = with_node(after, {1, 2, 3})
    assert (back.leader, back.in_sync, back.eligible, back.last_leader) == (2, (2,), (), NO_LEADER)
    assert back.leader_epoch == after.leader_epoch + 1


def test_who_goes_while_too_few_are_in_sync_stays_eligible_until_enough_are() -> None:
    short = gone(new_partition([1, 2, 3], ALL), 3, 2, min_in_sync=2)
    assert (short.in_sync, short.eligible) == ((1,), (2,))
    nobody = gone(short, 1, min_in_sync=2)
    elected = with_node(nobody, {2})
    assert (elected.leader, elected.in_sync, elected.eligible) == (2, (2,), (1,))
    enough = with_in_sync(elected, 3, {2, 3}, 2)
    assert (enough.in_sync, enough.eligible) == ((2, 3), ())


def test_a_replica_that_was_taken_away_is_not_eligible_when_it_is_one_again() -> None:
    """Its log was deleted meanwhile, and what was acknowledged with it."""
    short = gone(new_partition([1, 2, 3], ALL), 3, 2, min_in_sync=2)
    assert short.eligible == (2,)
    without = reassigned(short, [1, 3], {1, 3})
    assert (without.replicas, without.eligible) == ((1, 3), ())
    again = reassigned(without, [2, 1, 3], {1, 3})
    nobody = without_node(again, 1, {3}, 2)
    assert with_node(nobody, {2, 3}).leader == NO_LEADER


def test_an_unclean_election_takes_any_that_lives() -> None:
    after = gone(new_partition([1, 2], ALL), 2, 1)
    assert with_node(after, {2}) is after
    unclean = with_node(after, {2}, may_be_unclean=True)
    assert (unclean.leader, unclean.in_sync) == (2, (2,))
    assert with_any_leader(after, {2}) == unclean
    with pytest.raises(EligibleLeadersNotAvailableError):
        with_any_leader(after, {3})
    with pytest.raises(ElectionNotNeededError):
        with_any_leader(unclean, {2})


@pytest.mark.parametrize("min_in_sync", [1, None])
def test_where_elections_may_be_unclean_any_that_lives_leads_at_once(min_in_sync: int | None) -> None:
    before = gone(new_partition([1, 2], ALL), 2)
    after = without_node(before, 1, {2}, min_in_sync, may_be_unclean=True)
    assert (after.leader, after.in_sync, after.eligible) == (2, (2,), ())
    assert after.leader_epoch == before.leader_epoch + 1
    assert after.partition_epoch == before.partition_epoch + 1


def test_the_preferred_leader_is_elected_if_it_is_in_sync() -> None:
    before = new_partition([1, 2], ALL)
    with pytest.raises(ElectionNotNeededError):
        with_preferred_leader(before, ALL)
    after = gone(before, 1)
    with pytest.raises(PreferredLeaderNotAvailableError):
        with_preferred_leader(after, ALL)
    back = with_in_sync(after, 1, ALL, 1)
    assert with_preferred_leader(back, ALL).leader == 1
    assert with_preferred_leader(back, ALL).leader_epoch == back.leader_epoch + 1


def test_a_reassignment_ends_when_all_new_replicas_are_in_sync() -> None:
    begun = reassigned(new_partition([1], {1, 2, 3}), [2, 3], ALL)
    assert (begun.replicas, begun.adding, begun.removing, begun.leader) == ((2, 3, 1), (2, 3), (1,), 1)
    half = with_in_sync(begun, 2, ALL, 1)
    assert half.is_being_reassigned
    over = with_in_sync(half, 3, ALL, 1)
    assert (over.replicas, over.in_sync, over.leader) == ((2, 3), (2, 3), 2)
    assert not over.is_being_reassigned
    assert over.leader_epoch == half.leader_epoch + 1


def test_another_order_of_the_same_replicas_needs_no_waiting() -> None:
    before = new_partition([1, 2], ALL)
    after = reassigned(before, [2, 1], ALL)
    assert (after.replicas, after.leader, after.leader_epoch) == ((2, 1), 1, 0)
    assert reassigned(after, [2, 1], ALL) is after


def test_a_reassignment_gives_way_to_the_next() -> None:
    first = reassigned(new_partition([1, 2], ALL), [1, 3], ALL)
    second = reassigned(first, [3, 2], ALL)
    assert (second.replicas, second.adding, second.removing) == ((3, 2, 1), (3,), (1,))
    back = reassigned(second, [1, 2], ALL)
    assert (back.replicas, back.in_sync, back.is_being_reassigned) == ((1, 2), (1, 2), False)


def test_a_reassignment_is_cancelled_while_an_old_replica_is_in_sync() -> None:
    before = new_partition([1, 2], ALL)
    with pytest.raises(NoReassignmentInProgressError):
        reassignment_cancelled(before, ALL)
    begun = reassigned(before, [3], ALL)
    back = reassignment_cancelled(begun, ALL)
    assert (set(back.replicas), back.in_sync, back.leader) == ({1, 2}, (1, 2), 1)
    with pytest.raises(InvalidReplicaAssignmentError):
        reassignment_cancelled(replace(begun, in_sync=(3,), leader=3), ALL)


def test_a_reassignment_is_cancelled_without_old_replicas_in_sync_where_elections_may_be_unclean() -> None:
    begun = reassigned(new_partition([1, 2], ALL), [3], ALL)
    new_alone = replace(begun, in_sync=(3,), leader=3)
    back = reassignment_cancelled(new_alone, ALL, may_be_unclean=True)
    assert (set(back.replicas), back.in_sync, back.leader) == ({1, 2}, (1,), 1)
    assert not back.is_being_reassigned


def test_after_a_restart_of_all_the_one_that_has_most_leads_in_a_new_epoch() -> None:
    before = gone(new_partition([1, 2, 3], ALL), 1)
    after = restarted(before, 3)
    assert (after.leader, after.leader_epoch, after.in_sync) == (3, before.leader_epoch + 1, (2, 3))
