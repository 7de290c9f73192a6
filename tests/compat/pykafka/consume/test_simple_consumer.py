from __future__ import annotations

import contextlib
import datetime as dt
import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from tests.waiting import NEVER_MS, wait_for

from barnabas.compat.pykafka.client import KafkaClient
from barnabas.compat.pykafka.common import OffsetType
from barnabas.compat.pykafka.exceptions import (
    ConsumerStoppedException,
    KafkaException,
    OffsetMetadataTooLarge,
    UnicodeException,
)
from barnabas.compat.pykafka.utils import deserialize_utf8
from barnabas.loop_thread import loop_thread
from barnabas.sync.admin import Admin
from barnabas.sync.producer import Producer
from barnabas.types import TopicPartition


@pytest.fixture
def new_topic(broker: Any, make_topic: Callable[..., str]) -> Callable[..., Any]:
    """`new_topic(count, partitions=1, broker_version=...)`: a Topic with so many messages, "0" and so on, in
    each partition."""

    def new_topic(count: int = 0, partitions: int = 1, broker_version: str = "0.10.2") -> Any:
        name = make_topic(broker, partitions)
        with Producer(broker.bootstrap) as producer:
            for partition in range(partitions):
                for number in range(count):
                    producer.send(
                        name, b"%d" % number, key=b"k", partition=partition, timestamp=1000 + number
                    )
        client = KafkaClient(broker.bootstrap, broker_version=broker_version)
        return client.topics[name.encode()]

    return new_topic


@pytest.fixture
def group(topic: Callable[[], str]) -> bytes:
    return topic().encode()


def consumed(consumer: Any) -> None:
    with contextlib.suppress(ConsumerStoppedException):
        consumer.consume()


def test_fetch_returns_when_there_are_messages_or_there_is_nothing_for_a_while(
    new_topic: Any, eventually: Any
) -> None:
    consumer = new_topic(2).get_simple_consumer(fetch_wait_max_ms=NEVER_MS)
    consumer.fetch()
    assert [consumer.consume(block=False).offset for _ in range(2)] == [0, 1]
    idle = new_topic(0).get_simple_consumer(fetch_wait_max_ms=50)
    idle.fetch()
    assert idle.consume(block=False) is None
    waiting = threading.Thread(target=lambda: consumed(idle))
    waiting.start()
    eventually(lambda: idle._session._turns.is_taken)
    idle.fetch()
    idle.stop()
    waiting.join(60)
    consumer.stop()


def test_iteration_gives_messages_until_none_has_come_for_a_while(new_topic: Any) -> None:
    topic = new_topic(3)
    consumer = topic.get_simple_consumer(consumer_timeout_ms=500)
    messages = list(consumer)
    assert [(each.offset, each.value, each.partition_key) for each in messages] == [
        (0, b"0", b"k"),
        (1, b"1", b"k"),
        (2, b"2", b"k"),
    ]
    assert {each.partition for each in messages} == {topic.partitions[0]}
    assert [each.partition_id for each in messages] == [0, 0, 0]
    assert list(consumer) == []
    consumer.stop()


def test_messages_have_what_the_protocol_of_the_brokers_release_has(new_topic: Any) -> None:
    new, old = new_topic(1), new_topic(1, broker_version="0.9.0")
    for topic, version, timestamp in ((new, 1, 1000), (old, 0, 0)):
        consumer = topic.get_simple_consumer()
        message = consumer.consume()
        assert (message.protocol_version, message.timestamp) == (version, timestamp)
        assert (message.compression_type, message.produce_attempt, message.delivery_report_q) == (0, 0, None)
        consumer.stop()


def test_consume_does_not_wait_where_it_is_told_not_to(new_topic: Any) -> None:
    consumer = new_topic().get_simple_consumer()
    assert consumer.consume(block=False) is None
    consumer.stop()


def test_an_event_that_is_set_ends_a_wait(new_topic: Any) -> None:
    consumer = new_topic(1).get_simple_consumer()
    event = threading.Event()
    event.set()
    assert consumer.consume().value == b"0"
    assert consumer.consume(unblock_event=event) is None
    consumer.stop()


