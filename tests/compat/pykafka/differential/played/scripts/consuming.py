"""Simple consumers: which messages they give, and what becomes of offsets."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka

VALUES = (b"a", b"b", b"c", b"d", b"e")


def _seen(message: Any) -> Any:
    return (message.offset, message.value, message.partition_key, message.partition_id)


@on_kafka()
def iteration_ends_when_no_message_has_come_for_a_while(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(*VALUES))
    consumer = stage.stopping(topic.get_simple_consumer(consumer_timeout_ms=1500))
    stage.record("messages", [_seen(message) for message in consumer])
    stage.record("held", consumer.held_offsets)
    stage.record("more", list(consumer))
    stage.record("next", consumer.consume())


@on_kafka()
def messages_have_attributes_of_the_brokers_release(pykafka: Any, stage: Any) -> None:
    # Of one release: the original remembers the first that a process asked, whichever the client.
    name = stage.topic()
    stage.fill(name, (b"k", b"v", []), (None, b"v", []), (b"k", None, []))
    topic = stage.topic_of(name)
    consumer = stage.stopping(topic.get_simple_consumer(consumer_timeout_ms=1500))
    for message in consumer:
        stage.record("message", _seen(message))
        stage.record("format", (message.protocol_version, message.compression_type, len(message)))
        stage.record("of producers", (message.produce_attempt, message.delivery_report_q))
        stage.record("its partition", message.partition is topic.partitions[0])
        stage.record("type", type(message).__name__)
        stage.record("time", (message.timestamp, message.timestamp_dt))


@on_kafka()
def consume_without_waiting_gives_none(pykafka: Any, stage: Any) -> None:
    consumer = stage.stopping(stage.topic_of(stage.topic()).get_simple_consumer())
    stage.record("message", consumer.consume(block=False))


@on_kafka()
def an_event_ends_a_wait(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"a"))
    consumer = stage.stopping(topic.get_simple_consumer())
    event = threading.Event()
    event.set()
    stage.record("first", consumer.consume().value)
    stage.record("with an event", consumer.consume(unblock_event=event))


@on_kafka()
def a_stopped_consumer_gives_nothing(pykafka: Any, stage: Any) -> None:
    consumer = stage.topic_of(stage.filled_topic(*VALUES)).get_simple_consumer()
    stage.record("first", consumer.consume().value)
    consumer.stop()
    stage.attempt("consume", consumer.consume)
    stage.attempt("iterate", lambda: next(iter(consumer)))
    stage.attempt("stop", consumer.stop)
    stage.record("held", consumer.held_offsets)


@on_kafka()
def stop_ends_a_wait_elsewhere(pykafka: Any, stage: Any) -> None:
    consumer = stage.topic_of(stage.topic()).get_simple_consumer()
    thread = threading.Thread(target=lambda: stage.attempt("waited", consumer.consume))
    thread.start()
    consumer.stop()
    thread.join(20)
    stage.record("ended", not thread.is_alive())


@on_kafka()
def a_consumer_is_started_by_the_program(pykafka: Any, stage: Any) -> None:
    consumer = stage.topic_of(stage.filled_topic(*VALUES)).get_simple_consumer(auto_start=False)
    stage.attempt("before", consumer.consume)
    consumer.start()
    stage.record("first", consumer.consume().value)
    consumer.stop()


@on_kafka()
def a_consumer_without_a_group_begins_at_0(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(*VALUES))
    latest = pykafka.common.OffsetType.LATEST
    consumer = stage.stopping(topic.get_simple_consumer(auto_offset_reset=latest))
    stage.record("held before", consumer.held_offsets)
    stage.record("first", consumer.consume().offset)
    stage.record("held after", consumer.held_offsets)


@on_kafka()
def a_consumer_that_resets_begins_where_it_is_told(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(*VALUES))
    for reset in (pykafka.common.OffsetType.EARLIEST, pykafka.common.OffsetType.LATEST):
        consumer = stage.stopping(
            topic.get_simple_consumer(
                auto_offset_reset=reset, reset_offset_on_start=True, consumer_timeout_ms=1000
            )
        )
        stage.record("held", consumer.held_offsets)
        message = consumer.consume()
        stage.record("first", message and message.offset)


@on_kafka()
def a_position_that_is_gone_is_reset(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(*VALUES)
    stage.ask("delete_records", name, 0, 3)
    topic = stage.topic_of(name)
    consumer = stage.stopping(topic.get_simple_consumer(consumer_timeout_ms=3000))
    stage.record("first", consumer.consume().offset)
    latest = pykafka.common.OffsetType.LATEST
    consumer = stage.stopping(topic.get_simple_consumer(auto_offset_reset=latest, consumer_timeout_ms=2000))
    stage.record("at the end", consumer.consume())
    stage.record("held", consumer.held_offsets)


@on_kafka()
def a_group_goes_on_where_it_committed(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    topic = stage.topic_of(name)
    first = topic.get_simple_consumer(consumer_group=group.encode(), consumer_timeout_ms=3000)
    stage.record("held at first", first.held_offsets)
    stage.record("committed at once", stage.ask("committed", group, name, 0)[0])
    for _ in range(2):
        first.consume()
    stage.record("commit", first.commit_offsets())
    committed, metadata = stage.ask("committed", group, name, 0)
    stage.record("committed", committed)
    stage.record("tells the consumer", "consumer_id" in metadata)
    first.stop()
    second = stage.stopping(topic.get_simple_consumer(consumer_group=group.encode()))
    stage.record("held then", second.held_offsets)
    stage.record("next", second.consume().value)


@on_kafka()
def a_group_is_named_by_text_or_bytes_of_ascii(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    topic = stage.topic_of(name)
    consumer = stage.stopping(topic.get_simple_consumer(consumer_group=group))
    consumer.consume()
    consumer.commit_offsets()
    stage.record("committed", stage.ask("committed", group, name, 0)[0])
    stage.raised("umlaut", topic.get_simple_consumer, consumer_group="gr\xfcppe")


@on_kafka()
def offsets_that_are_given_are_committed(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    topic = stage.topic_of(name)
    consumer = stage.stopping(topic.get_simple_consumer(consumer_group=group))
    consumer.commit_offsets([(topic.partitions[0], 3)])
    stage.record("committed", stage.ask("committed", group, name, 0)[0])
    fetched = consumer.fetch_offsets()
    stage.record("fetched", [(number, answer.offset, answer.err) for number, answer in fetched])
    stage.record("held", consumer.held_offsets)
    stage.raised("of another", consumer.commit_offsets, [("no partition", 1)])


@on_kafka()
def offsets_are_fetched_without_moving_there(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    topic = stage.topic_of(name)
    consumer = stage.stopping(topic.get_simple_consumer(consumer_group=group, reset_offset_on_fetch=False))
    consumer.consume()
    consumer.commit_offsets()
    consumer.consume()
    stage.record("fetched", [answer.offset for _, answer in consumer.fetch_offsets()])
    stage.record("held", consumer.held_offsets)


@on_kafka()
def what_was_consumed_is_committed_when_the_consumer_stops(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    topic = stage.topic_of(name)
    consumer = topic.get_simple_consumer(consumer_group=group, auto_commit_enable=True)
    for _ in range(3):
        consumer.consume()
    consumer.stop()
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_kafka()
def what_was_consumed_is_committed_every_now_and_then(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    topic = stage.topic_of(name)
    consumer = stage.stopping(
        topic.get_simple_consumer(consumer_group=group, auto_commit_enable=True, auto_commit_interval_ms=100)
    )
    for _ in range(3):
        consumer.consume()
    stage.until(lambda: stage.ask("committed", group, name, 0)[0] == 3)
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_kafka()
def what_was_consumed_is_not_committed_unasked(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    consumer = stage.topic_of(name).get_simple_consumer(consumer_group=group)
    for _ in range(3):
        consumer.consume()
    consumer.stop()
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_kafka()
def without_a_group_nothing_is_committed_or_fetched(pykafka: Any, stage: Any) -> None:
    consumer = stage.stopping(stage.topic_of(stage.topic()).get_simple_consumer())
    stage.attempt("commit", consumer.commit_offsets)
    stage.attempt("fetch", consumer.fetch_offsets)


@on_kafka()
def offsets_are_reset_to_numbers(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(*VALUES))
    partition = topic.partitions[0]
    consumer = stage.stopping(topic.get_simple_consumer())
    consumer.consume()
    stage.record("reset", consumer.reset_offsets([(partition, 2)]))
    stage.record("held", consumer.held_offsets)
    stage.record("next", consumer.consume().offset)
    consumer.reset_offsets([(partition, 0)])
    stage.record("next", consumer.consume().offset)


@on_kafka()
def offsets_are_reset_to_ends(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(*VALUES))
    partition = topic.partitions[0]
    consumer = stage.stopping(topic.get_simple_consumer(consumer_timeout_ms=1000))
    consumer.consume()
    consumer.reset_offsets([(partition, pykafka.common.OffsetType.LATEST)])
    stage.record("held", consumer.held_offsets)
    stage.record("next", consumer.consume())
    consumer.reset_offsets([(partition, pykafka.common.OffsetType.EARLIEST)])
    stage.record("held", consumer.held_offsets)
    stage.record("next", consumer.consume().offset)
    consumer.reset_offsets()
    stage.record("next without arguments", consumer.consume().offset)


@on_kafka()
def offsets_are_reset_to_times(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(*VALUES))
    consumer = stage.stopping(topic.get_simple_consumer(consumer_timeout_ms=1500))
    consumer.reset_offsets([(topic.partitions[0], dt.datetime(2100, 1, 1))])
    stage.record("held", consumer.held_offsets)


@on_kafka()
def a_reset_of_a_group_is_committed(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(*VALUES), stage.group()
    topic = stage.topic_of(name)
    consumer = stage.stopping(topic.get_simple_consumer(consumer_group=group))
    consumer.reset_offsets([(topic.partitions[0], 2)])
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_kafka()
def what_is_no_offset_is_refused(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(*VALUES))
    consumer = stage.stopping(topic.get_simple_consumer())
    stage.attempt("text", consumer.reset_offsets, [(topic.partitions[0], "x")])
    stage.raised("another's partition", consumer.reset_offsets, [("no partition", 1)])


@on_kafka()
def only_given_partitions_are_read(pykafka: Any, stage: Any) -> None:
    name = stage.topic(partitions=3)
    for partition in range(3):
        stage.fill(name, b"a", b"b", partition=partition)
    topic = stage.topic_of(name)
    consumer = stage.stopping(
        topic.get_simple_consumer(partitions=[topic.partitions[1]], consumer_timeout_ms=1500)
    )
    stage.record("partitions", list(consumer.partitions))
    stage.record("messages", [_seen(message) for message in consumer])
    stage.record("held", consumer.held_offsets)
    stage.record("topic", consumer.topic is topic)


@on_kafka()
def all_partitions_are_read_each_in_order(pykafka: Any, stage: Any) -> None:
    name = stage.topic(partitions=3)
    for partition in range(3):
        stage.fill(name, *VALUES, partition=partition)
    consumer = stage.stopping(stage.topic_of(name).get_simple_consumer(consumer_timeout_ms=1500))
    messages = [_seen(message) for message in consumer]
    for partition in range(3):
        stage.record(f"of {partition}", [seen for seen in messages if seen[3] == partition])
    stage.record("held", consumer.held_offsets)


@on_kafka()
def a_deserializer_is_called_with_value_and_key(pykafka: Any, stage: Any) -> None:
    def deserialize(value: Any, key: Any) -> Any:
        stage.record("deserialize", (value, key))
        return {"value": value}, {"key": key}

    name = stage.topic()
    stage.fill(name, (b"k", b"v", []), (None, b"v", []), (b"k", None, []))
    consumer = stage.stopping(stage.topic_of(name).get_simple_consumer(deserializer=deserialize))
    for _ in range(3):
        stage.record("message", _seen(consumer.consume()))


@on_kafka()
def a_message_that_a_deserializer_refuses_counts_as_consumed(pykafka: Any, stage: Any) -> None:
    def deserialize(value: Any, key: Any) -> Any:
        if value == b"b":
            raise ZeroDivisionError("no")
        return value, key

    topic = stage.topic_of(stage.filled_topic(*VALUES))
    consumer = stage.stopping(topic.get_simple_consumer(deserializer=deserialize))
    stage.record("first", consumer.consume().offset)
    stage.attempt("second", consumer.consume)
    stage.record("held", consumer.held_offsets)
    stage.record("third", consumer.consume().offset)


@on_kafka()
def texts_are_deserialized(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    stage.fill(name, (b"k", b"\xc3\xbc", []))
    deserializer = stage.module("utils").deserialize_utf8
    consumer = stage.stopping(stage.topic_of(name).get_simple_consumer(deserializer=deserializer))
    stage.record("message", _seen(consumer.consume()))


@on_kafka()
def compressed_messages_are_read(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    with topic.get_producer(compression=pykafka.common.CompressionType.GZIP, linger_ms=10) as producer:
        for number in range(5):
            producer.produce(b"%d" % number * 50, partition_key=b"k")
    consumer = stage.stopping(topic.get_simple_consumer(consumer_timeout_ms=1500))
    stage.record("messages", [(*_seen(message), message.compression_type) for message in consumer])


@on_kafka()
def numbers_of_a_consumer_are_checked(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    for arguments in (
        {"fetch_message_max_bytes": 0},
        {"fetch_min_bytes": -1},
        {"queued_max_messages": "many"},
        {"num_consumer_fetchers": 0},
        {"fetch_wait_max_ms": -1},
        {"consumer_timeout_ms": "long"},
        {"offsets_channel_backoff_ms": 0},
        {"offsets_commit_max_retries": -1},
        {"auto_commit_interval_ms": 0},
        {"unknown": 1},
    ):
        stage.attempt(str(arguments), topic.get_simple_consumer, **arguments)


@on_kafka()
def ids_of_a_member_are_kept_for_its_commits(pykafka: Any, stage: Any) -> None:
    consumer = stage.stopping(stage.topic_of(stage.topic()).get_simple_consumer())
    stage.record("ids", (consumer.consumer_id, consumer.generation_id))
    consumer.consumer_id = b"member"
    consumer.generation_id = 3
    stage.record("ids", (consumer.consumer_id, consumer.generation_id))

    def set_text() -> None:
        consumer.generation_id = "x"

    stage.attempt("text", set_text)
