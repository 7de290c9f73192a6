"""Reading topics back with an independent client."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Any

import confluent_kafka
import pytest
from tests.waiting import Patience


@pytest.fixture
def read_topic() -> Callable[..., list[Any]]:
    """`read_topic(broker, topic)` gives all committed messages of a topic, as confluent-kafka reads them,
    ordered by partition and offset."""

    def read(broker: Any, topic: str, timeout: float = 60.0) -> list[Any]:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": f"reader-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
            }
        )
        patience = Patience(timeout)
        try:
            metadata = consumer.list_topics(topic, timeout=timeout).topics[topic]
            partitions = [
                confluent_kafka.TopicPartition(topic, number, confluent_kafka.OFFSET_BEGINNING)
                for number in metadata.partitions
            ]
            consumer.assign(partitions)
            messages: list[Any] = []
            unfinished = set(metadata.partitions)
            while unfinished:
                patience.check(f"{topic} was not read within {timeout} s")
                for message in consumer.consume(10_000, 0.1):
                    error = message.error()
                    if error is None:
                        messages.append(message)
                    elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                        unfinished.discard(message.partition())
                    else:
                        assert error.retriable(), error
        finally:
            consumer.close()
        return sorted(messages, key=lambda message: (message.partition(), message.offset()))

    return read


@pytest.fixture
def fill_topic() -> Callable[..., None]:
    """`fill_topic(broker, topic, values, partition=0, **settings)` produces with confluent-kafka and waits
    until everything is stored. A value may be a dict of `produce` arguments."""

    def fill(broker: Any, topic: str, values: Iterable[Any], partition: int = 0, **settings: Any) -> None:
        dotted = {key.replace("_", "."): value for key, value in settings.items()}
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, **dotted})
        failures: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failures.append(error)

        for value in values:
            arguments = value if isinstance(value, dict) else {"value": value}
            producer.produce(topic, partition=partition, on_delivery=delivered, **arguments)
            producer.poll(0)
        assert producer.flush(30) == 0
        assert not failures

    return fill