def test_stop_ends_a_wait_in_another_thread(new_topic: Any) -> None:
    consumer = new_topic().get_simple_consumer()
    raised: list[BaseException] = []

    def wait() -> None:
        with pytest.raises(ConsumerStoppedException) as found:
            consumer.consume()
        raised.append(found.value)

    thread = threading.Thread(target=wait)
    thread.start()
    consumer.stop()
    thread.join(20)
    assert len(raised) == 1
    with pytest.raises(ConsumerStoppedException):
        consumer.consume()


def test_a_consumer_begins_at_0_without_a_group(new_topic: Any) -> None:
    consumer = new_topic(2).get_simple_consumer(auto_offset_reset=OffsetType.LATEST)
    assert consumer.held_offsets == {0: OffsetType.EARLIEST}
    assert consumer.consume().offset == 0
    assert consumer.held_offsets == {0: 0}
    consumer.stop()


def test_a_consumer_may_begin_at_the_end(new_topic: Any) -> None:
    consumer = new_topic(2).get_simple_consumer(
        auto_offset_reset=OffsetType.LATEST, reset_offset_on_start=True, consumer_timeout_ms=300
    )
    assert consumer.held_offsets == {0: 1}
    assert consumer.consume() is None
    consumer.stop()


@pytest.mark.parametrize("reset", [OffsetType.EARLIEST, OffsetType.LATEST])
def test_what_is_out_of_range_is_reset(broker: Any, new_topic: Any, reset: int) -> None:
    topic = new_topic(5)
    with Admin(broker.bootstrap) as admin:
        admin.delete_records({TopicPartition(topic.name.decode(), 0): 3})
    consumer = topic.get_simple_consumer(auto_offset_reset=reset, consumer_timeout_ms=2000)
    message = consumer.consume()
    if reset == OffsetType.EARLIEST:
        assert message.offset == 3
    else:
        assert message is None
        assert consumer.held_offsets == {0: 4}
    consumer.stop()


def test_a_group_goes_on_where_it_committed(new_topic: Any, group: bytes) -> None:
    topic = new_topic(5, partitions=2)
    first = topic.get_simple_consumer(consumer_group=group, consumer_timeout_ms=2000)
    for _ in range(3):
        first.consume()
    held = first.held_offsets
    first.commit_offsets()
    first.stop()
    second = topic.get_simple_consumer(consumer_group=group, consumer_timeout_ms=500)
    assert second.held_offsets == held
    assert len(list(second)) == 7
    assert second.held_offsets == {0: 4, 1: 4}
    assert [(number, found.offset) for number, found in second.fetch_offsets()] == [
        (number, 0 if at == OffsetType.EARLIEST else at + 1) for number, at in held.items()
    ]
    assert second.held_offsets == held
    second.stop()


def test_offsets_may_be_fetched_for_reading_only(new_topic: Any, group: bytes) -> None:
    consumer = new_topic(3).get_simple_consumer(
        consumer_group=group, reset_offset_on_fetch=False, consumer_timeout_ms=500
    )
    assert consumer.consume().offset == 0
    consumer.fetch_offsets()
    assert consumer.held_offsets == {0: 0}
    consumer.stop()


def test_given_offsets_are_committed(new_topic: Any, group: bytes) -> None:
    topic = new_topic(5)
    consumer = topic.get_simple_consumer(consumer_group=group)
    consumer.commit_offsets([(topic.partitions[0], 4)])
    assert consumer.fetch_offsets()[0][1].offset == 4
    assert consumer.consume().offset == 4
    with pytest.raises(KafkaException, match="Unknown partition"):
        consumer.commit_offsets([("none", 4)])
    consumer.stop()


def test_what_was_consumed_is_committed_now_and_then_and_at_the_end(
    new_topic: Any, group: bytes, eventually: Any
) -> None:
    topic = new_topic(5)
    consumer = topic.get_simple_consumer(
        consumer_group=group, auto_commit_enable=True, auto_commit_interval_ms=50
    )
    watcher = topic.get_simple_consumer(consumer_group=group, reset_offset_on_fetch=False)
    consumer.consume()
    consumer.consume()
    eventually(lambda: watcher.fetch_offsets()[0][1].offset == 2)
    consumer.consume()
    consumer.stop()
    assert watcher.fetch_offsets()[0][1].offset == 3
    watcher.stop()


