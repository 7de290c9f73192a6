"""Share groups: records are lent, and come back until somebody accepts or rejects them."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from tests.share_groups import begin_at_the_first_record
from tests.waiting import NEVER_SECONDS, Patience

from barnabas import Producer, ShareConsumer, ShareRecord, TopicPartition, aio
from barnabas.broker_errors import InvalidRecordStateError, ShareSessionNotFoundError
from barnabas.client.share.acknowledgements import AcknowledgementResult
from barnabas.errors import (
    ClosedError,
    InvalidSettingError,
    KafkaTimeoutError,
    MisuseError,
    NoCommonVersionError,
)
from barnabas.events import PollIntervalExceeded
from barnabas.testing import ApacheKafka, EmbeddedBroker

ShareBroker = ApacheKafka | EmbeddedBroker
MakeTopic = Callable[..., str]
FillTopic = Callable[..., None]
MakeGroup = Callable[..., str]


@pytest.fixture(scope="module", params=[ApacheKafka, EmbeddedBroker], ids=["apache", "embedded"])
def kafka(request: pytest.FixtureRequest) -> Iterator[ShareBroker]:
    """A broker that lets a group have acquisition locks of a second."""
    with request.param(config={"group.share.min.record.lock.duration.ms": "1000"}) as kafka:
        yield kafka


@pytest.fixture
def make_group(kafka: ShareBroker) -> MakeGroup:
    """`make_group(**configs)` gives the name of a share group that begins at the first record."""

    def make(**configs: str) -> str:
        name = f"share-{uuid.uuid4().hex[:12]}"
        begin_at_the_first_record(kafka.bootstrap, name, **configs)
        return name

    return make


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def read(consumer: ShareConsumer, count: int, timeout: float = 60.0) -> list[ShareRecord]:
    """`count` records, all of which are accepted but the last poll's."""
    patience = Patience(timeout)
    records: list[ShareRecord] = []
    while len(records) < count:
        patience.check(f"{len(records)} of {count} records came")
        records += consumer.poll(0.5, count - len(records))
    return records


def explicit(kafka: ShareBroker, group: str, topic: str, **settings: Any) -> ShareConsumer:
    return ShareConsumer(
        kafka.bootstrap, group_id=group, topics=[topic], share_acknowledgement_mode="explicit", **settings
    )


def test_what_a_poll_returned_is_accepted_by_the_next_one_and_by_commit(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka, 2), make_group()
    fill_topic(kafka, topic, numbers(50), partition=0)
    fill_topic(kafka, topic, numbers(50), partition=1)
    with ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
        assert consumer.acquisition_lock_timeout_ms() is None
        records = read(consumer, 100)
        assert Counter((r.partition, r.value) for r in records) == Counter(
            (partition, value) for partition in (0, 1) for value in numbers(50)
        )
        assert all(r.delivery_count == 1 and r.topic == topic for r in records)
        outcome = consumer.commit()
        assert outcome
        assert set(outcome.values()) == {None}
        assert consumer.acquisition_lock_timeout_ms() == 30_000
    with ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
        fill_topic(kafka, topic, [b"new"])
        assert [r.value for r in read(consumer, 1)] == [b"new"]


def test_an_iteration_accepts_each_record_when_the_next_one_is_asked_for(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(10))
    with ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
        for record in consumer:
            if record.offset == 4:
                break
    with ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
        assert [r.value for r in read(consumer, 6)] == numbers(10)[4:]


