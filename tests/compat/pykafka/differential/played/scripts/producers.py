"""Producers: what messages become, what is reported, what is raised."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka


def told(records: list[Any]) -> list[Any]:
    """Offset, key and value of each."""
    return [(offset, key, value) for offset, key, value, _, _ in records]


@on_kafka()
def a_sync_producer_returns_when_the_message_is_there(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    with stage.topic_of(name).get_sync_producer(linger_ms=1) as producer:
        for number in range(4):
            stage.within("produced", producer.produce, b"test message %d" % number)
            stage.record("end", stage.ask("end_offset", name, 0))
    stage.record("there", told(stage.records_of(name)))


@on_kafka()
def an_async_producer_has_sent_all_when_it_stops(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    producer = stage.topic_of(name).get_producer(linger_ms=10)
    for number in range(500):
        producer.produce(b"%d" % number, partition_key=b"key")
    stage.attempt("stopped", producer.stop)
    stage.record("there", told(stage.records_of(name)))


@on_kafka()
def values_are_bytes_or_none(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    with stage.topic_of(name).get_sync_producer(linger_ms=1) as producer:
        for label, value, key in (
            ("text", "text", None),
            ("a number", 5, None),
            ("none", None, None),
            ("none with a key", None, b"key"),
            ("empty", b"", None),
            ("a key of text", b"x", "key"),
            ("a key of numbers", b"x", 7),
        ):
            message = stage.within(label, producer.produce, value, partition_key=key)
            if message is not None:
                stage.record(label, (message.value, message.partition_key, message.offset))
    stage.record("there", told(stage.records_of(name)))


@on_kafka()
def a_serializer_makes_bytes(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    seen: list[Any] = []

    def serializer(value: Any, key: Any) -> tuple[bytes, bytes]:
        seen.append((value, key))
        return repr(value).encode(), repr(key).encode()

    with stage.topic_of(name).get_sync_producer(linger_ms=1, serializer=serializer) as producer:
        stage.within("produced", producer.produce, {"a": 1}, partition_key=2)
    with stage.topic_of(name).get_sync_producer(
        linger_ms=1, serializer=stage.module("utils").serialize_utf8
    ) as producer:
        stage.within("texts", producer.produce, "ü", partition_key="k")
        stage.within("no value", producer.produce, None)
    stage.record("seen", seen)
    stage.record("there", told(stage.records_of(name)))


@on_kafka()
def a_serializer_that_raises_is_heard(pykafka: Any, stage: Any) -> None:
    def serializer(value: Any, key: Any) -> Any:
        raise ZeroDivisionError("of the serializer")

    with stage.topic_of(stage.topic()).get_sync_producer(linger_ms=1, serializer=serializer) as producer:
        stage.within("produced", producer.produce, b"x")


@on_kafka()
def delivery_reports_come_with_their_messages(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    with stage.topic_of(name).get_producer(delivery_reports=True, linger_ms=5) as producer:
        for number in range(3):
            producer.produce(b"%d" % number, partition_key=b"key %d" % number)
        for _ in range(3):
            message, error = producer.get_delivery_report(timeout=20)
            stage.record("report", (message.value, message.partition_key, message.offset, error))
            stage.record("of", (type(message).__name__, message.partition_id))
        stage.raised("none left", producer.get_delivery_report, block=False)
        stage.raised("none in time", producer.get_delivery_report, timeout=0.05)


@on_kafka()
def a_producer_without_delivery_reports_refuses_to_give_them(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    with topic.get_producer(linger_ms=1) as producer:
        stage.attempt("asynchronous", producer.get_delivery_report, block=False)
    with topic.get_sync_producer(linger_ms=1) as producer:
        stage.attempt("synchronous", producer.get_delivery_report, block=False)


@on_kafka()
def a_message_that_is_too_large_is_refused(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic(max_message_bytes="2000"))
    with topic.get_sync_producer(linger_ms=1) as producer:
        stage.raised("for the broker", producer.produce, b"x" * 5000)
        stage.within("one that is not", producer.produce, b"x")
    with topic.get_producer(delivery_reports=True, linger_ms=1) as producer:
        producer.produce(b"x" * 5000)
        message, error = producer.get_delivery_report(timeout=20)
        stage.record("reported", (len(message.value), type(error)))


@on_kafka()
def a_producer_that_stopped_takes_no_messages(pykafka: Any, stage: Any) -> None:
    producer = stage.topic_of(stage.topic()).get_producer(linger_ms=1)
    producer.stop()
    stage.within("produced", producer.produce, b"x")
    stage.attempt("stopped again", producer.stop)


@on_kafka()
def a_producer_that_was_not_started_takes_no_messages(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    producer = stage.topic_of(name).get_producer(auto_start=False, linger_ms=1)
    stage.within("before", producer.produce, b"x")
    stage.attempt("started", producer.start)
    stage.within("after", producer.produce, b"y")
    producer.stop()
    stage.record("there", told(stage.records_of(name)))


@on_kafka()
def a_full_queue_raises_where_it_is_not_to_wait(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    producer = topic.get_producer(
        block_on_queue_full=False, max_queued_messages=10, min_queued_messages=10**5, linger_ms=2000
    )
    stage.closing(producer.stop)

    def fill() -> None:
        for _ in range(40):
            producer.produce(b"x" * 10)

    stage.raised("filled", fill)


@on_kafka()
def partitions_are_chosen_by_the_partitioner(pykafka: Any, stage: Any) -> None:
    name = stage.topic(partitions=3)
    seen: list[Any] = []

    def partitioner(partitions: Any, key: Any) -> Any:
        seen.append(([each.id for each in partitions], key))
        return partitions[int(key)]

    with stage.topic_of(name).get_sync_producer(linger_ms=1, partitioner=partitioner) as producer:
        for number in range(3):
            producer.produce(b"%d" % number, partition_key=b"%d" % number)
    # In which order partitions are given is not the same on all brokers.
    stage.record("keys", [key for _, key in seen])
    stage.record("partitions", [sorted(ids) for ids, _ in seen])


@on_kafka()
def a_hashing_partitioner_keeps_a_key_together(pykafka: Any, stage: Any) -> None:
    name = stage.topic(partitions=3)
    partitioner = stage.module("partitioners").HashingPartitioner(hash_func=len)
    with stage.topic_of(name).get_sync_producer(linger_ms=1, partitioner=partitioner) as producer:
        for key in (b"", b"a", b"bb", b"ccc", b"dddd"):
            stage.within("produced", producer.produce, b"of " + key, partition_key=key)
        stage.within("without a key", producer.produce, b"x")
    for number in range(3):
        stage.record("there", told(stage.records_of(name, number)))


@on_kafka()
def compressed_messages_arrive_as_they_were(pykafka: Any, stage: Any) -> None:
    common = stage.module("common")
    name = stage.topic()
    topic = stage.topic_of(name)
    for kind in ("NONE", "GZIP"):
        with topic.get_producer(compression=getattr(common.CompressionType, kind), linger_ms=1) as producer:
            for number in range(20):
                producer.produce(b"%s %d" % (kind.encode(), number))
    stage.record("there", told(stage.records_of(name)))


@on_kafka()
def timestamps_are_kept_for_brokers_that_know_them(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    moment = dt.datetime(2017, 3, 4, 5, 6, 7)
    with stage.topic_of(name, broker_version="0.10.2").get_sync_producer(linger_ms=1) as producer:
        stage.within("produced", producer.produce, b"x", timestamp=moment)
    stage.record("there", stage.records_of(name))


@on_kafka()
def wrong_arguments_of_a_producer_are_refused(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    for arguments in (
        {"linger_ms": "soon"},
        {"max_retries": -1},
        {"required_acks": "all"},
        {"min_queued_messages": 0},
        {"max_queued_messages": None},
        {"no_such_argument": 1},
    ):
        stage.raised(str(arguments), lambda given=arguments: topic.get_producer(auto_start=False, **given))


@on_kafka()
def messages_without_acknowledgement_arrive(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    with stage.topic_of(name).get_producer(required_acks=0, linger_ms=1) as producer:
        for number in range(3):
            producer.produce(b"%d" % number)
    stage.until(lambda: stage.ask("end_offset", name, 0) == 3)
    stage.record("there", told(stage.records_of(name)))


@on_kafka()
def produce_says_nothing_but_sync_waits(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    with topic.get_producer(sync=True, linger_ms=1) as producer:
        stage.record("sync", type(producer.produce(b"x")).__name__)
    with topic.get_producer(linger_ms=1) as producer:
        stage.record("async", type(producer.produce(b"x")).__name__)
    with topic.get_producer(linger_ms=0, min_queued_messages=1) as producer:
        stage.record("at once", type(producer.produce(b"x")).__name__)