def test_without_a_group_there_are_no_offsets_of_one(new_topic: Any) -> None:
    consumer = new_topic().get_simple_consumer()
    with pytest.raises(Exception, match="must be specified to commit"):
        consumer.commit_offsets()
    with pytest.raises(Exception, match="must be specified to fetch"):
        consumer.fetch_offsets()
    consumer.stop()


def test_a_groups_name_is_ascii(new_topic: Any) -> None:
    with pytest.raises(UnicodeException):
        new_topic().get_simple_consumer(consumer_group="gr\xfcppe")


def test_offsets_are_reset_to_a_message_an_end_or_a_time(new_topic: Any) -> None:
    topic = new_topic(5)
    partition = topic.partitions[0]
    impatient = topic.get_simple_consumer(consumer_timeout_ms=500)
    impatient.reset_offsets([(partition, OffsetType.LATEST)])
    assert impatient.consume() is None
    impatient.stop()
    consumer = topic.get_simple_consumer(consumer_timeout_ms=60_000)
    assert consumer.consume().offset == 0
    consumer.reset_offsets([(partition, 2)])
    assert consumer.held_offsets == {0: 2}
    assert consumer.consume().offset == 3
    consumer.reset_offsets()
    assert consumer.consume().offset == 0
    consumer.reset_offsets([(partition, dt.datetime(2100, 1, 1))])
    assert consumer.held_offsets[0] in (-2, 4)
    with pytest.raises(KafkaException, match="Unknown partition"):
        consumer.reset_offsets([("none", 1)])
    with pytest.raises(ValueError, match="got offset 'x'"):
        consumer.reset_offsets([(partition, "x")])
    consumer.stop()


def test_only_given_partitions_are_read(new_topic: Any) -> None:
    topic = new_topic(2, partitions=3)
    consumer = topic.get_simple_consumer(partitions=[topic.partitions[1]], consumer_timeout_ms=500)
    assert consumer.partitions == {1: topic.partitions[1]}
    assert {each.partition_id for each in consumer} == {1}
    assert consumer.topic is topic
    consumer.stop()


def test_a_deserializer_gives_other_values_and_keys(new_topic: Any) -> None:
    consumer = new_topic(3).get_simple_consumer(deserializer=deserialize_utf8, consumer_timeout_ms=500)
    assert [(each.value, each.partition_key) for each in consumer] == [("0", "k"), ("1", "k"), ("2", "k")]
    consumer.stop()


def test_a_message_that_a_deserializer_refuses_was_consumed(new_topic: Any) -> None:
    def refuse(value: bytes, key: bytes) -> tuple[bytes, bytes]:
        if value in (b"0", b"2"):
            raise ZeroDivisionError
        return value, key

    consumer = new_topic(4).get_simple_consumer(deserializer=refuse, consumer_timeout_ms=500)
    found: list[Any] = []
    for _ in range(4):
        try:
            found.append(consumer.consume().offset)
        except ZeroDivisionError:
            found.append(None)
    assert found == [None, 1, None, 3]
    assert consumer.held_offsets == {0: 3}
    consumer.stop()


def test_a_stopped_consumer_may_be_started_again(new_topic: Any) -> None:
    consumer = new_topic(3).get_simple_consumer(auto_start=False)
    with pytest.raises(ConsumerStoppedException):
        consumer.consume()
    consumer.start()
    assert consumer.consume().offset == 0
    consumer.stop()
    consumer.start()
    assert consumer.consume().offset == 1
    consumer.stop()


