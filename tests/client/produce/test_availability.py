from __future__ import annotations

from barnabas.client.produce.availability import LeaderAvailability


def test_a_leader_that_takes_nothing_for_the_time_out_is_avoided_until_it_takes_something() -> None:
    availability = LeaderAvailability(2.0)
    assert availability.look({1, 2}, lambda leader_id: leader_id == 1, 10.0) == 2.0
    assert availability.look({1, 2}, lambda leader_id: leader_id == 1, 11.5) == 0.5
    assert availability.avoided == set()
    assert availability.look({1, 2}, lambda leader_id: leader_id == 1, 12.0) is None
    assert availability.avoided == {2}
    availability.look({1, 2}, lambda _: True, 12.1)
    assert availability.avoided == set()


def test_time_counts_anew_after_something_was_taken_or_there_was_nothing_to_send() -> None:
    availability = LeaderAvailability(2.0)
    availability.look({1}, lambda _: False, 10.0)
    availability.took_something(1)
    assert availability.look({1}, lambda _: False, 11.0) == 2.0
    assert availability.look(set(), lambda _: False, 12.0) is None
    assert availability.look({1}, lambda _: False, 12.5) == 2.0
    assert availability.avoided == set()


def test_no_time_out_means_that_nobody_watches() -> None:
    assert not LeaderAvailability(0).is_watched
