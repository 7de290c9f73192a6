"""The figures of a churn, from timelines that are made up."""

from tests.compat.pykafka.churn.owners import OwnerTimeline


def timeline_of(*seen, partitions=1):
    timeline = OwnerTimeline(partitions)
    for now, owners, living in seen:
        timeline.see(now, owners, living)
    return timeline


def test_a_gap_without_a_node_is_measured_up_to_the_last_look():
    timeline = timeline_of((0, {0: ["a"]}, {"a"}), (1, {}, {"a"}), (4, {}, {"a"}), (5, {0: ["a"]}, {"a"}))
    assert timeline.longest_without_node == 3
    assert timeline.longest_without_living_owner == 3


def test_a_node_of_one_that_is_dead_is_an_owner_but_none_that_lives():
    timeline = timeline_of((0, {0: ["a"]}, {"a"}), (1, {0: ["a"]}, set()), (6, {0: ["a"]}, set()))
    assert timeline.longest_without_node == 0
    assert timeline.longest_without_living_owner == 5


def test_two_owners_are_told():
    assert timeline_of((1, {0: ["a", "b"]}, {"a", "b"})).owned_twice == [(1, 0, ("a", "b"))]


def test_a_message_given_to_one_while_the_partition_is_long_anothers_is_told():
    timeline = timeline_of((0, {0: ["a"]}, {"a"}), (10, {0: ["b"]}, {"a", "b"}), (20, {}, {"a", "b"}))
    messages = [(5.0, 0, 1), (9.5, 0, 2), (10.5, 0, 3), (12.0, 0, 4), (25.0, 0, 5)]
    assert timeline.given_to_others(messages, "a", 1.0) == [(12.0, 0, 4)]
    assert timeline.given_to_others(messages, "b", 1.0) == [(5.0, 0, 1)]


def test_gaps_begin_anew_after_nobody_could_see():
    timeline = timeline_of((0, {}, set()))
    timeline.see_nothing(20)
    timeline.see(30, {}, set())
    timeline.see(31, {}, set())
    assert timeline.longest_without_node == 1


def test_nobody_is_blamed_for_what_he_was_given_while_zookeeper_was_away():
    timeline = timeline_of((0, {0: ["a"]}, {"a"}), (10, {0: ["b"]}, {"a", "b"}))
    timeline.see_nothing(12)
    timeline.see(20, {0: ["b"]}, {"a", "b"})
    assert timeline.given_to_others([(11.5, 0, 1), (15.0, 0, 2)], "a", 0.4) == [(11.5, 0, 1)]
