from __future__ import annotations

from barnabas.broker.replication.follower_lag import FollowerLag

MAX_LAG_MS = 100


def test_a_follower_that_lacks_nothing_is_in_sync_however_long_it_is_silent() -> None:
    lag = FollowerLag(7, 0)
    assert not lag.is_too_long(7, 10_000, MAX_LAG_MS)
    assert lag.is_too_long(8, 10_000, MAX_LAG_MS)


def test_a_follower_may_be_behind_for_as_long_as_the_setting_has_it() -> None:
    lag = FollowerLag(7, 50)
    assert not lag.is_too_long(8, 150, MAX_LAG_MS)
    assert lag.is_too_long(8, 151, MAX_LAG_MS)


def test_the_time_counts_from_when_it_last_had_all() -> None:
    lag = FollowerLag(7, 0)
    lag.hear(7, 7, 500)
    assert not lag.is_too_long(8, 600, MAX_LAG_MS)
    assert lag.is_too_long(8, 601, MAX_LAG_MS)


def test_a_follower_that_gets_all_that_there_was_when_it_asked_before_is_not_behind() -> None:
    lag = FollowerLag(0, 0)
    for turn in range(1, 20):
        lag.hear(10 * turn - 10, 10 * turn, 90 * turn)
    # It has had all of the moment before the last one.
    assert not lag.is_too_long(190, 90 * 18 + MAX_LAG_MS, MAX_LAG_MS)
    assert lag.is_too_long(190, 90 * 18 + MAX_LAG_MS + 1, MAX_LAG_MS)


def test_a_follower_that_gets_a_little_of_what_there_is_is_behind() -> None:
    lag = FollowerLag(0, 0)
    for turn in range(1, 20):
        lag.hear(turn, 1000 * turn, 90 * turn)
    assert lag.is_too_long(19_000, 90 * 19, MAX_LAG_MS)


def test_a_follower_that_a_new_leader_has_not_heard_of_is_behind_until_it_asks() -> None:
    lag = FollowerLag(-1, 0)
    assert lag.is_too_long(0, 101, MAX_LAG_MS)
    lag.hear(0, 0, 200)
    assert not lag.is_too_long(0, 900, MAX_LAG_MS)
