"""The figures of a churn, from changes of nodes that are made up."""

from tests.compat.pykafka.churn.owners import OwnerTimeline
from tests.compat.pykafka.churn.transactions import NodeChange

FOLDER = "/consumers/churn/owners/b'topic'"


def timeline_of(*changes, partitions=1):
    return OwnerTimeline.of((NodeChange(*each) for each in changes), "churn", partitions)


def claim(at, partition, member, leader=0):
    return at, f"{FOLDER}/{leader}-{partition}", member.encode()


def gone(at, partition, leader=0):
    return at, f"{FOLDER}/{leader}-{partition}", None


def joined(at, member):
    return at, f"/consumers/churn/ids/{member}", b"topic"


def left(at, member):
    return at, f"/consumers/churn/ids/{member}", None


def test_a_partition_without_a_node_has_a_gap():
    timeline = timeline_of(claim(0, 0, "a"), gone(1, 0), claim(4, 0, "a"))
    assert [(gap.begin, gap.end) for gap in timeline.gaps(0, 9, {})] == [(1, 4)]


def test_what_is_never_claimed_is_a_gap_from_end_to_end():
    assert [gap.seconds for gap in timeline_of(partitions=2).gaps(0, 9, {})] == [9, 9]


def test_a_node_of_one_that_is_dead_or_paused_is_no_owner():
    timeline = timeline_of(claim(0, 0, "a"), gone(6, 0), claim(7, 0, "b"))
    asleep = {"a": [(1, 2), (5, 100)]}
    assert [(gap.begin, gap.end) for gap in timeline.gaps(0, 9, asleep)] == [(1, 2), (5, 7)]


def test_a_gap_tells_when_members_changed_last_and_whose_the_partition_was_to_be():
    timeline = timeline_of(
        *(joined(0, "a"), joined(0, "b"), claim(0, 0, "a"), claim(0, 1, "b")),
        *(left(2, "a"), gone(2, 0), joined(5, "c"), claim(8, 0, "b")),
        partitions=2,
    )
    (gap,) = timeline.gaps(0, 9, {})
    assert (gap.partition, gap.seconds, gap.seconds_undisturbed) == (0, 6, 3)
    assert gap.owed_to == "b"


def test_a_gap_is_disturbed_by_a_zookeeper_that_comes_back():
    timeline = timeline_of(claim(0, 0, "a"), gone(1, 0), claim(9, 0, "a"))
    (gap,) = timeline.gaps(0, 9, {}, [(2, 6)])
    assert (gap.seconds, gap.seconds_undisturbed) == (8, 3)


def test_a_claim_of_one_that_is_dead_is_unnoticed_until_it_goes():
    timeline = timeline_of(claim(0, 0, "a"), gone(6, 0))
    assert list(timeline.unnoticed({"a": [(2, 3), (4, 100)]})) == [(1, 0, "a"), (2, 0, "a")]
    assert list(timeline.unnoticed({"a": [(0, 100)]}, [(1, 3)])) == [(1, 0, "a"), (3, 0, "a")]


def test_two_owners_under_two_leaders_are_told():
    timeline = timeline_of(claim(1, 0, "a"), claim(2, 0, "b", leader=1), gone(3, 0))
    assert timeline.owned_twice() == [(2, 0, "a", "b")]
    assert timeline_of(claim(1, 0, "a"), gone(2, 0), claim(2, 0, "b")).owned_twice() == []


def test_a_member_that_claims_under_another_leader_before_it_gives_up_owns_it_once():
    assert timeline_of(claim(1, 0, "a"), claim(2, 0, "a", leader=1), gone(3, 0)).owned_twice() == []


def test_it_is_known_whether_a_partition_was_a_members_at_any_moment_of_a_call():
    timeline = timeline_of(claim(1, 0, "a"), gone(5, 0), claim(6, 0, "b"))
    assert timeline.owned_within(0, "a", 4, 7)
    assert not timeline.owned_within(0, "a", 5.5, 7)
    assert timeline.owned_within(0, "b", 5.5, 7)
