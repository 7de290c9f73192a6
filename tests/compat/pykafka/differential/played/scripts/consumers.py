"""SimpleConsumers: what is read from where, what is held and committed."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.compat.pykafka.differential.played.script import on_kafka


def reading(stage: Any, name: str, **settings: Any) -> Any:
    chosen = {"consumer_timeout_ms": 2000, **settings}
    return stage.stopping(stage.topic_of(name).get_simple_consumer(**chosen))


@on_kafka()
def a_consumer_reads_from_the_beginning(pykafka: Any, stage: Any) -> None:
    consumer = reading(stage, stage.filled_topic(b"a", b"b", b"c"))
    for message in consumer:
        stage.record("read", (message.offset, message.value, message.partition_key, message.partition_id))
        if message.offset == 2:
            break
    stage.record("held", consumer.held_offsets)


@on_kafka()
def an_iteration_ends_after_the_timeout(pykafka: Any, stage: Any) -> None:
    consumer = reading(stage, stage.filled_topic(b"a", b"b"), consumer_timeout_ms=500)
    stage.record("all", [message.value for message in consumer])
    stage.record("consume gives", consumer.consume())
    stage.record("not waiting", consumer.consume(block=False))


@on_kafka()
def a_message_has_attributes(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    stage.fill(name, (b"key", b"value", None), (None, b"no key", None), (b"no value", None, None))
    consumer = reading(stage, name)
    for _ in range(3):
        message = consumer.consume()
        stage.record("message", (message.value, message.partition_key, message.offset, message.partition_id))
        stage.record("its kind", (type(message).__name__, message.compression_type, message.partition.id))
        stage.record("delivery", message.produce_attempt)


@on_kafka()
def a_consumer_of_the_latest_reads_what_comes(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b")
    latest = stage.module("common").OffsetType.LATEST
    consumer = reading(stage, name, auto_offset_reset=latest, reset_offset_on_start=True)
    stage.fill(name, b"c")
    stage.record("read", consumer.consume().value)


@on_kafka()
def a_group_begins_where_it_committed(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a", b"b", b"c", b"d"), stage.group()
    first = reading(stage, name, consumer_group=group.encode())
    stage.record("read", [first.consume().value for _ in range(2)])
    stage.attempt("committed", first.commit_offsets)
    first.stop()
    stage.record("on the broker", stage.ask("committed", group, name, 0)[0])
    second = reading(stage, name, consumer_group=group.encode())
    stage.record("held", second.held_offsets)
    stage.record("goes on", second.consume().value)
    third = reading(stage, name, consumer_group=group.encode(), reset_offset_on_start=True)
    stage.record("from its beginning", third.consume().value)


@on_kafka()
def offsets_are_committed_by_the_clock(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    consumer = reading(
        *(stage, name), consumer_group=group.encode(), auto_commit_enable=True, auto_commit_interval_ms=200
    )
    stage.record("read", [consumer.consume().value for _ in range(3)])
    stage.until(lambda: (stage.ask("committed", group, name, 0) or (0,))[0] == 3)
    stage.record("committed", stage.ask("committed", group, name, 0)[0])


@on_kafka()
def offsets_are_committed_when_a_consumer_stops(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    consumer = reading(
        *(stage, name), consumer_group=group.encode(), auto_commit_enable=True, auto_commit_interval_ms=60000
    )
    stage.record("read", [consumer.consume().value for _ in range(2)])
    consumer.stop()
    stage.record("committed", stage.ask("committed", group, name, 0))


@on_kafka()
def a_consumer_without_a_group_cannot_commit(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a")
    consumer = reading(stage, name)
    stage.attempt("commits", consumer.commit_offsets)
    stage.attempt("fetches", consumer.fetch_offsets)
    stage.raised("by the clock", stage.topic_of(name).get_simple_consumer, auto_commit_enable=True)


@on_kafka()
def fetch_offsets_tells_what_was_committed(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    stage.ask("commit", group, name, 0, 2)
    consumer = reading(stage, name, consumer_group=group.encode())
    found = stage.within("fetched", consumer.fetch_offsets)
    stage.record("partitions", [(number, each.offset, each.err) for number, each in found])
    stage.record("goes on", consumer.consume().value)


@on_kafka()
def offsets_are_reset_to_where_a_program_says(pykafka: Any, stage: Any) -> None:
    common = stage.module("common")
    name = stage.filled_topic(b"a", b"b", b"c", b"d")
    consumer = reading(stage, name)
    (partition,) = consumer.partitions.values()
    stage.record("read", [consumer.consume().value for _ in range(3)])
    for label, offset in (("0", 0), ("1", 1), ("2", 2)):
        stage.attempt(f"reset to {label}", consumer.reset_offsets, [(partition, offset)])
        stage.record("held", consumer.held_offsets)
        stage.record(f"read after {label}", consumer.consume().value)
    stage.attempt("reset to the earliest", consumer.reset_offsets, [(partition, common.OffsetType.EARLIEST)])
    stage.record("read again", consumer.consume().value)
    stage.attempt("reset to the latest", consumer.reset_offsets, [(partition, common.OffsetType.LATEST)])
    stage.fill(name, b"e")
    stage.record("read at the end", consumer.consume().value)
    stage.attempt("reset all", consumer.reset_offsets)
    stage.record("read from the beginning", consumer.consume().value)


@on_kafka()
def what_cannot_be_reset_to_is_refused(pykafka: Any, stage: Any) -> None:
    consumer = reading(stage, stage.filled_topic(b"a", b"b"), consumer_timeout_ms=500)
    (partition,) = consumer.partitions.values()
    other = stage.topic_of(stage.topic(partitions=2)).partitions[1]
    stage.raised("a partition of another topic", consumer.reset_offsets, [(other, 0)])
    stage.raised("no pairs", consumer.reset_offsets, [partition])


@on_kafka()
def a_deserializer_makes_what_a_program_wants(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    stage.fill(name, (b"key", "ü".encode(), None), (None, None, None))
    consumer = reading(stage, name, deserializer=stage.module("utils").deserialize_utf8)
    for _ in range(2):
        message = consumer.consume()
        stage.record("read", (message.value, message.partition_key))
    own = reading(stage, name, deserializer=lambda value, key: (len(value or b""), "key"))
    message = own.consume()
    stage.record("read by its own", (message.value, message.partition_key))


@on_kafka()
def several_partitions_are_all_read(pykafka: Any, stage: Any) -> None:
    name = stage.topic(partitions=3)
    for number in range(3):
        stage.fill(name, b"%d a" % number, b"%d b" % number, partition=number)
    consumer = reading(stage, name)
    found = [consumer.consume() for _ in range(6)]
    for number in range(3):
        stage.record("of one", [each.value for each in found if each.partition_id == number])
    stage.record("held", consumer.held_offsets)
    stage.record("partitions", sorted(consumer.partitions))


@on_kafka()
def a_consumer_of_some_partitions_reads_those(pykafka: Any, stage: Any) -> None:
    name = stage.topic(partitions=3)
    for number in range(3):
        stage.fill(name, b"%d" % number, partition=number)
    topic = stage.topic_of(name)
    chosen = [topic.partitions[1]]
    consumer = stage.stopping(topic.get_simple_consumer(partitions=chosen, consumer_timeout_ms=500))
    stage.record("read", [message.value for message in consumer])
    stage.record("partitions", sorted(consumer.partitions))
    stage.record("held", consumer.held_offsets)
    stage.record("its topic", consumer.topic is topic)


@on_kafka()
def a_consumer_that_stopped_or_never_started(pykafka: Any, stage: Any) -> None:
    name = stage.filled_topic(b"a", b"b")
    consumer = reading(stage, name, auto_start=False)
    stage.raised("before", consumer.consume, block=False)
    stage.attempt("started", consumer.start)
    stage.record("read", consumer.consume().value)
    stage.attempt("stopped", consumer.stop)
    stage.attempt("stopped again", consumer.stop)
    stage.raised("after", consumer.consume)


@on_kafka()
def wrong_arguments_of_a_consumer_are_refused(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.topic())
    for arguments in (
        {"fetch_message_max_bytes": "much"},
        {"num_consumer_fetchers": -1},
        {"auto_commit_interval_ms": None},
        {"queued_max_messages": "x"},
        {"fetch_min_bytes": -5},
        {"consumer_timeout_ms": "soon"},
        {"offsets_commit_max_retries": -1},
        {"no_such_argument": 1},
    ):
        stage.raised(
            str(arguments), lambda given=arguments: topic.get_simple_consumer(auto_start=False, **given)
        )


@on_kafka()
def large_and_compressed_messages_are_read(pykafka: Any, stage: Any) -> None:
    name = stage.topic()
    topic = stage.topic_of(name)
    gzip = stage.module("common").CompressionType.GZIP
    with topic.get_producer(compression=gzip, linger_ms=1) as producer:
        for number in range(5):
            producer.produce(b"%d" % number * 20000)
    consumer = reading(stage, name)
    found = [consumer.consume() for _ in range(5)]
    stage.record("read", [(each.offset, len(each.value), each.value[:3]) for each in found])


@on_kafka()
def a_commit_can_be_of_offsets_that_a_program_names(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a", b"b", b"c"), stage.group()
    consumer = reading(stage, name, consumer_group=group.encode())
    (partition,) = consumer.partitions.values()
    stage.attempt("committed", consumer.commit_offsets, [(partition, 1)])
    stage.record("on the broker", stage.ask("committed", group, name, 0)[0])


@on_kafka()
def offsets_by_time_are_those_of_segments(pykafka: Any, stage: Any) -> None:
    topic = stage.topic_of(stage.filled_topic(b"a", b"b"))
    far = dt.datetime(2100, 1, 1)
    stage.attempt("of a topic", topic.fetch_offset_limits, far)
    stage.attempt("of a partition", topic.partitions[0].fetch_offset_limit, far)


@on_kafka()
def names_of_groups_are_bytes(pykafka: Any, stage: Any) -> None:
    name, group = stage.filled_topic(b"a"), stage.group()
    topic = stage.topic_of(name)
    consumer = stage.within("of text", topic.get_simple_consumer, consumer_group=group)
    if consumer is not None:
        stage.stopping(consumer)
        consumer.consume()
        stage.attempt("commits", consumer.commit_offsets)
        stage.record("committed", stage.ask("committed", group, name, 0)[0])