def test_threads_share_a_consumer_and_lose_no_message(new_topic: Any) -> None:
    consumer = new_topic(3000, partitions=2).get_simple_consumer(consumer_timeout_ms=1000)
    found: list[list[tuple[int, int]]] = [[], [], []]

    def read(into: list[tuple[int, int]]) -> None:
        while (message := consumer.consume()) is not None:
            into.append((message.partition_id, message.offset))

    threads = [threading.Thread(target=read, args=(each,)) for each in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [(partition, offset) for partition in (0, 1) for offset in range(3000)]
    assert sorted(itertools.chain(*found)) == every
    assert consumer.held_offsets == {0: 2999, 1: 2999}
    consumer.stop()


def test_offsets_are_reset_while_another_thread_reads(new_topic: Any) -> None:
    """What comes next is always what follows on what is held."""
    topic = new_topic(2000)
    consumer = topic.get_simple_consumer(consumer_timeout_ms=5000)
    offsets: list[int] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            message = consumer.consume(block=False)
            if message is not None:
                offsets.append(message.offset)

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(50):
        consumer.reset_offsets([(topic.partitions[0], 999)])
        if number % 5 == 0:
            before = len(offsets)
            wait_for(lambda before=before: len(offsets) > before)
    is_over.set()
    thread.join()
    # Each run goes up one by one, and begins at the first message or where was reset to.
    starts = [
        at
        for before, at in zip([None, *offsets], offsets, strict=False)
        if before is None or at != before + 1
    ]
    assert set(starts) <= {0, 1000}
    held = consumer.held_offsets[0]
    assert held in (offsets[-1], 999)
    message = consumer.consume()
    # The thread may have come to the end of the partition.
    assert (None if message is None else message.offset) == (None if held == 1999 else held + 1)
    consumer.stop()


def test_a_dropped_consumer_is_collected_and_commits(new_topic: Any, group: bytes) -> None:
    topic = new_topic(3)
    consumer = topic.get_simple_consumer(consumer_group=group, auto_commit_enable=True)
    consumer.consume()
    gone = weakref.ref(consumer)
    del consumer
    gc.collect()
    assert gone() is None
    watcher = topic.get_simple_consumer(consumer_group=group)
    assert watcher.held_offsets == {0: 0}
    watcher.stop()


def test_an_error_of_a_commit_by_the_clock_is_raised_by_the_next_call(
    new_topic: Any, group: bytes, eventually: Any
) -> None:
    consumer = new_topic(3).get_simple_consumer(
        consumer_group=group, auto_commit_enable=True, auto_commit_interval_ms=20
    )
    # More than brokers take by default.
    consumer._partitions_by_id[0].offset_metadata_json = "x" * 5000
    eventually(lambda: consumer._worker_exception is not None)
    with pytest.raises(OffsetMetadataTooLarge):
        consumer.consume()
    consumer._auto_commit_enable = False
    consumer.stop()


def test_commits_by_the_clock_have_no_thread(new_topic: Any, group: bytes, eventually: Any) -> None:
    topic = new_topic(3)
    before = set(threading.enumerate())
    consumer = topic.get_simple_consumer(
        consumer_group=group, auto_commit_enable=True, auto_commit_interval_ms=20
    )
    consumer.consume()
    watcher = topic.get_simple_consumer(consumer_group=group, reset_offset_on_fetch=False)
    eventually(lambda: watcher.fetch_offsets()[0][1].offset == 1)
    assert set(threading.enumerate()) - before == set()
    consumer.stop()
    watcher.stop()


def test_a_consumer_that_the_core_drops_last_is_stopped_all_the_same(
    new_topic: Any, group: bytes, eventually: Any
) -> None:
    topic = new_topic(3)
    kept = [topic.get_simple_consumer(consumer_group=group, auto_commit_enable=True)]
    kept[0].consume()

    async def drop() -> None:
        kept.clear()

    loop_thread().run(drop())
    watcher = topic.get_simple_consumer(consumer_group=group, reset_offset_on_fetch=False)
    eventually(lambda: watcher.fetch_offsets()[0][1].offset == 1)
    watcher.stop()


def test_a_program_may_override_consume(new_topic: Any) -> None:
    from barnabas.compat.pykafka.simpleconsumer import SimpleConsumer

    class Counting(SimpleConsumer):
        calls = 0

        def consume(self, block: bool = True, unblock_event: Any = None) -> Any:
            self.calls += 1
            return super().consume(block, unblock_event)

    topic = new_topic(3)
    consumer = Counting(topic, topic._cluster, consumer_timeout_ms=500)
    assert len(list(consumer)) == 3
    assert consumer.calls == 4
    consumer.stop()


def test_rdkafkas_consumer_is_a_simple_consumer(new_topic: Any) -> None:
    consumer = new_topic(3).get_simple_consumer(use_rdkafka=True, consumer_timeout_ms=500)
    assert type(consumer).__name__ == "RdKafkaSimpleConsumer"
    assert len(list(consumer)) == 3
    consumer.stop()
