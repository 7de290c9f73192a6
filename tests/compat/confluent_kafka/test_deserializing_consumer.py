"""DeserializingConsumer: the same code on the real package and on ours."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.compat.confluent_kafka.packages import REAL, Builder, Log, Serializer, same

from barnabas.testing import ApacheKafka


def fill(bootstrap: str, topic: str) -> None:
    producer = REAL.Producer({"bootstrap.servers": bootstrap})
    for key, value, headers in (
        (None, None, None),
        (b"k", b"v", [("a", b"b")]),
        (b"\xff", b"good", None),
        (b"good", b"\xff", None),
        (b"last", b"", None),
    ):
        producer.produce(topic, value, key, headers=headers)
    assert producer.flush(30) == 0


def test_poll_deserializes_or_says_what_could_not_be(apache_kafka: ApacheKafka, topic: Any) -> None:
    name = topic()
    fill(apache_kafka.bootstrap, name)

    def scenario(package: Any, log: Log) -> None:
        def decode(value: bytes | None, context: Any) -> str | None:
            log.say(value, context.topic, context.field.value, context.headers)
            return None if value is None else value.decode()

        consumer = package.DeserializingConsumer(
            {
                "bootstrap.servers": apache_kafka.bootstrap,
                "group.id": uuid.uuid4().hex,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "key.deserializer": decode,
                "value.deserializer": decode,
            }
        )
        consumer.subscribe([name])
        for number in range(6):
            try:
                log.step(f"poll {number}", lambda: consumer.poll(15))
            finally:
                log.step("position", lambda: consumer.position([package.TopicPartition(name, 0)])[0].offset)
        consumer.seek(package.TopicPartition(name, 0, package.OFFSET_END))
        with pytest.raises(package.ConsumeError) as ended:
            consumer.poll(15)
        log.say(ended.value.name, ended.value.exception, ended.value.kafka_message.offset())
        consumer.seek(package.TopicPartition(name, 0, 3))
        with pytest.raises(package.ValueDeserializationError) as failed:
            consumer.poll(15)
        message = failed.value.kafka_message
        log.say(message.key(), message.value(), message.error(), repr(failed.value.exception))
        log.step("consume", lambda: consumer.consume(1, 0))
        log.step("wrong", lambda: consumer.poll("x"))
        log.step("keyword", lambda: consumer.poll(timeout=0))
        log.step("close", consumer.close)
        log.step("close again", consumer.close)
        log.step("closed", lambda: consumer.poll(0))

    same(scenario)


def test_a_consumer_closes_what_its_builders_built(apache_kafka: ApacheKafka) -> None:
    def scenario(package: Any, log: Log) -> None:
        conf = {"bootstrap.servers": apache_kafka.bootstrap, "value.deserializer": Serializer(log, "own")}
        built = {"key.deserializer.builder": Builder(log, "one")}
        with package.DeserializingConsumer({**conf, **built, "group.id": "g"}):
            log.say("made")
        log.step("no group", lambda: package.DeserializingConsumer({**conf, **built}))
        both = {**conf, **built, "key.deserializer": 5, "group.id": "g"}
        log.step("both", lambda: package.DeserializingConsumer(both))

    same(scenario)
