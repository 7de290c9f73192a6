from __future__ import annotations

import contextlib
import datetime as dt
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from queue import Empty
from typing import Any

import pytest

from barnabas.compat.pykafka.client import KafkaClient
from barnabas.compat.pykafka.common import CompressionType
from barnabas.compat.pykafka.exceptions import (
    KafkaException,
    MessageSizeTooLarge,
    NoBrokersAvailableError,
    ProduceFailureError,
    ProducerQueueFullError,
    ProducerStoppedException,
    SocketDisconnectedError,
)
from barnabas.compat.pykafka.partitioners import hashing_partitioner
from barnabas.compat.pykafka.utils import serialize_utf8
from barnabas.sync.consumer import Consumer

Read = Callable[..., list[Any]]


@pytest.fixture
def read(broker: Any) -> Read:
    """`read(topic, count)`: records of a topic."""

    def read(topic: str, count: int) -> list[Any]:
        found: list[Any] = []
        with Consumer(broker.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False) as consumer:
            consumer.assign([(topic, 0)])
            while len(found) < count:
                records = consumer.poll(20)
                assert records
                found += records
        return found

    return read


@pytest.fixture
def new_topic(broker: Any, make_topic: Callable[..., str]) -> Callable[..., Any]:
    """`new_topic(partitions=1, broker_version=...)`: a Topic of a client of its own."""

    def new_topic(partitions: int = 1, broker_version: str = "0.10.2", **configs: str) -> Any:
        name = make_topic(broker, partitions, **configs)
        client = KafkaClient(broker.bootstrap, broker_version=broker_version)
        return client.topics[name.encode()]

    return new_topic