def test_a_record_is_released_rejected_or_accepted_one_by_one(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup, eventually: Any
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(12))
    results: list[tuple[TopicPartition, list[int], Any]] = []
    with explicit(kafka, group, topic) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda *result: results.append(result))
        for record in read(consumer, 12):
            consumer.acknowledge(record, ("accept", "release", "reject")[record.offset % 3])
        assert consumer.commit() == {TopicPartition(topic, 0): None}
        assert results == [(TopicPartition(topic, 0), list(range(12)), None)]
        again = read(consumer, 4)
        assert [(r.offset, r.delivery_count) for r in again] == [(1, 2), (4, 2), (7, 2), (10, 2)]
        for record in again:
            consumer.acknowledge(record)

        def is_told() -> bool:
            # The first of these polls sends the acknowledgements with its fetch.
            assert consumer.poll(0.5) == []
            return len(results) > 1

        eventually(is_told)
        assert results[1:] == [(TopicPartition(topic, 0), [1, 4, 7, 10], None)]


def test_every_record_of_a_poll_must_be_acknowledged_before_the_next_in_explicit_mode(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(2))
    with explicit(kafka, group, topic) as consumer:
        first, second = read(consumer, 2)
        consumer.acknowledge(first, "release")
        consumer.acknowledge(first, "accept")
        with pytest.raises(MisuseError, match=rf"{topic}-0 at offset 1 has not been acknowledged"):
            consumer.poll()
        with pytest.raises(MisuseError, match="accept, release, reject, renew"):
            consumer.acknowledge(second, "perhaps")  # type: ignore[arg-type]
        consumer.acknowledge(second)
        assert consumer.commit() == {TopicPartition(topic, 0): None}
        with pytest.raises(MisuseError, match=rf"{topic}-0 at offset 1: the record was acknowledged before"):
            consumer.acknowledge(second)
        assert consumer.poll(0.7) == []


