"""Records are found by their time from the log's start on, wherever in a batch that is, by every way that
there is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition
from barnabas.testing import ApacheKafka, EmbeddedBroker

COUNT, PER_BATCH = 60, 20


@pytest.fixture(params=["none", "zstd"])
def partition(
    request: pytest.FixtureRequest, broker: ApacheKafka | EmbeddedBroker, topic: Callable[[], str]
) -> TopicPartition:
    """Three batches of twenty records, a millisecond apart from 10,000 on, those of the last in reverse."""
    name = topic()
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1, 1, configs={"retention.ms": "-1"})])
    for first in range(0, COUNT, PER_BATCH):
        with Producer(broker.bootstrap, linger_ms=10_000, compression_type=request.param) as producer:
            for place in range(first, first + PER_BATCH):
                time = 10_000 + (place if first < 40 else 99 - place)
                producer.send(name, b"x", partition=0, timestamp=time)
            producer.flush()
    return TopicPartition(name, 0)


def found(consumer: Consumer, partition: TopicPartition, time: int) -> tuple[int, int] | None:
    place = consumer.offsets_for_times({partition: time})[partition]
    return None if place is None else (place.offset, place.timestamp)


def test_the_first_record_that_is_left_and_late_enough_is_found(
    broker: ApacheKafka | EmbeddedBroker, partition: TopicPartition
) -> None:
    with Admin(broker.bootstrap) as admin, Consumer(broker.bootstrap) as consumer:
        assert found(consumer, partition, 0) == (0, 10_000)
        admin.delete_records({partition: 12})
        assert found(consumer, partition, 0) == (12, 10_012)
        assert found(consumer, partition, 10_005) == (12, 10_012)
        assert found(consumer, partition, 10_015) == (15, 10_015)
        assert found(consumer, partition, 10_039) == (39, 10_039)
        assert found(consumer, partition, 10_050) == (40, 10_059)
        assert found(consumer, partition, 10_060) is None
        admin.delete_records({partition: 45})
        assert found(consumer, partition, 0) == (45, 10_054)
        assert found(consumer, partition, 10_055) is None
        admin.delete_records({partition: COUNT})
        assert found(consumer, partition, 0) is None
