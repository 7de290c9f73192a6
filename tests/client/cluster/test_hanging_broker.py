"""A broker that hangs does not say that a topic is unknown, so no client does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import Consumer, Producer, TopicPartition
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.errors import KafkaTimeoutError
from barnabas.testing import EmbeddedBroker

TIMEOUT_SECONDS = 0.5
SETTINGS: dict[str, Any] = {"allow_auto_create_topics": False}
PRODUCER: dict[str, Any] = {"max_block_ms": TIMEOUT_SECONDS * 1000, **SETTINGS}


@pytest.fixture(scope="module")
def stopping_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


CALLS: dict[str, tuple[Callable[[str], Any], Callable[[Any, str], object]]] = {
    "send": (lambda at: Producer(at, **PRODUCER), lambda producer, topic: producer.send(topic, b"x")),
    "partitions_for of a producer": (
        lambda at: Producer(at, **SETTINGS),
        lambda producer, topic: producer.partitions_for(topic, timeout=TIMEOUT_SECONDS),
    ),
    "partitions_for of a consumer": (
        lambda at: Consumer(at, **SETTINGS),
        lambda consumer, topic: consumer.partitions_for(topic, timeout=TIMEOUT_SECONDS),
    ),
    "end_offsets": (
        lambda at: Consumer(at, **SETTINGS),
        lambda consumer, topic: consumer.end_offsets([TopicPartition(topic, 0)], timeout=TIMEOUT_SECONDS),
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_broker_that_hangs_is_a_time_out_that_names_the_topic_and_not_an_unknown_topic(
    stopping_broker: EmbeddedBroker, make_topic: Callable[..., str], call: str
) -> None:
    make, ask = CALLS[call]
    known, topic = make_topic(stopping_broker), make_topic(stopping_broker)
    with make(stopping_broker.bootstrap) as client:
        client.partitions_for(known)
        stopping_broker.pause()
        try:
            with pytest.raises(KafkaTimeoutError, match=f"no metadata of topic '{topic}' within"):
                ask(client, topic)
        finally:
            stopping_broker.resume()


@pytest.mark.parametrize("call", CALLS)
def test_a_topic_that_the_cluster_says_it_has_not_is_an_unknown_topic(
    embedded_broker: EmbeddedBroker, call: str
) -> None:
    make, ask = CALLS[call]
    refused = pytest.raises(UnknownTopicOrPartitionError, match="create it first")
    with make(embedded_broker.bootstrap) as client, refused:
        ask(client, "not-a-topic")
