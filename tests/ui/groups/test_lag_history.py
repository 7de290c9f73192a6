from __future__ import annotations

from collections.abc import Mapping

import pytest

from barnabas.client.admin.types import GroupListing
from barnabas.types import TopicPartition
from barnabas.ui.figures import Groups, groups_of
from barnabas.ui.groups.lag_history import SHORTEST_SAMPLES, LagHistory

Positions = Mapping[str, tuple[int, int]]
"""By topic where a group is and where the topic ends."""


def groups(**positions: Positions) -> Groups:
    """With one partition in each topic."""
    listings = [GroupListing(name, "consumer", "Stable", "consumer") for name in positions]
    committed = {
        name: {TopicPartition(topic, 0): at for topic, (at, _) in found.items()}
        for name, found in positions.items()
    }
    ends = {TopicPartition(t, 0): end for found in positions.values() for t, (_, end) in found.items()}
    return groups_of(listings, committed, ends)


def history_of(*looks: Positions, every: float = 10.0) -> LagHistory:
    """Of a group `g`, looked at so often."""
    history = LagHistory(every)
    for number, look in enumerate(looks):
        history.saw(number * every, groups(g=look))
    return history


def test_lag_is_kept_by_topic_and_together() -> None:
    history = history_of({"a": (5, 8), "b": (2, 3)}, {"a": (8, 8), "b": (2, 7)})
    assert [(s.at, s.lag) for s in history.total("g")] == [(0.0, 4), (10.0, 5)]
    assert {topic: [s.lag for s in found] for topic, found in history.topics("g").items()} == {
        "b": [1, 5],
        "a": [3, 0],
    }
    latest = history.latest("g")
    assert latest == history.total("g")[-1]


def test_lag_in_time_is_since_the_topic_went_past_where_the_group_is() -> None:
    # At 20 s the topic went past 100, where the group still is at 40 s.
    history = history_of(
        {"a": (0, 0)}, {"a": (50, 50)}, {"a": (100, 100)}, {"a": (100, 150)}, {"a": (100, 200)}
    )
    assert [s.seconds for s in history.total("g")] == [0.0, 0.0, 0.0, 10.0, 20.0]
    assert history.latest("g") == history.total("g")[-1]


def test_between_two_looks_a_topic_grows_evenly() -> None:
    history = history_of({"a": (0, 0)}, {"a": (25, 100)})
    assert history.total("g")[-1].seconds == 7.5
    assert history.latest("g") == history.total("g")[-1]


def test_lag_from_before_the_page_began_has_no_time() -> None:
    history = history_of({"a": (5, 100)}, {"a": (6, 100)})
    assert [s.seconds for s in history.total("g")] == [None, None]
    assert history.latest("g") == history.total("g")[-1]


def test_looks_that_come_sooner_are_no_samples() -> None:
    history = LagHistory(10.0)
    for at in (0.0, 5.0, 9.5, 12.0, 19.0, 20.0):
        history.saw(at, groups(g={"a": (0, 1)}))
    assert [s.at for s in history.total("g")] == [0.0, 9.5, 19.0]


def test_a_clock_that_is_set_back_begins_the_history_anew() -> None:
    history = LagHistory(10.0)
    for at in (1_000.0, 1_010.0, 500.0, 510.0):
        history.saw(at, groups(g={"a": (0, 1)}))
    assert [s.at for s in history.total("g")] == [500.0, 510.0]


def test_groups_and_topics_that_are_gone_are_forgotten() -> None:
    history = LagHistory(10.0)
    history.saw(0.0, groups(g={"a": (0, 1), "b": (0, 2)}, h={"a": (0, 3)}))
    history.saw(10.0, groups(g={"a": (0, 1)}))
    assert [*history.topics("g")] == ["a"]
    assert history.total("h") == []
    assert history.figures_kept == 4


def test_a_partition_without_a_leader_leaves_a_gap() -> None:
    history = LagHistory(10.0)
    known = groups(g={"a": (0, 1)})
    partition = TopicPartition("a", 0)
    unknown = groups_of([GroupListing("g", "consumer", "Stable", "consumer")], {"g": {partition: 0}}, {})
    for number, look in enumerate((known, unknown, known)):
        history.saw(number * 10.0, look)
    assert [s.lag for s in history.total("g")] == [1, None, 1]


@pytest.mark.parametrize(
    ("lags", "stands_out"),
    [
        (range(0, 1200, 100), True),
        ([500] * 12, False),
        (range(1200, 0, -100), False),
        # Commits in steps.
        ([0, 400, 800, 1200] * 3, False),
        ([0, 400, 800, 1200, 300, 700, 1100, 1500, 600, 1000, 1400, 1800], True),
        ([0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7], False),
        # Too early to tell.
        ([0, 100, 200, 300, 400], False),
    ],
)
def test_a_group_stands_out_whose_lag_grows(lags: list[int], stands_out: bool) -> None:
    looks = [{"a": (number, number + lag)} for number, lag in enumerate(lags)]
    assert ("g" in history_of(*looks).growing()) == stands_out


def test_a_group_that_does_nothing_is_told_as_such() -> None:
    growth = history_of(*({"a": (3, 3 + number)} for number in range(12))).growing()["g"]
    assert growth.is_stuck
    assert growth.told("2 min") == (
        "The group has done nothing for 2 min, and its lag has grown by 11 records."
    )
    growth = history_of(*({"a": (number, number * 100)} for number in range(12))).growing()["g"]
    assert growth.told("2 min") == "The group falls behind: in 2 min its lag has grown by 1,089 records."


def test_a_topic_that_is_read_anew_does_not_look_like_growth() -> None:
    looks: list[Positions] = [{"a": (0, 50)}] * 9
    looks += [{"a": (0, 50), "b": (0, 1_000)}] * 3
    assert history_of(*looks).growing() == {}


def test_memory_is_bounded_however_many_groups_there_are() -> None:
    most = 40 * SHORTEST_SAMPLES * 2
    history = LagHistory(1.0, most)
    many = groups(**{f"g{number}": {"a": (0, 1)} for number in range(60)})
    for at in range(3 * SHORTEST_SAMPLES):
        history.saw(float(at), many)
    assert history.figures_kept <= most
    assert history.left_out == 20
    assert len(history.total("g0")) == SHORTEST_SAMPLES


def test_few_groups_have_a_longer_history_than_many() -> None:
    history = LagHistory(1.0, 10 * SHORTEST_SAMPLES * 2)
    for at in range(3 * SHORTEST_SAMPLES):
        history.saw(float(at), groups(g={"a": (0, 1)}, h={"a": (0, 1)}))
    assert len(history.total("g")) == 3 * SHORTEST_SAMPLES
    assert history.left_out == 0
