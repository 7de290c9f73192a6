"""A topic that is deleted and made again under a KafkaConsumer: all of the new one is read, and no position
in the old one is committed for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.client.consume.test_topics_made_again import make_again

from barnabas import Admin, Producer
from barnabas.compat.kafka import KafkaConsumer
from barnabas.compat.kafka.structs import OffsetAndMetadata, TopicPartition
from barnabas.testing import EmbeddedBroker

pytestmark = pytest.mark.integration

MakeTopic = Callable[..., str]
Eventually = Callable[..., Any]
MakeConsumer = Callable[..., Any]


@pytest.fixture
def make_consumer(embedded_broker: EmbeddedBroker) -> Iterator[MakeConsumer]:
    made: list[Any] = []

    def make(**settings: Any) -> Any:
        consumer = KafkaConsumer(
            bootstrap_servers=embedded_broker.bootstrap,
            auto_offset_reset="earliest",
            metadata_max_age_ms=600_000,
            # Else it may make the topic by itself, as soon as that is deleted.
            allow_auto_create_topics=False,
            **settings,
        )
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close()


@pytest.fixture
def admin(embedded_broker: EmbeddedBroker) -> Iterator[Admin]:
    with Admin(embedded_broker.bootstrap) as admin:
        yield admin


@pytest.fixture
def group_id() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


def fill(broker: EmbeddedBroker, topic: str, values: list[bytes]) -> None:
    with Producer(broker.bootstrap) as producer:
        for value in values:
            producer.send(topic, value, partition=0)


def polled(consumer: Any, values: list[bytes]) -> list[bytes]:
    """`values`, with those of another poll behind them."""
    for records in consumer.poll(timeout_ms=100).values():
        values += [record.value for record in records]
    return values


@pytest.mark.parametrize("call", ["commit", "commit_async"])
def test_a_position_in_a_topic_that_is_gone_is_not_committed_for_the_one_made_again(
    embedded_broker: EmbeddedBroker,
    admin: Admin,
    make_consumer: MakeConsumer,
    make_topic: MakeTopic,
    eventually: Eventually,
    group_id: str,
    call: str,
) -> None:
    names = make_topic(embedded_broker), make_topic(embedded_broker)
    topic, other = (TopicPartition(name, 0) for name in names)
    fill(embedded_broker, topic.topic, [b"old"] * 20)
    consumer = make_consumer(group_id=group_id, enable_auto_commit=False)
    consumer.assign([topic, other])
    values: list[bytes] = []
    eventually(lambda: len(polled(consumer, values)) == 20)
    make_again(admin, topic.topic, eventually)
    fill(embedded_broker, topic.topic, [b"new"] * 30)
    # From now on the consumer knows. It has not polled since, so these are positions in the old one.
    eventually(lambda: consumer._session.core.buffer.has_data)
    places = {topic: OffsetAndMetadata(20, "", -1), other: OffsetAndMetadata(0, "", -1)}
    done = getattr(consumer, call)(places)
    if call == "commit_async":
        eventually(lambda: done.is_done)
    assert consumer.committed(topic) is None
    assert consumer.committed(other) == 0
    values.clear()
    eventually(lambda: len(polled(consumer, values)) == 30)
    assert set(values) == {b"new"}
    consumer.commit()
    assert consumer.committed(topic) == 30


@pytest.mark.parametrize("after", [5, 40], ids=["shorter", "longer"])
def test_a_group_that_commits_by_itself_goes_on_in_the_topic_that_was_made_again(
    embedded_broker: EmbeddedBroker,
    admin: Admin,
    make_consumer: MakeConsumer,
    make_topic: MakeTopic,
    eventually: Eventually,
    group_id: str,
    after: int,
) -> None:
    topic = make_topic(embedded_broker)
    fill(embedded_broker, topic, [b"old"] * 20)
    settings: dict[str, Any] = {
        "group_id": group_id,
        "heartbeat_interval_ms": 200,
        "auto_commit_interval_ms": 50,
    }
    consumer = make_consumer(**settings)
    consumer.subscribe([topic])
    values: list[bytes] = []
    eventually(lambda: len(polled(consumer, values)) == 20)
    values.clear()
    make_again(admin, topic, eventually)
    fill(embedded_broker, topic, [b"new"] * after)
    eventually(lambda: len(polled(consumer, values)) == after)
    assert set(values) == {b"new"}
    consumer.close()
    assert admin.list_group_offsets(group_id)[topic, 0].offset == after
