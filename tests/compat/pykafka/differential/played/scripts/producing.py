"""Producers: what they take and refuse, what they send, what they report."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka

WITH_TIMESTAMPS = "0.10.2"


def _seen(message: Any) -> Any:
    return (
        message.offset,
        message.partition_id,
        message.value,
        message.partition_key,
        message.protocol_version,
        message.compression_type,
        message.partition,
        len(message),
    )


def _sent(stage: Any, name: str, partition: int = 0) -> None:
    stage.record("sent", [record[:3] for record in stage.records_of(name, partition)])


@on_kafka()
def a_sync_producer_says_where_its_messages_went(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    producer = stage.stopping(stage.topic_of(name).get_sync_producer())
    for number in range(3):
        stage.record("message", _seen(producer.produce(b"value %d" % number, partition_key=b"key")))
    _sent(stage, name)


@on_kafka()
def a_producer_sends_to_one_partition_after_the_other(pykafka: Any, stage: Any) -> None:
    producer = stage.stopping(stage.topic_of(stage.topic(partitions=3)).get_sync_producer())
    stage.record("partitions", [producer.produce(b"x").partition_id for _ in range(7)])


@on_kafka()
def a_hashing_partitioner_goes_by_the_key(pykafka: Any, stage: Any) -> None:
    partitioner = stage.module("partitioners").hashing_partitioner
    topic = stage.topic_of(stage.topic(partitions=3))
    producer = stage.stopping(topic.get_sync_producer(partitioner=partitioner))
    keys = (b"a", b"b", b"c", b"", b"a longer one")
    stage.record("partitions", [producer.produce(b"x", partition_key=key).partition_id for key in keys])
    stage.attempt("without a key", producer.produce, b"x")


@on_kafka()
def a_partitioner_of_the_program_sees_partitions_and_key(pykafka: Any, stage: Any) -> None:
    def choose(partitions: Any, key: Any) -> Any:
        stage.record("asked", ([each.id for each in partitions], key))
        return partitions[-1]

    topic = stage.topic_of(stage.topic(partitions=2))
    producer = stage.stopping(topic.get_sync_producer(partitioner=choose))
    stage.record("went to", producer.produce(b"x", partition_key=b"k").partition_id)
    stage.record("went to", producer.produce(b"x").partition_id)


@on_kafka()
def a_partitioner_that_raises_does_so_in_produce(pykafka: Any, stage: Any) -> None:
    def choose(partitions: Any, key: Any) -> Any:
        raise ZeroDivisionError("no")

    producer = stage.stopping(stage.topic_of(stage.topic()).get_sync_producer(partitioner=choose))
    stage.attempt("produced", producer.produce, b"x")


@on_kafka()
def only_bytes_are_produced_without_a_serializer(pykafka: Any, stage: Any) -> None:
    producer = stage.stopping(stage.topic_of(stage.topic()).get_sync_producer())
    for value in ("text", 1, bytearray(b"x"), [b"x"]):
        stage.attempt("value", producer.produce, value)
    stage.attempt("key", producer.produce, b"x", partition_key="text")
    stage.attempt("both", producer.produce, "text", partition_key=1)


@on_kafka()
def a_null_and_an_empty_value_differ(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    producer = stage.stopping(stage.topic_of(name).get_sync_producer())
    stage.record("null", _seen(producer.produce(None, partition_key=b"k")))
    stage.record("empty", _seen(producer.produce(b"", partition_key=b"")))
    stage.record("neither", _seen(producer.produce(None)))
    _sent(stage, name)


@on_kafka()
def a_serializer_is_called_with_value_and_key(pykafka: Any, stage: Any) -> None:
    def serialize(value: Any, key: Any) -> Any:
        stage.record("serialize", (value, key))
        return str(value).encode(), None if key is None else str(key).encode()

    name = stage.topic()
    producer = stage.stopping(stage.topic_of(name).get_sync_producer(serializer=serialize))
    stage.record("message", _seen(producer.produce(1, partition_key=2)))
    stage.record("message", _seen(producer.produce([3])))
    _sent(stage, name)


@on_kafka()
def a_serializer_for_texts_is_there(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    serializer = stage.module("utils").serialize_utf8
    producer = stage.stopping(stage.topic_of(name).get_sync_producer(serializer=serializer))
    producer.produce("\xfc", partition_key="k")
    producer.produce(b"bytes")
    producer.produce(None)
    _sent(stage, name)


@on_kafka()
def a_serializer_that_raises_does_so_in_produce(pykafka: Any, stage: Any) -> None:
    def refuse(value: Any, key: Any) -> Any:
        raise ZeroDivisionError("no")

    producer = stage.stopping(stage.topic_of(stage.topic()).get_sync_producer(serializer=refuse))
    stage.attempt("produced", producer.produce, b"x")


@on_kafka()
def a_timestamp_is_sent_where_brokers_keep_it(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    producer = stage.stopping(stage.topic_of(name, broker_version=WITH_TIMESTAMPS).get_sync_producer())
    message = producer.produce(b"x", timestamp=dt.datetime(2020, 1, 1, 12))
    stage.record("timestamp", (message.timestamp, message.timestamp_dt, message.protocol_version))
    message = producer.produce(b"x", timestamp=1577836800123)
    stage.record("timestamp", (message.timestamp, message.timestamp_dt, len(message)))
    stage.attempt("text", producer.produce, b"x", timestamp="now")
    stage.record("kept", [record[4] for record in stage.records_of(name)])
    now = producer.produce(b"x").timestamp
    stage.record("without one", type(now))


@on_kafka()
def a_timestamp_is_refused_for_brokers_of_old(pykafka: Any, stage: Any) -> None:
    producer = stage.stopping(stage.topic_of(stage.topic()).get_sync_producer())
    stage.attempt("with one", producer.produce, b"x", timestamp=dt.datetime(2020, 1, 1))
    stage.record("without one", producer.produce(b"x").timestamp)


@on_kafka()
def delivery_reports_are_of_the_thread_that_produced(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    producer = stage.stopping(topic.get_producer(delivery_reports=True, min_queued_messages=1, linger_ms=10))
    mine = producer.produce(b"mine")
    report = producer.get_delivery_report(timeout=10)
    stage.record("report", (report[0] is mine, report[1], type(report)))
    stage.record("offset", mine.offset)

    def other() -> None:
        theirs = producer.produce(b"theirs")
        message, error = producer.get_delivery_report(timeout=10)
        stage.record("other's", (message is theirs, message.offset, error))
        stage.attempt("no more there", producer.get_delivery_report, block=False)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    stage.attempt("no more", producer.get_delivery_report, block=False)
    stage.attempt("no more in time", producer.get_delivery_report, timeout=0.05)


@on_kafka()
def reports_come_in_order_for_each_partition(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic(partitions=2))
    producer = stage.stopping(topic.get_producer(delivery_reports=True, linger_ms=50))
    for number in range(10):
        producer.produce(b"%d" % number)
    found = [producer.get_delivery_report(timeout=10) for _ in range(10)]
    for partition in (0, 1):
        of_one = [(m.value, m.offset, error) for m, error in found if m.partition_id == partition]
        stage.record(f"of {partition}", of_one)


@on_kafka()
def reports_that_nobody_asked_for_are_not_there(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    producer = stage.stopping(topic.get_producer(linger_ms=10))
    stage.record("queue of a message", producer.produce(b"x").delivery_report_q)
    stage.attempt("asked", producer.get_delivery_report, block=False)
    sync = stage.stopping(topic.get_sync_producer())
    sync.produce(b"x")
    stage.attempt("of a sync one", sync.get_delivery_report, block=False)


@on_kafka()
def a_message_knows_its_offset_when_it_was_sent(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    with topic.get_producer(linger_ms=10) as producer:
        messages = [producer.produce(b"x") for _ in range(3)]
    stage.record("offsets", [each.offset for each in messages])


@on_kafka()
def enough_messages_do_not_linger(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    producer = stage.stopping(
        topic.get_producer(delivery_reports=True, min_queued_messages=3, linger_ms=4_000)
    )
    producer.produce(b"1")
    producer.produce(b"2")
    stage.attempt("two", producer.get_delivery_report, timeout=0.5)
    producer.produce(b"3")
    stage.record("three", [producer.get_delivery_report(timeout=10)[0].value for _ in range(3)])


@on_kafka()
def the_end_of_a_block_delivers_what_lingers(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    with stage.topic_of(name).get_producer(linger_ms=300) as producer:
        for number in range(5):
            producer.produce(b"%d" % number)
    _sent(stage, name)


@on_kafka()
def a_stopped_producer_takes_nothing(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    for kind, producer in (("sync", topic.get_sync_producer()), ("async", topic.get_producer(linger_ms=10))):
        producer.stop()
        stage.attempt(f"{kind} produced", producer.produce, b"x")
        stage.attempt(f"{kind} stopped again", producer.stop)


@on_kafka()
def a_producer_is_started_by_the_program(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    producer = stage.topic_of(name).get_sync_producer(auto_start=False)
    stage.attempt("before", producer.produce, b"0")
    stage.attempt("start", producer.start)
    stage.attempt("start again", producer.start)
    producer.produce(b"1")
    producer.stop()
    stage.attempt("after", producer.produce, b"2")
    producer.start()
    producer.produce(b"3")
    producer.stop()
    _sent(stage, name)


@on_kafka()
def a_full_queue_is_an_error_where_it_does_not_block(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    producer = topic.get_producer(max_queued_messages=2, block_on_queue_full=False, linger_ms=2000)
    producer.produce(b"1")
    producer.produce(b"2")
    stage.raised("third", producer.produce, b"3")
    producer.stop()


@on_kafka()
def a_message_larger_than_a_request_is_reported(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    topic = stage.topic_of(name)
    producer = stage.stopping(
        topic.get_producer(delivery_reports=True, max_request_size=100, linger_ms=10, min_queued_messages=1)
    )
    large = producer.produce(b"x" * 100)
    message, error = producer.get_delivery_report(timeout=10)
    stage.record("report", (message is large, type(error), error.args))
    producer.produce(b"x" * 86)
    message, error = producer.get_delivery_report(timeout=10)
    stage.record("just fits", (message.offset, error))
    sync = stage.stopping(topic.get_sync_producer(max_request_size=100))
    stage.attempt("sync", sync.produce, b"x" * 100)


@on_kafka()
def a_message_larger_than_the_broker_takes_fails(pykafka: Any, stage: Any) -> None:
    producer = stage.stopping(stage.topic_of(stage.topic(max_message_bytes="1000")).get_sync_producer())
    stage.raised("large", producer.produce, b"x" * 5000)
    stage.record("small", producer.produce(b"x").offset)


@on_kafka()
def messages_are_compressed_and_the_same_after_it(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    topic = stage.topic_of(name)
    with topic.get_producer(compression=pykafka.common.CompressionType.GZIP, linger_ms=10) as producer:
        for number in range(5):
            producer.produce(b"%d" % number * 100, partition_key=b"k")
    _sent(stage, name)


@on_kafka()
def nobody_answers_who_wants_no_acknowledgement(pykafka: Any, stage: Any) -> None:
    producer = stage.stopping(stage.topic_of(stage.topic()).get_sync_producer(required_acks=0))
    stage.record("offset", producer.produce(b"x").offset)


@on_kafka()
def all_replicas_acknowledge(pykafka: Any, stage: Any) -> None:
    producer = stage.stopping(stage.topic_of(stage.topic()).get_sync_producer(required_acks=-1))
    stage.record("offset", producer.produce(b"x").offset)


@on_kafka()
def numbers_of_a_producer_are_checked(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    for arguments in (
        {"max_retries": -1},
        {"retry_backoff_ms": 0},
        {"ack_timeout_ms": -1},
        {"max_queued_messages": -1},
        {"min_queued_messages": 0},
        {"linger_ms": "1"},
        {"linger_ms": -1},
        {"max_request_size": 0},
        {"required_acks": None},
        {"unknown": 1},
    ):
        stage.attempt(str(arguments), topic.get_producer, **arguments)
