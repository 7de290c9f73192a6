"""The rule for topics that exist already, on both brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from examples.flights.topics import OWNER_HEADER, ForeignTopicError, Topics, prepare

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition


@pytest.fixture
def topics(topic: Callable[[], str]) -> Topics:
    return Topics(f"{topic()}-")


def test_missing_topics_are_created(broker: Any, topics: Topics, eventually: Callable[..., object]) -> None:
    assert prepare(broker.bootstrap, topics) == []
    with Admin(broker.bootstrap) as admin:
        names = [topics.flights, topics.weather, topics.airlines, topics.delays]
        eventually(lambda: set(names) <= set(admin.list_topics()))
        described = admin.describe_topics(names)
    assert [len(described[name].partitions) for name in names] == [4, 1, 1, 1]


def test_an_empty_topic_is_used_as_it_is(
    broker: Any, topics: Topics, eventually: Callable[..., object]
) -> None:
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(topics.flights, num_partitions=2)])
        eventually(lambda: topics.flights in admin.list_topics())
        prepare(broker.bootstrap, topics)
        assert len(admin.describe_topics([topics.flights])[topics.flights].partitions) == 2


def test_topics_of_an_earlier_run_are_emptied(
    broker: Any, topics: Topics, eventually: Callable[..., object]
) -> None:
    prepare(broker.bootstrap, topics)
    with Producer(broker.bootstrap) as producer:
        producer.send(topics.flights, b"{}", partition=0, headers=[OWNER_HEADER]).result(timeout=30)
    assert prepare(broker.bootstrap, topics) == [topics.flights]
    partition = TopicPartition(topics.flights, 0)
    with Admin(broker.bootstrap) as admin, Consumer(broker.bootstrap) as consumer:
        eventually(lambda: consumer.end_offsets([partition]) == {partition: 0})
        assert len(admin.describe_topics([topics.flights])[topics.flights].partitions) == 4


def test_a_topic_with_other_peoples_records_is_left_alone(broker: Any, topics: Topics) -> None:
    with Producer(broker.bootstrap) as producer:
        producer.send(topics.weather, b"rain").result(timeout=30)
    with pytest.raises(ForeignTopicError, match=f"{topics.weather!r}.* --prefix"):
        prepare(broker.bootstrap, topics)
    with Admin(broker.bootstrap) as admin:
        assert topics.flights not in admin.list_topics()