def test_acknowledging_is_for_explicit_mode(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic = make_topic(kafka)
    fill_topic(kafka, topic, numbers(1))
    with ShareConsumer(kafka.bootstrap, group_id=make_group(), topics=[topic]) as consumer:
        (record,) = read(consumer, 1)
        with pytest.raises(MisuseError, match="share_acknowledgement_mode='explicit'"):
            consumer.acknowledge(record)


def test_closing_releases_what_was_not_acknowledged_at_once(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(3))
    with explicit(kafka, group, topic) as other:
        with explicit(kafka, group, topic) as consumer:
            records = read(consumer, 3)
            consumer.acknowledge(records[1])
        again = read(other, 2, timeout=25)
        assert [(r.offset, r.delivery_count) for r in again] == [(0, 2), (2, 2)]
    with pytest.raises(ClosedError):
        consumer.poll()


def test_a_renewed_record_comes_again_at_the_next_poll_and_stays_ours(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group(share_record_lock_duration_ms="8000")
    fill_topic(kafka, topic, numbers(1))
    with explicit(kafka, group, topic) as consumer, explicit(kafka, group, topic) as other:
        (record,) = read(consumer, 1)
        held_until = time.monotonic() + 10
        while time.monotonic() < held_until:
            consumer.acknowledge(record, "renew")
            assert consumer.commit() == {TopicPartition(topic, 0): None}
            (record,) = consumer.poll(0)
            assert record.delivery_count == 1
            assert other.poll(0.5) == []
        consumer.acknowledge(record)
        assert consumer.commit() == {TopicPartition(topic, 0): None}


def test_a_record_whose_lock_expired_goes_to_another_member_and_cannot_be_accepted_any_more(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group(share_record_lock_duration_ms="3000")
    fill_topic(kafka, topic, numbers(1))
    with explicit(kafka, group, topic) as slow, explicit(kafka, group, topic) as other:
        (record,) = read(slow, 1)
        assert slow.acquisition_lock_timeout_ms() == 3000
        (again,) = read(other, 1)
        assert again.delivery_count == 2
        slow.acknowledge(record)
        error = slow.commit()[TopicPartition(topic, 0)]
        assert isinstance(error, InvalidRecordStateError)
        assert f"{topic}-0, offsets 0 to 0" in str(error)
        other.acknowledge(again)
        assert other.commit() == {TopicPartition(topic, 0): None}


def test_a_record_that_is_released_too_often_is_not_delivered_any_more(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(1))
    counts: list[int] = []
    with explicit(kafka, group, topic) as consumer:
        while len(counts) < 5:
            (record,) = read(consumer, 1)
            counts.append(record.delivery_count)
            consumer.acknowledge(record, "release")
        assert counts == [1, 2, 3, 4, 5]
        fill_topic(kafka, topic, [b"next"])
        (record,) = read(consumer, 1)
        assert record.value == b"next"
        consumer.acknowledge(record)


def test_several_members_share_one_partition_and_every_record_is_accepted_once(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    accepted: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    released: Counter[bytes] = Counter()
    is_done = threading.Event()

    def work(number: int) -> None:
        with explicit(kafka, group, topic, max_poll_records=50) as consumer:
            while not is_done.is_set():
                records = consumer.poll(0.2)
                for record in records:
                    if record.delivery_count == 1 and record.offset % 7 == 0:
                        released[record.value or b""] += 1
                        consumer.acknowledge(record, "release")
                    else:
                        consumer.acknowledge(record)
                assert all(error is None for error in consumer.commit().values())
                accepted[number] += [r.value or b"" for r in records if r.delivery_count > 1 or r.offset % 7]

    threads = [threading.Thread(target=work, args=[number]) for number in accepted]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    total = 0
    # Who joins late gets some of what is written then.
    while total < 3000 or (not all(accepted.values()) and time.monotonic() < deadline):
        fill_topic(kafka, topic, [b"%d" % n for n in range(total, total + 100)])
        total += 100
    while sum(map(len, accepted.values())) < total and time.monotonic() < deadline:
        is_done.wait(0.05)
    is_done.set()
    for thread in threads:
        thread.join(30)
    assert Counter(value for values in accepted.values() for value in values) == Counter(numbers(total))
    assert all(accepted.values()), "one member got nothing"
    assert released


@pytest.mark.parametrize("mode", ["batch_optimized", "record_limit"])
def test_max_poll_records_limits_what_is_lent_only_in_record_limit_mode(
    kafka: ShareBroker, make_topic: MakeTopic, make_group: MakeGroup, mode: Any
) -> None:
    topic, group = make_topic(kafka), make_group()
    # One batch, which closing sends.
    with Producer(kafka.bootstrap, linger_ms=60_000) as producer:
        for value in numbers(100):
            producer.send(topic, value)
    settings: dict[str, Any] = {"share_acquire_mode": mode, "max_poll_records": 10}
    with (
        explicit(kafka, group, topic, **settings) as consumer,
        explicit(kafka, group, topic, **settings) as other,
    ):
        assert [r.value for r in read(consumer, 10)] == numbers(10)
        found = read(other, 10) if mode == "record_limit" else other.poll(3)
        assert [r.value for r in found] == (numbers(20)[10:] if mode == "record_limit" else [])
        for record in found:
            other.acknowledge(record)


def send_at_once(kafka: ShareBroker, topic: str, values: list[bytes]) -> None:
    """One batch, which closing sends."""
    with Producer(kafka.bootstrap, linger_ms=60_000, batch_size=1_000_000) as producer:
        for value in values:
            producer.send(topic, value)


def test_a_poll_gives_what_was_lent_together_unless_it_names_a_limit(
    kafka: ShareBroker, make_topic: MakeTopic, make_group: MakeGroup, eventually: Any
) -> None:
    topic = make_topic(kafka)
    send_at_once(kafka, topic, numbers(100))
    settings: dict[str, Any] = {"topics": [topic], "max_poll_records": 10}
    with ShareConsumer(kafka.bootstrap, group_id=make_group(), **settings) as consumer:
        records = eventually(lambda: consumer.poll(0.5))
        assert [r.value for r in records] == numbers(100)
    with ShareConsumer(kafka.bootstrap, group_id=make_group(), **settings) as consumer:
        records = eventually(lambda: consumer.poll(0.5, 30))
        assert [r.value for r in records] == numbers(30)
        assert [r.value for r in consumer.poll(0.5)] == numbers(100)[30:]


def test_a_member_that_polls_now_and_then_keeps_nothing_from_the_others(
    kafka: ShareBroker, make_topic: MakeTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    # As much in each batch as may be lent of a partition at once.
    for _ in range(5):
        send_at_once(kafka, topic, numbers(2000))
    settings: dict[str, Any] = {"topics": [topic], "max_poll_records": 100}
    seen: Counter[int] = Counter()
    patience = Patience()
    with (
        ShareConsumer(kafka.bootstrap, group_id=group, **settings) as one,
        ShareConsumer(kafka.bootstrap, group_id=group, **settings) as other,
    ):
        while len(seen) < 10_000:
            patience.check(f"{len(seen)} records came")
            for consumer in (one, other):
                seen.update(record.offset for record in consumer.poll(1))
                assert set(consumer.commit().values()) <= {None}
    assert set(seen.values()) == {1}


def test_who_does_not_poll_for_too_long_is_told_of_and_joins_again_with_the_next_poll(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup, eventually: Any
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(2))
    told: list[PollIntervalExceeded] = []
    with explicit(kafka, group, topic, max_poll_interval_ms=500) as consumer:
        consumer.add_event_listener(
            lambda event: told.append(event) if isinstance(event, PollIntervalExceeded) else None
        )
        for record in read(consumer, 2):
            consumer.acknowledge(record, "release")
        eventually(lambda: told)
        assert [r.value for r in read(consumer, 2)] == numbers(2)
    assert [(event.group_id, event.max_poll_interval_ms) for event in told] == [(group, 500)]


def test_what_is_committed_while_a_broker_is_being_told_is_told_after_that(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup, eventually: Any
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(2))
    with explicit(kafka, group, topic) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda *result: None)
        first, second = read(consumer, 2)

        async def commit_twice() -> int:
            consumer.acknowledge(first)
            consumer._core.commit_async()
            # The first is taken from the ledger, and not answered yet.
            consumer.acknowledge(second)
            consumer._core.commit_async()
            return len(consumer._core._acknowledging)

        assert consumer._run(commit_twice()) == 1
        results = eventually(lambda: len(consumer._core._results) == 2 and list(consumer._core._results))
        assert [(result.offsets, result.error) for result in results] == [([0], None), ([1], None)]


def test_results_behind_one_for_which_the_callback_raised_are_told_with_the_next_call() -> None:
    partitions = [TopicPartition("t", index) for index in range(2)]
    told: list[TopicPartition] = []

    def fail(partition: TopicPartition, offsets: list[int], error: Any) -> None:
        told.append(partition)
        raise ValueError("mine")

    with ShareConsumer("127.0.0.1:1", group_id="g") as consumer:
        consumer.set_acknowledgement_commit_callback(fail)
        for partition in partitions:
            consumer._core.acknowledged(AcknowledgementResult(partition, [0], None))
        for _ in partitions:
            with pytest.raises(ValueError, match="mine"):
                consumer.commit()
    assert told == partitions


def test_markers_of_transactions_hold_nothing_up(
    kafka: ShareBroker, make_topic: MakeTopic, make_group: MakeGroup
) -> None:
    topic = make_topic(kafka)
    group = make_group(share_isolation_level="read_committed")
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        producer.flush(30)
        if number % 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    with explicit(kafka, group, topic) as consumer:
        records = read(consumer, 3)
        assert [r.value for r in records] == [b"0", b"2", b"4"]
        for record in records:
            consumer.acknowledge(record)
        assert set(consumer.commit().values()) == {None}
    with explicit(kafka, group, topic) as consumer:
        assert consumer.poll(1.5) == []


@pytest.mark.parametrize("kind", [ApacheKafka, EmbeddedBroker], ids=["apache", "embedded"])
def test_a_commit_ends_in_time_and_a_broker_that_went_away_has_released_the_records(
    make_topic: MakeTopic, fill_topic: FillTopic, kind: type[ShareBroker]
) -> None:
    with kind() as own:
        topic = make_topic(own)
        fill_topic(own, topic, numbers(2))
        begin_at_the_first_record(own.bootstrap, topic)
        with explicit(own, topic, topic) as consumer:
            records = read(consumer, 2)
            consumer.acknowledge(records[0], "accept")
            own.pause()
            with pytest.raises(KafkaTimeoutError, match="have not answered"):
                consumer.commit(timeout=0.5)
            own.kill()
            own.start()
            consumer.acknowledge(records[1])
            assert set(map(type, consumer.commit().values())) == {ShareSessionNotFoundError}
            again = read(consumer, 2, timeout=40)
            assert [r.value for r in again] == numbers(2)
            for record in again:
                consumer.acknowledge(record)
            assert consumer.commit() == {TopicPartition(topic, 0): None}


def test_members_of_barnabas_and_of_librdkafka_share_a_group(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    other = confluent_kafka.ShareConsumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": 20,
        }
    )
    other.subscribe([topic])
    ours: Counter[bytes] = Counter()
    theirs: Counter[bytes] = Counter()
    try:
        with explicit(kafka, group, topic, max_poll_records=20) as consumer:
            patience = Patience()
            batches = 0
            # Who joins late gets some of what is written then.
            while batches < 10 or len(ours) + len(theirs) < 40 * batches or not theirs or not ours:
                patience.check((len(ours), len(theirs)))
                if batches < 10 or not theirs or not ours:
                    fill_topic(kafka, topic, [b"%d-%d" % (batches, n) for n in range(40)])
                    batches += 1
                for record in consumer.poll(0.2):
                    # What we release, librdkafka may get as well, with its count.
                    is_released = record.delivery_count == 1 and record.offset % 10 == 0
                    consumer.acknowledge(record, "release" if is_released else "accept")
                    if not is_released:
                        ours[record.value or b""] += 1
                assert set(consumer.commit().values()) <= {None}
                for message in other.poll(0.2):
                    assert message.error() is None
                    other.acknowledge(message, confluent_kafka.AcknowledgeType.ACCEPT)
                    theirs[message.value()] += 1
                other.commit_sync(10)
    finally:
        other.close()
    assert ours + theirs == Counter(b"%d-%d" % (batch, n) for batch in range(batches) for n in range(40))


def test_records_come_by_poll_and_by_iteration_on_an_event_loop(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(20))

    async def main() -> None:
        before = asyncio.all_tasks()
        async with aio.ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
            assert consumer.subscription() == {topic}
            seen = []
            async for record in consumer:
                seen.append(record.value)
                if len(seen) == 5:
                    break
            records = await consumer.poll(5, 100)
            assert [r.value for r in records] == numbers(20)[5:]
            assert await consumer.commit() == {TopicPartition(topic, 0): None}
            consumer.wakeup()
            assert await consumer.poll(60) == []
            await consumer.unsubscribe()
            assert consumer.subscription() == set()
            with pytest.raises(MisuseError, match="subscribe"):
                await consumer.poll()
            consumer.subscribe([topic])
            fill_topic(kafka, topic, [b"new"])
            records = []
            while not records:
                records = await consumer.poll(1)
            assert [r.value for r in records] == [b"new"]
        assert asyncio.all_tasks() == before

    asyncio.run(asyncio.wait_for(main(), 60))


def test_wakeup_ends_a_poll_that_waits_on_another_thread(
    kafka: ShareBroker, make_topic: MakeTopic, make_group: MakeGroup
) -> None:
    with ShareConsumer(kafka.bootstrap, group_id=make_group(), topics=[make_topic(kafka)]) as consumer:
        timer = threading.Timer(0.3, consumer.wakeup)
        timer.start()
        assert consumer.poll(NEVER_SECONDS) == []
        timer.join()


def test_closing_while_a_fetch_waits_is_quick(
    kafka: ShareBroker, make_topic: MakeTopic, make_group: MakeGroup
) -> None:
    consumer = ShareConsumer(kafka.bootstrap, group_id=make_group(), topics=[make_topic(kafka)])
    consumer.poll(1)
    consumer.close()


def test_a_member_that_does_not_poll_leaves_the_group_and_comes_back_with_the_next_poll(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup, eventually: Any
) -> None:
    topic, group = make_topic(kafka), make_group()
    with ShareConsumer(
        kafka.bootstrap, group_id=group, topics=[topic], max_poll_interval_ms=1000
    ) as consumer:
        fill_topic(kafka, topic, [b"first"])
        read(consumer, 1)
        eventually(lambda: not consumer._core._membership.assignment)
        fill_topic(kafka, topic, [b"second"])
        assert [r.value for r in read(consumer, 1)] == [b"second"]


@pytest.mark.parametrize("kind", [ApacheKafka, EmbeddedBroker], ids=["apache", "embedded"])
def test_a_member_that_does_not_poll_gives_up_its_partitions_though_the_coordinator_is_silent(
    make_topic: MakeTopic, eventually: Any, kind: type[ShareBroker]
) -> None:
    with kind() as own_kafka:
        topic = make_topic(own_kafka)
        with ShareConsumer(
            own_kafka.bootstrap, group_id="late", topics=[topic], max_poll_interval_ms=4000
        ) as consumer:

            def is_member() -> bool:
                assert consumer.poll(0.1) == []
                return consumer._core.assignment == [TopicPartition(topic, 0)]

            eventually(is_member)
            own_kafka.pause()
            try:
                # Well before a heartbeat to this coordinator times out.
                eventually(lambda: not consumer._core.assignment, timeout=20)
            finally:
                own_kafka.resume()
            eventually(is_member)


def test_a_share_consumer_needs_a_group_and_a_broker_that_has_share_groups(make_topic: MakeTopic) -> None:
    with pytest.raises(InvalidSettingError, match="group_id is missing"):
        ShareConsumer("127.0.0.1:9", group_id="")
    with ApacheKafka("2.8.2") as old:
        topic = make_topic(old)
        with (
            ShareConsumer(old.bootstrap, group_id="g", topics=[topic]) as consumer,
            pytest.raises(NoCommonVersionError, match="ShareGroupHeartbeat"),
        ):
            consumer.poll(30)


def test_closing_waits_for_a_commit_in_the_background(
    kafka: ShareBroker, make_topic: MakeTopic, fill_topic: FillTopic, make_group: MakeGroup
) -> None:
    topic, group = make_topic(kafka), make_group()
    fill_topic(kafka, topic, numbers(5))
    results: list[Any] = []
    with ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda *result: results.append(result))
        read(consumer, 5)
        consumer.commit_async()
    assert results == [(TopicPartition(topic, 0), [0, 1, 2, 3, 4], None)]
    with ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
        assert consumer.poll(1.5) == []


def test_a_second_thread_that_polls_meanwhile_is_told_so_and_accepts_nothing(
    kafka: ShareBroker, make_topic: MakeTopic, make_group: MakeGroup, fill_topic: FillTopic
) -> None:
    topic, group = make_topic(kafka), make_group()
    returned: list[list[ShareRecord]] = []
    with ShareConsumer(kafka.bootstrap, group_id=group, topics=[topic]) as consumer:
        thread = threading.Thread(target=lambda: returned.append(consumer.poll(60)))
        thread.start()

        def poll_until_refused() -> None:
            while thread.is_alive():
                consumer.poll(0)

        with pytest.raises(MisuseError, match="another thread or coroutine is polling"):
            poll_until_refused()
        fill_topic(kafka, topic, numbers(1))
        thread.join(60)
    assert [[record.value for record in records] for records in returned] == [numbers(1)]
