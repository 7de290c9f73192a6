"""A topic that is deleted and made again under a SimpleConsumer: no position in the old one is committed for
the one that has its name now."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import Admin, NewTopic, Producer, TopicPartition
from barnabas.compat.pykafka import KafkaClient
from barnabas.errors import BarnabasError

OLD, NEW = 20, 30


@pytest.fixture
def admin(broker: Any) -> Iterator[Admin]:
    with Admin(broker.bootstrap) as admin:
        yield admin


@pytest.fixture
def topic(broker: Any, make_topic: Callable[..., str]) -> str:
    name = make_topic(broker)
    fill(broker, name, OLD)
    return name


@pytest.fixture
def consumer(broker: Any, topic: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Of a group that has the topic's name. The parameter: its `auto_commit_interval_ms`."""
    client = KafkaClient(broker.bootstrap, broker_version="0.10.2")
    consumer = client.topics[topic.encode()].get_simple_consumer(
        topic.encode(), auto_commit_enable=True, auto_commit_interval_ms=request.param
    )
    yield consumer
    with contextlib.suppress(Exception):
        consumer.stop()


def fill(broker: Any, topic: str, count: int) -> None:
    with Producer(broker.bootstrap) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number)


def make_again(admin: Admin, topic: str, eventually: Any) -> None:
    admin.delete_topics([topic])

    def is_made() -> bool:
        try:
            admin.create_topics([NewTopic(topic, 1, 1)])
        except BarnabasError:
            # The old one may still be on its way out.
            return False
        return True

    eventually(is_made)


def committed(admin: Admin, topic: str) -> int | None:
    found = admin.list_group_offsets(topic).get(TopicPartition(topic, 0))
    return None if found is None else found.offset


def count_commits(consumer: Any) -> list[Any]:
    """Gets an entry for each commit by the clock that is over from now on."""
    counted: list[Any] = []
    commits = consumer._session._commits
    commit = commits._commit

    async def commit_and_count(*arguments: Any, **settings: Any) -> None:
        try:
            await commit(*arguments, **settings)
        finally:
            counted.append(settings)

    commits._commit = commit_and_count
    return counted


@pytest.mark.parametrize("consumer", [20], indirect=True)
def test_commits_by_the_clock_are_of_the_topic_that_was_read(
    broker: Any, admin: Admin, topic: str, consumer: Any, eventually: Any
) -> None:
    for _ in range(OLD):
        consumer.consume()
    eventually(lambda: committed(admin, topic) == OLD)
    make_again(admin, topic, eventually)
    fill(broker, topic, NEW)
    commits = count_commits(consumer)
    eventually(lambda: len(commits) >= 5)
    assert committed(admin, topic) is None
    assert [consumer.consume().offset for _ in range(NEW)] == list(range(NEW))
    eventually(lambda: committed(admin, topic) == NEW)


@pytest.mark.parametrize("consumer", [600_000], indirect=True)
@pytest.mark.parametrize("call", ["commit_offsets", "stop"])
def test_the_programs_own_commits_leave_out_what_is_known_to_be_of_the_old_topic(
    broker: Any, admin: Admin, topic: str, consumer: Any, eventually: Any, call: str
) -> None:
    for _ in range(OLD):
        consumer.consume()
    make_again(admin, topic, eventually)
    fill(broker, topic, NEW)
    eventually(lambda: any(state.next_topic_id for state in consumer._session._partitions.states()))
    getattr(consumer, call)()
    assert committed(admin, topic) is None
