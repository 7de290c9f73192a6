"""Topics to which nothing is sent any more are forgotten, with all that is kept of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas import Admin, NewTopic, Producer
from barnabas.client.produce.batches.partition_queue import HIGHEST_EPOCH

MakeTopic = Callable[..., str]


def send_until_forgotten(producer: Producer, idle: str, busy: str, eventually: Any) -> None:
    """Sends to the busy topic until the other one is."""
    sender = producer._core._sender
    sender.topics_in_use._max_idle_seconds = 0.5

    def is_forgotten() -> bool:
        producer.send(busy, b"v").result(30)
        return idle not in producer._core._client.metadata.topics and idle not in sender.topics_in_use

    eventually(is_forgotten)
    assert busy in producer._core._client.metadata.topics
    assert {queue.partition.topic for queue in sender.queues()} == {busy}
    assert set(producer._core.delivered_batches()) == {busy}


@pytest.mark.parametrize("idempotence", [True, False])
def test_a_topic_that_is_not_used_is_forgotten_with_its_queues_and_found_again(
    broker: Any, make_topic: MakeTopic, read_topic: Any, eventually: Any, idempotence: bool
) -> None:
    idle, busy = make_topic(broker), make_topic(broker)
    with Producer(broker.bootstrap, metadata_max_age_ms=100, enable_idempotence=idempotence) as producer:
        for topic in (idle, busy):
            assert producer.send(topic, b"0").result(30).offset == 0
        for number in (1, 3):
            send_until_forgotten(producer, idle, busy, eventually)
            # A broker that knows the producer takes only the sequences that it expects.
            assert producer.send(idle, b"%d" % number).result(30).offset == number
            assert producer.send(idle, b"%d" % (number + 1)).result(30).offset == number + 1
    assert [message.value() for message in read_topic(broker, idle)] == [b"%d" % n for n in range(5)]


def test_a_topic_that_was_deleted_is_forgotten_and_may_be_made_anew(
    broker: Any, make_topic: MakeTopic, eventually: Any
) -> None:
    deleted, busy = make_topic(broker), make_topic(broker)
    settings: dict[str, Any] = {"metadata_max_age_ms": 100, "allow_auto_create_topics": False}
    with Admin(broker.bootstrap) as admin, Producer(broker.bootstrap, **settings) as producer:
        for number in range(3):
            assert producer.send(deleted, b"v").result(30).offset == number
        admin.delete_topics([deleted])
        send_until_forgotten(producer, deleted, busy, eventually)
        admin.create_topics([NewTopic(deleted, 1, 1)])
        for number in range(3):
            assert producer.send(deleted, b"v").result(30).offset == number


def test_an_epoch_that_is_the_last_is_followed_by_another_producer_id(
    broker: Any, make_topic: MakeTopic, eventually: Any
) -> None:
    idle, busy = make_topic(broker), make_topic(broker)
    with Producer(broker.bootstrap, metadata_max_age_ms=100) as producer:
        for topic in (idle, busy):
            producer.send(topic, b"v").result(30)
        sender = producer._core._sender
        producer_id = sender.identity.producer_id
        queue = next(queue for queue in sender.queues() if queue.partition.topic == idle)
        queue.producer_epoch = HIGHEST_EPOCH
        producer.send(idle, b"v").result(30)
        send_until_forgotten(producer, idle, busy, eventually)
        assert producer.send(idle, b"v").result(30).offset == 2
        assert sender.identity.producer_id > producer_id
