from __future__ import annotations

import asyncio
import contextlib
import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.waiting import NEVER_MS, Patience

from barnabas import Admin, Consumer, GroupIdentity, OffsetAndMetadata, Producer, TopicPartition, aio
from barnabas.broker_errors import InvalidTxnStateError, ProducerFencedError, UnknownMemberIdError
from barnabas.errors import (
    BarnabasError,
    KafkaTimeoutError,
    RecordTooLargeError,
    TransactionAbortedError,
    TransactionFailedError,
    TransactionStateError,
)
from barnabas.testing import ApacheKafka, EmbeddedBroker

Kafka = ApacheKafka | EmbeddedBroker
MakeTopic = Callable[..., str]
ReadTopic = Callable[..., list[Any]]


@pytest.fixture(scope="module", params=["4.3.0", "3.9.1", "2.8.2", "embedded"])
def kafka(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    """From 4.0 on there is transaction version 2 (KIP-890). Tests may pause and restart it."""
    config = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
    embedded = request.param == "embedded"
    with EmbeddedBroker(config=config) if embedded else ApacheKafka(request.param, config=config) as broker:
        yield broker


@pytest.fixture
def make_producer(kafka: Kafka) -> Iterator[Callable[..., Producer]]:
    """`make_producer(transactional_id=...)` gives one that is ready for transactions."""
    with contextlib.ExitStack() as stack:

        def make(transactional_id: str | None = None, **settings: Any) -> Producer:
            name = transactional_id or f"id-{uuid.uuid4().hex[:12]}"
            producer = stack.enter_context(
                Producer(kafka.bootstrap, transactional_id=name, linger_ms=0, **settings)
            )
            producer.init_transactions()
            return producer

        yield make


def committed(
    kafka: Kafka, topic: str, isolation_level: Any = "read_committed", *, is_one_open: bool = False
) -> list[bytes | None]:
    """All that our own Consumer sees, up to the last stable offset. `is_one_open`: a transaction has not
    ended; otherwise the ends of all are waited for, as a commit returns before its markers are written."""
    with Consumer(kafka.bootstrap, isolation_level=isolation_level, auto_offset_reset="earliest") as consumer:
        partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        values: list[bytes | None] = []
        patience = Patience()
        ends = consumer.end_offsets(partitions)
        with Consumer(kafka.bootstrap) as everything:
            while not is_one_open and ends != everything.end_offsets(partitions):
                patience.check()
                ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            patience.check()
            values += [record.value for record in consumer.poll(0.1)]
        return values


def test_readers_of_committed_data_see_what_was_committed_and_nothing_else(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any, read_topic: ReadTopic
) -> None:
    topic = make_topic(kafka, partitions=3)
    producer = make_producer()
    expected: list[bytes] = []
    for number in range(6):
        producer.begin_transaction()
        values = [b"%d-%d" % (number, n) for n in range(30)]
        deliveries = [producer.send(topic, value, partition=n % 3) for n, value in enumerate(values)]
        if number % 3 == 0:
            producer.commit_transaction()
            assert all(delivery.done() for delivery in deliveries)
            expected += values
        else:
            if number % 3 == 1:
                producer.flush()
            producer.abort_transaction()
    assert sorted(committed(kafka, topic)) == sorted(expected)
    assert sorted(message.value() for message in read_topic(kafka, topic)) == sorted(expected)
    assert set(expected) < set(committed(kafka, topic, "read_uncommitted"))


def test_nobody_sees_a_transaction_before_it_is_committed(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer()
    with producer.transaction():
        producer.send(topic, b"first")
    producer.begin_transaction()
    producer.send(topic, b"second").result(30)
    assert committed(kafka, topic, is_one_open=True) == [b"first"]
    assert committed(kafka, topic, "read_uncommitted", is_one_open=True) == [b"first", b"second"]
    producer.commit_transaction()
    assert committed(kafka, topic) == [b"first", b"second"]


def test_a_transaction_without_records_is_no_trouble(make_producer: Any) -> None:
    producer = make_producer()
    for _ in range(2):
        producer.begin_transaction()
        producer.commit_transaction()
        producer.begin_transaction()
        producer.abort_transaction()


def test_the_block_of_a_transaction_commits_or_aborts(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer()

    def fail() -> None:
        with producer.transaction():
            producer.send(topic, b"lost").result(30)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with producer.transaction():
        producer.send(topic, b"kept")
    assert committed(kafka, topic) == [b"kept"]


def test_aio_has_the_same_transactions(kafka: Kafka, make_topic: MakeTopic) -> None:
    topic = make_topic(kafka)

    async def fail(producer: aio.Producer) -> None:
        async with producer.transaction():
            await producer.send(topic, b"lost")
            raise ZeroDivisionError

    async def main() -> None:
        async with aio.Producer(kafka.bootstrap, transactional_id="aio") as producer:
            with pytest.raises(TransactionStateError, match="init_transactions"):
                await producer.begin_transaction()
            await producer.init_transactions()
            with pytest.raises(TransactionStateError, match="begin_transaction"):
                await producer.send(topic, b"v")
            with pytest.raises(ZeroDivisionError):
                await fail(producer)
            async with producer.transaction():
                await producer.send(topic, b"kept")
            await producer.begin_transaction()
            await producer.send(topic, b"aborted")
            await producer.abort_transaction()

    asyncio.run(main())
    assert committed(kafka, topic) == [b"kept"]


def test_calls_out_of_turn_are_refused_and_say_what_comes_first(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    with Producer(kafka.bootstrap) as plain, pytest.raises(TransactionStateError, match="transactional_id"):
        plain.begin_transaction()
    producer = make_producer()
    with pytest.raises(TransactionStateError, match="init_transactions"):
        producer.init_transactions()
    with pytest.raises(TransactionStateError, match="begin_transaction first"):
        producer.send(topic, b"v")
    with pytest.raises(TransactionStateError, match="begin_transaction first"):
        producer.commit_transaction()
    with pytest.raises(TransactionStateError, match="begin_transaction first"):
        producer.send_offsets_to_transaction({(topic, 0): 1}, GroupIdentity("g"))
    producer.begin_transaction()
    with pytest.raises(TransactionStateError, match="commit or abort"):
        producer.begin_transaction()
    producer.send(topic, b"v")
    producer.commit_transaction()
    assert committed(kafka, topic) == [b"v"]


def test_a_second_producer_of_the_same_id_takes_over_and_fences_the_first(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    name = f"id-{uuid.uuid4().hex}"
    first = make_producer(name)
    first.begin_transaction()
    first.send(topic, b"of the first").result(30)
    second = make_producer(name)
    with pytest.raises(ProducerFencedError, match=name):
        first.commit_transaction()
    for call in (first.begin_transaction, first.abort_transaction, lambda: first.send(topic, b"v")):
        with pytest.raises(ProducerFencedError):
            call()
    with second.transaction():
        second.send(topic, b"of the second")
    assert committed(kafka, topic) == [b"of the second"]


def test_a_fenced_producer_that_sends_learns_it_when_it_aborts(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    name = f"id-{uuid.uuid4().hex}"
    first = make_producer(name)
    first.begin_transaction()
    first.send(topic, b"open").result(30)
    make_producer(name)
    with pytest.raises(BarnabasError):
        first.send(topic, b"late").result(30)
    with pytest.raises(ProducerFencedError):
        first.abort_transaction()
    assert committed(kafka, topic) == []


def test_a_record_that_fails_makes_the_commit_fail_and_the_next_transaction_is_as_good_as_any(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka, partitions=2, max_message_bytes="1000")
    producer = make_producer()
    for _ in range(2):
        producer.begin_transaction()
        small = producer.send(topic, b"small", partition=0)
        small.result(30)
        large = producer.send(topic, b"x" * 5000, partition=1)
        with pytest.raises(TransactionFailedError, match="abort_transaction") as caught:
            producer.commit_transaction()
        assert isinstance(caught.value.__cause__, RecordTooLargeError)
        assert isinstance(large.exception(10), RecordTooLargeError)
        with pytest.raises(TransactionFailedError):
            producer.send(topic, b"v")
        producer.abort_transaction()
        with producer.transaction():
            for partition in (0, 1):
                producer.send(topic, b"kept", partition=partition)
    assert committed(kafka, topic) == [b"kept"] * 4


def test_a_batch_that_is_split_is_committed_whole(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka, max_message_bytes="1000")
    producer = make_producer()
    values = [b"%03d" % n * 20 for n in range(100)]
    for _ in range(2):
        with producer.transaction():
            for value in values:
                producer.send(topic, value)
    assert committed(kafka, topic) == values * 2


def test_a_commit_that_fails_aborts_at_the_end_of_the_block(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka, max_message_bytes="1000")
    producer = make_producer()
    with pytest.raises(TransactionFailedError), producer.transaction():
        producer.send(topic, b"x" * 5000)
    with producer.transaction():
        producer.send(topic, b"kept")
    assert committed(kafka, topic) == [b"kept"]


def test_records_that_expire_fail_the_transaction_which_can_be_aborted(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer(request_timeout_ms=1000, delivery_timeout_ms=3000)
    producer.begin_transaction()
    producer.send(topic, b"stored").result(30)
    kafka.pause()
    try:
        expired = [producer.send(topic, b"late") for _ in range(10)]
        with pytest.raises(TransactionFailedError, match="delivery_timeout_ms"):
            producer.commit_transaction(30)
        assert all(isinstance(delivery.exception(10), BarnabasError) for delivery in expired)
    finally:
        kafka.resume()
    producer.abort_transaction()
    for number in range(3):
        with producer.transaction():
            producer.send(topic, b"%d" % number)
    assert committed(kafka, topic) == [b"0", b"1", b"2"]


def test_a_commit_whose_time_is_up_goes_on_and_the_same_call_waits_for_it(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer(max_block_ms=NEVER_MS)
    producer.begin_transaction()
    producer.send(topic, b"v").result(30)
    kafka.pause()
    try:
        with pytest.raises(KafkaTimeoutError, match="call it again"):
            producer.commit_transaction(timeout=0.3)
        for call in (producer.abort_transaction, producer.begin_transaction):
            with pytest.raises(TransactionStateError, match="call commit_transaction again"):
                call()
    finally:
        kafka.resume()
    producer.commit_transaction()
    with producer.transaction():
        producer.send(topic, b"w")
    assert committed(kafka, topic) == [b"v", b"w"]


def test_a_transaction_survives_the_end_of_the_broker(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer()
    producer.begin_transaction()
    values = [b"%d" % n for n in range(100)]
    for value in values[:50]:
        producer.send(topic, value)
    kafka.kill()
    for value in values[50:]:
        producer.send(topic, value)
    kafka.restart()
    producer.commit_transaction()
    assert committed(kafka, topic) == values


def test_the_coordinator_aborts_what_is_open_for_too_long(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any, eventually: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer(transaction_timeout_ms=1500)
    producer.begin_transaction()
    producer.send(topic, b"v").result(30)
    with Admin(kafka.bootstrap) as admin:
        # The marker of the abort follows the record.
        eventually(lambda: next(iter(admin.list_offsets({(topic, 0): "latest"}).values())).offset == 2)
    with pytest.raises((ProducerFencedError, InvalidTxnStateError), match="transaction_timeout_ms"):
        producer.commit_transaction()
    assert committed(kafka, topic) == []


def test_close_aborts_what_is_open(kafka: Kafka, make_topic: MakeTopic, read_topic: ReadTopic) -> None:
    topic = make_topic(kafka)
    # What is not flushed lingers until the end.
    producer = Producer(kafka.bootstrap, transactional_id=f"id-{uuid.uuid4().hex}", linger_ms=60_000)
    producer.init_transactions()
    producer.begin_transaction()
    stored = producer.send(topic, b"stored")
    producer.flush()
    unsent = producer.send(topic, b"unsent")
    producer.close()
    assert stored.result(1).offset == 0
    assert isinstance(unsent.exception(1), TransactionAbortedError)
    with Producer(kafka.bootstrap) as plain:
        plain.send(topic, b"after").result(30)
    assert committed(kafka, topic) == [b"after"]
    assert [message.value() for message in read_topic(kafka, topic)] == [b"after"]


def test_offsets_are_committed_with_the_transaction_or_not_at_all(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any, fill_topic: Any, eventually: Any
) -> None:
    source, target = make_topic(kafka), make_topic(kafka)
    fill_topic(kafka, source, [b"%d" % n for n in range(10)])
    producer = make_producer()
    group = f"group-{uuid.uuid4().hex}"
    with Consumer(
        kafka.bootstrap,
        topics=[source],
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        records = eventually(lambda: consumer.poll(0.2))
        position = {(source, 0): records[-1].offset + 1}
        for is_commit in (False, True):
            producer.begin_transaction()
            for record in records:
                producer.send(target, record.value)
            producer.send_offsets_to_transaction(position, consumer.group_metadata())
            if is_commit:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
            stored = consumer.committed([(source, 0)])[TopicPartition(source, 0)]
            assert (stored.offset if stored else None) == (records[-1].offset + 1 if is_commit else None)
    assert committed(kafka, target) == [record.value for record in records]


def test_offsets_alone_are_a_transaction_too(kafka: Kafka, make_topic: MakeTopic, make_producer: Any) -> None:
    topic = make_topic(kafka)
    producer = make_producer()
    group = f"group-{uuid.uuid4().hex}"
    with producer.transaction():
        producer.send_offsets_to_transaction({(topic, 0): 5}, GroupIdentity(group))
    partition = TopicPartition(topic, 0)
    with Admin(kafka.bootstrap) as admin:
        # Asked for all partitions, a broker leaves out one whose first offset a transaction still holds.
        stored = admin.list_group_offsets(group, [partition], require_stable=True)
    assert stored == {partition: OffsetAndMetadata(5)}


def test_a_consumer_that_is_no_longer_a_member_cannot_commit_in_a_transaction(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any, fill_topic: Any, eventually: Any
) -> None:
    source, target = make_topic(kafka), make_topic(kafka)
    fill_topic(kafka, source, [b"v"])
    producer = make_producer()
    settings: dict[str, Any] = {"group_id": f"group-{uuid.uuid4().hex}", "auto_offset_reset": "earliest"}
    with Consumer(kafka.bootstrap, topics=[source], enable_auto_commit=False, **settings) as zombie:
        eventually(lambda: zombie.poll(0.2))
        metadata = zombie.group_metadata()
    with Consumer(kafka.bootstrap, topics=[source], enable_auto_commit=False, **settings) as successor:
        eventually(lambda: successor.poll(0.2))
        producer.begin_transaction()
        producer.send(target, b"of the zombie")
        with pytest.raises(
            TransactionFailedError, match="abort, and go on from what the group has committed"
        ) as caught:
            producer.send_offsets_to_transaction({(source, 0): 1}, metadata)
        assert isinstance(caught.value.__cause__, UnknownMemberIdError)
        with pytest.raises(TransactionFailedError):
            producer.commit_transaction()
        producer.abort_transaction()
        with producer.transaction():
            producer.send(target, b"of the successor")
            producer.send_offsets_to_transaction({(source, 0): 1}, successor.group_metadata())
    assert committed(kafka, target) == [b"of the successor"]


@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_transaction_is_ended_by_somebody_else_and_as_often_as_told(
    commit: bool, kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer()
    producer.begin_transaction()
    for number in range(10):
        producer.send(topic, b"%d" % number)
    prepared = producer.prepare_transaction()
    assert prepared.producer_id >= 0
    assert committed(kafka, topic, is_one_open=True) == []
    with pytest.raises(TransactionStateError, match="call init_transactions first"):
        producer.begin_transaction()
    producer.close()
    with Admin(kafka.bootstrap) as admin:
        for _ in range(2):
            admin.end_prepared_transactions([pickle.loads(pickle.dumps(prepared))], commit=commit)
        with pytest.raises(BarnabasError, match=prepared.transactional_id):
            admin.end_prepared_transactions([prepared], commit=not commit)
    assert committed(kafka, topic) == ([b"%d" % number for number in range(10)] if commit else [])


def test_a_transaction_with_nothing_in_it_needs_no_end(kafka: Kafka, make_producer: Any) -> None:
    producer = make_producer()
    producer.begin_transaction()
    assert producer.prepare_transaction() is None


def test_a_producer_that_begins_anew_aborts_what_it_had_prepared(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka)
    producer = make_producer()
    producer.begin_transaction()
    producer.send(topic, b"lost")
    prepared = producer.prepare_transaction()
    producer.init_transactions()
    with producer.transaction():
        producer.send(topic, b"kept")
    with Admin(kafka.bootstrap) as admin, pytest.raises(ProducerFencedError):
        admin.end_prepared_transactions([prepared], commit=True)
    assert committed(kafka, topic) == [b"kept"]


def test_a_transaction_that_failed_is_not_prepared(
    kafka: Kafka, make_topic: MakeTopic, make_producer: Any
) -> None:
    topic = make_topic(kafka, max_message_bytes="1000")
    producer = make_producer()
    producer.begin_transaction()
    producer.send(topic, b"x" * 5000)
    with pytest.raises(TransactionFailedError):
        producer.prepare_transaction()
    producer.abort_transaction()