def test_a_sync_producer_gives_a_message_that_knows_where_it_went(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    with topic.get_sync_producer() as producer:
        messages = [producer.produce(b"v%d" % number, partition_key=b"k") for number in range(3)]
    assert [(each.offset, each.partition_id, each.value) for each in messages] == [
        (0, 0, b"v0"),
        (1, 0, b"v1"),
        (2, 0, b"v2"),
    ]
    records = read(topic.name.decode(), 3)
    assert [(each.key, each.value, each.timestamp) for each in records] == [
        (b"k", each.value, each.timestamp) for each in messages
    ]


def test_partitions_take_turns(new_topic: Any) -> None:
    with new_topic(3).get_sync_producer() as producer:
        assert [producer.produce(b"x").partition_id for _ in range(4)] == [1, 2, 0, 1]


def _by_number(partitions: list[Any], key: bytes) -> Any:
    return partitions[int(key)]


def test_a_partitioner_of_the_programs_own_chooses(new_topic: Any) -> None:
    topic = new_topic(3)
    with topic.get_sync_producer(partitioner=_by_number) as producer:
        assert [producer.produce(b"x", b"%d" % each).partition_id for each in (2, 0, 2)] == [2, 0, 2]
    keyed = topic.get_sync_producer(partitioner=hashing_partitioner)
    with keyed, pytest.raises(ValueError, match="key cannot be `None`"):
        keyed.produce(b"x")


def test_reports_come_in_a_queue_of_the_thread_that_produced(new_topic: Any) -> None:
    found: list[Any] = []
    with new_topic().get_producer(delivery_reports=True, linger_ms=0) as producer:
        mine = producer.produce(b"mine")

        def other() -> None:
            theirs = producer.produce(b"theirs")
            found.append((theirs, *producer.get_delivery_report(timeout=20)))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert producer.get_delivery_report(timeout=20) == (mine, None)
        with pytest.raises(Empty):
            producer.get_delivery_report(block=False)
        with pytest.raises(Empty):
            producer.get_delivery_report(timeout=0.01)
    theirs, reported, error = found[0]
    assert theirs is reported
    assert error is None
    assert {mine.offset, theirs.offset} == {0, 1}


def test_without_reports_there_is_none_to_get(new_topic: Any) -> None:
    with new_topic().get_producer() as producer, pytest.raises(KafkaException, match="disabled"):
        producer.get_delivery_report()


def test_messages_linger_until_there_are_enough(new_topic: Any) -> None:
    with new_topic().get_producer(
        delivery_reports=True, min_queued_messages=3, linger_ms=600_000
    ) as producer:
        producer.produce(b"1")
        producer.produce(b"2")
        with pytest.raises(Empty):
            producer.get_delivery_report(timeout=0.2)
        producer.produce(b"3")
        assert [producer.get_delivery_report(timeout=20)[0].value for _ in range(3)] == [b"1", b"2", b"3"]


def test_stop_delivers_what_lingers(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    producer = topic.get_producer(linger_ms=600_000)
    for number in range(1000):
        producer.produce(b"%d" % number)
    producer.stop()
    assert [int(each.value) for each in read(topic.name.decode(), 1000)] == list(range(1000))


def test_a_stopped_producer_takes_nothing_until_it_is_started_again(new_topic: Any) -> None:
    producer = new_topic().get_sync_producer()
    producer.stop()
    producer.stop()
    with pytest.raises(ProducerStoppedException):
        producer.produce(b"x")
    producer.start()
    assert producer.produce(b"x").offset == 0
    producer.stop()


def test_a_producer_may_be_started_later(new_topic: Any) -> None:
    producer = new_topic().get_sync_producer(auto_start=False)
    with pytest.raises(ProducerStoppedException):
        producer.produce(b"x")
    producer.start()
    assert producer.produce(b"x").offset == 0
    producer.stop()


def test_only_bytes_are_sent_without_a_serializer(new_topic: Any) -> None:
    with new_topic().get_sync_producer() as producer:
        with pytest.raises(TypeError) as of_value:
            producer.produce("text")
        assert of_value.value.args == (
            "Producer.produce accepts a bytes object as message, but it got '%s'",
            str,
        )
        with pytest.raises(TypeError) as of_key:
            producer.produce(b"x", partition_key="k")
        assert "partition_key" in of_key.value.args[0]


def test_a_serializer_makes_bytes_of_value_and_key(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    with topic.get_sync_producer(serializer=serialize_utf8) as producer:
        message = producer.produce("\xfc", partition_key="k")
    assert (message.value, message.partition_key) == (b"\xc3\xbc", b"k")
    assert [(each.key, each.value) for each in read(topic.name.decode(), 1)] == [(b"k", b"\xc3\xbc")]


def test_a_null_is_sent_as_one(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    with topic.get_sync_producer() as producer:
        producer.produce(None, partition_key=b"k")
    assert read(topic.name.decode(), 1)[0].value is None


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4])
def test_messages_are_compressed(new_topic: Any, read: Read, codec: int) -> None:
    topic = new_topic()
    with topic.get_producer(compression=codec, linger_ms=0) as producer:
        for _ in range(100):
            producer.produce(b"x" * 100)
    assert {each.value for each in read(topic.name.decode(), 100)} == {b"x" * 100}


def test_an_unknown_codec_is_refused(new_topic: Any) -> None:
    with pytest.raises(TypeError, match="Unknown compression: 9"):
        new_topic().get_producer(compression=9)


def test_timestamps_are_for_brokers_that_keep_them(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    with topic.get_sync_producer() as producer:
        message = producer.produce(b"x", timestamp=dt.datetime(2020, 1, 1))
        assert message.timestamp == 1577836800000
        assert producer.produce(b"x").timestamp_dt is not None
    assert read(topic.name.decode(), 1)[0].timestamp == 1577836800000
    with new_topic(broker_version="0.9.0").get_sync_producer() as producer:
        assert producer.produce(b"x").timestamp is None
        with pytest.raises(RuntimeError, match="protocol 0"):
            producer.produce(b"x", timestamp=dt.datetime(2020, 1, 1))


def test_a_message_larger_than_a_request_fails_alone(new_topic: Any) -> None:
    topic = new_topic()
    with topic.get_producer(delivery_reports=True, max_request_size=1000, linger_ms=0) as producer:
        large = producer.produce(b"x" * 1000)
        producer.produce(b"small")
        message, error = producer.get_delivery_report(timeout=20)
        assert message is large
        assert isinstance(error, MessageSizeTooLarge)
        assert producer.get_delivery_report(timeout=20)[1] is None
    with topic.get_sync_producer(max_request_size=1000) as producer, pytest.raises(MessageSizeTooLarge):
        producer.produce(b"x" * 1000)


def test_a_message_larger_than_the_broker_takes_fails(new_topic: Any) -> None:
    with new_topic(max_message_bytes="1000").get_sync_producer() as producer:
        with pytest.raises(MessageSizeTooLarge):
            producer.produce(b"x" * 5000)
        assert producer.produce(b"x").offset == 0


def test_a_full_queue_is_an_error_where_it_does_not_block(new_topic: Any) -> None:
    with new_topic().get_producer(
        max_queued_messages=2, block_on_queue_full=False, linger_ms=600_000
    ) as producer:
        producer.produce(b"1")
        producer.produce(b"2")
        with pytest.raises(ProducerQueueFullError):
            producer.produce(b"3")


def test_a_full_queue_blocks_until_messages_are_delivered(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    with topic.get_producer(max_queued_messages=10, linger_ms=600_000) as producer:
        for number in range(100):
            producer.produce(b"%d" % number)
    assert [int(each.value) for each in read(topic.name.decode(), 100)] == list(range(100))


def test_acks_0_waits_for_no_answer(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    with topic.get_sync_producer(required_acks=0) as producer:
        assert producer.produce(b"x").offset == -1
    assert read(topic.name.decode(), 1)[0].value == b"x"


def test_a_wait_that_takes_too_long_is_an_error(own_broker: Any, make_topic: Any) -> None:
    client = KafkaClient(own_broker.bootstrap)
    topic = client.topics[make_topic(own_broker).encode()]
    producer = topic.get_sync_producer(pending_timeout_ms=200)
    producer.produce(b"x")
    own_broker.pause()
    try:
        with pytest.raises(ProduceFailureError, match="not received after timeout"):
            producer.produce(b"x")
    finally:
        own_broker.resume()
    producer.stop()


def test_a_broker_that_is_away_is_told_of_by_the_report_and_the_next_call(
    own_broker: Any, make_topic: Any
) -> None:
    client = KafkaClient(own_broker.bootstrap)
    topic = client.topics[make_topic(own_broker).encode()]
    producer = topic.get_producer(
        delivery_reports=True, linger_ms=1, max_retries=1, ack_timeout_ms=200, retry_backoff_ms=10
    )
    producer.produce(b"1")
    assert producer.get_delivery_report(timeout=20)[1] is None
    own_broker.stop()
    producer.produce(b"2")
    message, error = producer.get_delivery_report(timeout=20)
    assert message.value == b"2"
    assert isinstance(error, SocketDisconnectedError)
    with pytest.raises(NoBrokersAvailableError):
        producer.produce(b"3")
    own_broker.start()
    delivered, in_doubt = None, 0
    while delivered is None or delivered[1] is not None:
        with contextlib.suppress(NoBrokersAvailableError):
            producer.produce(b"4")
            delivered = producer.get_delivery_report(timeout=20)
            in_doubt += delivered[1] is not None
    # What was given up while its request was under way may have been written.
    assert 1 <= delivered[0].offset <= 1 + in_doubt
    producer.stop()


def test_a_dropped_producer_delivers_and_is_collected(new_topic: Any, read: Read) -> None:
    topic = new_topic()
    producer = topic.get_producer(linger_ms=600_000)
    producer.produce(b"x")
    gone = weakref.ref(producer)
    del producer
    gc.collect()
    assert gone() is None
    assert read(topic.name.decode(), 1)[0].value == b"x"


def test_the_end_of_the_process_loses_nothing(broker: Any, new_topic: Any, read: Read) -> None:
    topic = new_topic()
    program = (
        "import sys\n"
        "from barnabas.compat.pykafka.client import KafkaClient\n"
        "client = KafkaClient(sys.argv[1])\n"
        "topic = client.topics[sys.argv[2].encode()]\n"
        "producer = topic.get_producer(linger_ms=600_000)\n"
        "for number in range(1000): producer.produce(b'%d' % number)\n"
    )
    subprocess.run([sys.executable, "-c", program, broker.bootstrap, topic.name.decode()], check=True)
    assert [int(each.value) for each in read(topic.name.decode(), 1000)] == list(range(1000))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"max_retries": -1}, ValueError),
        ({"linger_ms": "1"}, TypeError),
        ({"min_queued_messages": 0}, ValueError),
        ({"max_request_size": 0}, ValueError),
    ],
)
def test_numbers_are_checked(new_topic: Any, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        new_topic().get_producer(**arguments)


def test_rdkafkas_producer_is_a_producer(new_topic: Any) -> None:
    with new_topic().get_producer(use_rdkafka=True, sync=True) as producer:
        assert type(producer).__name__ == "RdKafkaProducer"
        assert producer.produce(b"x").offset == 0
