from __future__ import annotations

from barnabas.client.cluster.topics_in_use import TopicsInUse


def nothing_waits() -> set[str]:
    return set()


def test_a_topic_that_was_not_used_for_longer_than_the_limit_is_forgotten() -> None:
    topics = TopicsInUse(1000)
    topics.use("a", 0.0)
    topics.use("b", 0.5)
    assert topics.forget_idle(1.0, nothing_waits) == []
    assert topics.forget_idle(1.2, nothing_waits) == ["a"]
    assert list(topics) == ["b"]


def test_a_topic_that_is_used_again_is_in_use_for_as_long_again() -> None:
    topics = TopicsInUse(1000)
    topics.use("a", 0.0)
    topics.use("b", 0.1)
    topics.use("a", 0.9)
    assert topics.forget_idle(1.5, nothing_waits) == ["b"]
    assert "a" in topics


def test_a_topic_with_records_that_wait_is_kept_and_those_behind_it_are_not() -> None:
    topics = TopicsInUse(1000)
    topics.use("a", 0.0)
    topics.use("b", 0.1)
    assert topics.forget_idle(2.0, lambda: {"a"}) == ["b"]
    assert list(topics) == ["a"]


def test_what_waits_is_not_looked_for_while_no_topic_is_idle() -> None:
    topics = TopicsInUse(1000)
    topics.use("a", 0.0)
    asked: list[int] = []

    def waiting() -> set[str]:
        asked.append(1)
        return set()

    topics.forget_idle(0.5, waiting)
    assert asked == []
    topics.forget_idle(1.5, waiting)
    assert asked == [1]
