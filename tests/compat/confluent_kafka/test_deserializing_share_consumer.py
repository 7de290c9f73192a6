"""DeserializingShareConsumer: the same code on the real package and on ours."""

from __future__ import annotations

import uuid
from typing import Any

from tests.compat.confluent_kafka.packages import REAL, Log, same
from tests.share_groups import begin_at_the_first_record
from tests.waiting import Patience

from barnabas.testing import ApacheKafka


def test_a_message_that_cannot_be_deserialized_comes_with_its_bytes_and_an_error(
    apache_kafka: ApacheKafka, topic: Any
) -> None:
    name = topic()
    producer = REAL.Producer({"bootstrap.servers": apache_kafka.bootstrap})
    for key, value in ((None, None), (b"k", b"v"), (b"\xff", b"v"), (b"k", b"\xff"), (b"last", b"")):
        producer.produce(name, value, key, headers=[("a", b"b")])
    assert producer.flush(30) == 0

    def scenario(package: Any, log: Log) -> None:
        group = f"share-{uuid.uuid4().hex[:12]}"
        begin_at_the_first_record(apache_kafka.bootstrap, group)

        def decode(value: bytes | None, context: Any) -> str | None:
            log.say(value, context.topic, context.field.value, context.headers)
            return None if value is None else value.decode()

        consumer = package.DeserializingShareConsumer(
            {
                "bootstrap.servers": apache_kafka.bootstrap,
                "group.id": group,
                "key.deserializer": decode,
                "value.deserializer": decode,
            }
        )
        consumer.subscribe([name])
        messages: list[Any] = []
        patience = Patience()
        while len(messages) < 5:
            patience.check(messages)
            messages += consumer.poll(20)
        for message in messages:
            log.say(message.offset(), message.key(), message.value(), str(message.error()))
            log.say(message.deserialized_key(), message.deserialized_value())
        log.step("close", consumer.close)
        log.step("closed", lambda: consumer.poll(0))

    same(scenario)


def test_its_configuration(apache_kafka: ApacheKafka) -> None:
    def scenario(package: Any, log: Log) -> None:
        servers = {"bootstrap.servers": apache_kafka.bootstrap}
        log.step("nothing", lambda: package.DeserializingShareConsumer())
        log.step("no group", lambda: package.DeserializingShareConsumer(servers))
        builder = {**servers, "group.id": "g", "key.deserializer.builder": 5}
        log.step("no builders", lambda: package.DeserializingShareConsumer(builder))

    same(scenario)
