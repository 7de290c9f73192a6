"""Records that the thread in a poll fetches by itself, on real brokers: that it does, and that nothing else
changes by it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.waiting import NEVER_SECONDS, Patience

from barnabas import Admin, Consumer, Producer, TopicPartition
from barnabas.client.consume.direct_fetching import LENT_VERSIONS
from barnabas.protocol.messages.fetch import FetchRequest

Eventually = Callable[..., Any]
TIMEOUT = 60.0


class Trickle:
    """Sends numbered records to partition 0, one by one as they are read."""

    def __init__(self, broker: Any, topic: str) -> None:
        self.producer = Producer(broker.bootstrap, linger_ms=0)
        self.topic = topic
        self.sent = 0

    def send(self, size: int = 0, *, waits: bool = True) -> bytes:
        value = b"%06d" % self.sent + b"x" * size
        self.sent += 1
        delivery = self.producer.send(self.topic, value, partition=0)
        if waits:
            delivery.result(TIMEOUT)
        return value


def next_value(consumer: Consumer) -> bytes | None:
    record = consumer.poll_one(TIMEOUT)
    assert record is not None
    return record.value


def lends(consumer: Consumer) -> bool:
    return consumer._waiting.is_lent


@pytest.fixture
def trickle(broker: Any, make_topic: Callable[..., str]) -> Iterator[Trickle]:
    trickle = Trickle(broker, make_topic(broker, 2))
    with trickle.producer:
        yield trickle


@pytest.fixture
def consumer(broker: Any, trickle: Trickle) -> Iterator[Consumer]:
    """Assigned to partition 0, and served directly."""
    with Consumer(broker.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=300) as consumer:
        consumer.assign([TopicPartition(trickle.topic, 0)])
        serve_directly(consumer, trickle)
        yield consumer


def serve_directly(consumer: Consumer, trickle: Trickle) -> None:
    patience = Patience(TIMEOUT)
    while not lends(consumer):
        patience.check()
        value = trickle.send(waits=False)
        assert next_value(consumer) == value


def test_a_thread_that_waits_gets_every_record_in_order(consumer: Consumer, trickle: Trickle) -> None:
    rounds_lent = 0
    for _ in range(100):
        value = trickle.send()
        assert next_value(consumer) == value
        rounds_lent += lends(consumer)
    # Not all where the machine stands still: then the loop takes the fetch back for a while.
    assert rounds_lent > 50
    assert consumer.position((trickle.topic, 0)) == trickle.sent


def test_what_came_meanwhile_is_there_for_a_poll_that_does_not_wait(
    consumer: Consumer, trickle: Trickle, eventually: Eventually
) -> None:
    value = trickle.send()
    [record] = eventually(lambda: consumer.poll(0))
    assert record.value == value


def test_a_caller_that_is_busy_is_fetched_ahead_for(
    consumer: Consumer, trickle: Trickle, eventually: Eventually
) -> None:
    values = [trickle.send() for _ in range(20)]
    eventually(lambda: not lends(consumer))
    [queue] = consumer._core.buffer.queues()
    eventually(lambda: queue.queued_bytes > 0)
    assert [next_value(consumer) for _ in values] == values
    serve_directly(consumer, trickle)


def test_a_large_record_comes_in_its_place(consumer: Consumer, trickle: Trickle) -> None:
    values = [trickle.send(size) for size in (0, 500_000, 0, 40_000, 0, 33_000, 32_000, 0)]
    assert [next_value(consumer) for _ in values] == values


def test_a_seek_takes_effect_at_once(consumer: Consumer, trickle: Trickle) -> None:
    consumer.seek((trickle.topic, 0), 0)
    assert next_value(consumer) == b"000000"
    consumer.seek_to_end((trickle.topic, 0))
    consumer.position((trickle.topic, 0))
    value = trickle.send()
    assert next_value(consumer) == value


def test_a_paused_partition_gives_nothing_until_it_is_resumed(consumer: Consumer, trickle: Trickle) -> None:
    consumer.pause((trickle.topic, 0))
    value = trickle.send()
    assert consumer.poll(0.5) == []
    consumer.resume((trickle.topic, 0))
    assert next_value(consumer) == value


def test_partitions_that_are_added_are_read_as_well(consumer: Consumer, trickle: Trickle) -> None:
    consumer.assign([(trickle.topic, 0), (trickle.topic, 1)])
    trickle.producer.send(trickle.topic, b"other", partition=1).result(TIMEOUT)
    assert next_value(consumer) == b"other"
    value = trickle.send()
    assert next_value(consumer) == value
    consumer.assign([(trickle.topic, 1)])
    trickle.send()
    trickle.producer.send(trickle.topic, b"another", partition=1).result(TIMEOUT)
    assert next_value(consumer) == b"another"


def test_the_end_of_the_log_and_its_lag_are_known(
    consumer: Consumer, trickle: Trickle, eventually: Eventually
) -> None:
    value = trickle.send()
    assert next_value(consumer) == value
    stats = consumer.stats().partitions[TopicPartition(trickle.topic, 0)]
    assert stats.high_watermark == trickle.sent
    assert consumer.lag((trickle.topic, 0)) == 0


def test_requests_are_counted(consumer: Consumer, trickle: Trickle, eventually: Eventually) -> None:
    def fetches() -> int:
        brokers = consumer.stats().client.brokers
        return sum(broker.requests_by_api.get("Fetch", 0) for broker in brokers)

    before, rounds_lent = fetches(), 0
    for _ in range(20):
        trickle.send()
        next_value(consumer)
        rounds_lent += lends(consumer)
    assert rounds_lent > 10

    def has_counted() -> bool:
        consumer.poll(0.1)
        return fetches() >= before + 20

    eventually(has_counted)


def test_a_wakeup_ends_a_wait(consumer: Consumer) -> None:
    timer = threading.Timer(0.2, consumer.wakeup)
    timer.start()
    assert consumer.poll(TIMEOUT) == []
    timer.join()
    assert lends(consumer)


def test_a_signal_ends_a_wait(consumer: Consumer) -> None:
    signals = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    signals.start()
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(NEVER_SECONDS)
    signals.join()


def test_reading_goes_on_behind_a_broker_that_was_restarted(
    own_broker: Any, make_topic: Callable[..., str]
) -> None:
    trickle = Trickle(own_broker, make_topic(own_broker))
    with trickle.producer, Consumer(own_broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(trickle.topic, 0)])
        serve_directly(consumer, trickle)
        own_broker.kill()
        assert consumer.poll(0.5) == []
        own_broker.start()
        value = trickle.send()
        assert next_value(consumer) == value


def test_only_what_was_committed_is_read(broker: Any, make_topic: Callable[..., str]) -> None:
    trickle = Trickle(broker, make_topic(broker))
    settings: dict[str, Any] = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
    with trickle.producer, Consumer(broker.bootstrap, **settings) as consumer:
        consumer.assign([(trickle.topic, 0)])
        serve_directly(consumer, trickle)
        with Producer(broker.bootstrap, transactional_id=f"id-{trickle.topic}") as producer:
            producer.init_transactions()
            for number in range(6):
                producer.begin_transaction()
                producer.send(trickle.topic, b"%d" % number)
                producer.abort_transaction() if number % 2 else producer.commit_transaction()
                producer.flush()
            value = trickle.send()
            assert [next_value(consumer) for _ in range(4)] == [b"0", b"2", b"4", value]


def test_members_of_a_group_are_served_directly_and_commit_what_they_were_given(
    broker: Any, trickle: Trickle
) -> None:
    settings: dict[str, Any] = {"group_id": f"group-{trickle.topic}", "auto_offset_reset": "earliest"}
    with Consumer(broker.bootstrap, topics=[trickle.topic], **settings) as consumer:
        serve_directly(consumer, trickle)
        consumer.commit()
        partition = TopicPartition(trickle.topic, 0)
        committed = consumer.committed([partition])[partition]
        assert committed is not None
        assert committed.offset == trickle.sent


def test_a_partition_whose_records_were_deleted_is_read_from_where_it_begins(
    broker: Any, consumer: Consumer, trickle: Trickle
) -> None:
    for _ in range(5):
        trickle.send()
    with Admin(broker.bootstrap) as admin:
        admin.delete_records({TopicPartition(trickle.topic, 0): trickle.sent - 2})
    values = [trickle.send() for _ in range(3)]
    read: list[bytes | None] = []
    while values[-1] not in read:
        # A fetch that was answered before may have brought records that are deleted by now.
        read.append(next_value(consumer))
    assert read[-3:] == values


def test_the_kernel_fetches_in_the_newest_version() -> None:
    assert LENT_VERSIONS[-1] == FetchRequest.VERSIONS[1]
