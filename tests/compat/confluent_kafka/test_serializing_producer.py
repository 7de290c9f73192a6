"""SerializingProducer: the same code on the real package and on ours."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compat.confluent_kafka.packages import OURS, Builder, Log, Serializer, same

from barnabas.testing import ApacheKafka


def test_produce_serializes_the_key_and_then_the_value(apache_kafka: ApacheKafka, topic: Any) -> None:
    name = topic()

    def scenario(package: Any, log: Log) -> None:
        producer = package.SerializingProducer(
            {
                "bootstrap.servers": apache_kafka.bootstrap,
                "key.serializer": Serializer(log, "key", b"k"),
                "value.serializer": Serializer(log, "value", b"v"),
            }
        )

        def report(error: Any, message: Any) -> None:
            log.say("report", error, message.key(), message.value(), message.headers())

        log.step("all", lambda: producer.produce(name, 1, 2, on_delivery=report))
        log.step("names", lambda: producer.produce(topic=name, value=[2], headers=[("a", b"b")], partition=0))
        log.step("dictionary", lambda: producer.produce(name, headers={"a": "b"}, timestamp=5))
        log.step("headers", lambda: producer.produce(name, 1, 2, headers=5))
        log.step("partition", lambda: producer.produce(name, 1, 2, "x"))
        log.step("callback", lambda: producer.produce(name, 1, 2, callback=report))
        log.step("no topic", lambda: producer.produce())
        log.step("None", lambda: producer.produce(None, 1, 2))
        log.step("bytes", lambda: producer.produce(b"t", 1, 2))
        log.step("flush", lambda: producer.flush(30))
        log.step("close", producer.close)
        log.step("again", producer.close)
        log.step("closed", lambda: producer.produce(name, 1, 2))
        log.step("closed, and no topic", lambda: producer.produce(5, 1, 2))

    same(scenario)


@pytest.mark.parametrize("field", ["key", "value"])
def test_a_serializer_that_fails_is_named_with_its_reason(
    apache_kafka: ApacheKafka, topic: Any, field: str
) -> None:
    name = topic()

    def scenario(package: Any, log: Log) -> None:
        servers = {"bootstrap.servers": apache_kafka.bootstrap}
        for failure in (ValueError("no"), package.SerializationError("no"), package.KafkaException(5)):
            serializer = Serializer(log, field, failure)
            producer = package.SerializingProducer({**servers, f"{field}.serializer": serializer})
            log.step(repr(failure), lambda producer=producer: producer.produce(name, b"1", b"2"))
        for wrong in (5, lambda value, context: 5, lambda value: b""):
            producer = package.SerializingProducer({**servers, f"{field}.serializer": wrong})
            log.step("wrong", lambda producer=producer: producer.produce(name, b"1", b"2"))

    same(scenario)


def test_a_producer_closes_what_its_builders_built_and_nothing_else(apache_kafka: ApacheKafka) -> None:
    def scenario(package: Any, log: Log) -> None:
        servers = {"bootstrap.servers": apache_kafka.bootstrap}
        builders = {
            "key.serializer.builder": Builder(log, "one", ("own.property",)),
            "value.serializer.builder": Builder(log, "two", ("own.property", "other")),
        }
        conf = {**servers, **builders, "own.property": 1, "other": 2}
        with package.SerializingProducer(conf):
            log.say("made", sorted(conf))
        own = {"key.serializer": Serializer(log, "own")}
        mixed = package.SerializingProducer(
            {**servers, **own, "value.serializer.builder": Builder(log, "two")}
        )
        log.step("close", mixed.close)
        log.step("close again", mixed.close)
        log.step("both", lambda: package.SerializingProducer({**servers, **own, **builders}))
        log.step(
            "unknown", lambda: package.SerializingProducer({**servers, **builders, "no.such.property": 1})
        )
        log.step("no configuration", lambda: package.SerializingProducer(None))
        log.step("keywords", lambda: package.SerializingProducer(**servers))

    same(scenario)


def test_a_serializer_can_ask_for_the_clusters_id(apache_kafka: ApacheKafka) -> None:
    log = Log()
    serializer = Serializer(log, "key")
    with OURS.SerializingProducer(
        {"bootstrap.servers": apache_kafka.bootstrap, "key.serializer": serializer}
    ) as producer:
        assert serializer.resolver() == producer.cluster_id(10)
