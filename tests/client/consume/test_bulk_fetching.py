"""Records that a thread of the kernel's fetches ahead while there are many, on real brokers: that it does,
and that nothing else changes by it."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.waiting import Patience

from barnabas import Consumer, Producer, Record, TopicPartition
from barnabas.client.consume.direct_fetching import DirectFetching

Eventually = Callable[..., Any]
TIMEOUT = 60.0
PARTITIONS = 3
COUNT = 20_000
"""Records of each partition, of which one answer holds a part."""
SETTINGS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "max_partition_fetch_bytes": 200_000,
    "queued_max_bytes": 2_000_000,
    "fetch_max_wait_ms": 100,
}


def value_of(partition: int, number: int) -> bytes:
    return b"%d %06d" % (partition, number) + b"x" * 192


def fill(broker: Any, topic: str, count: int = COUNT, **settings: Any) -> None:
    settings = {"batch_size": 50_000, "compression": "none", **settings}
    with Producer(broker.bootstrap, **settings) as producer:
        for number in range(count):
            for partition in range(PARTITIONS):
                producer.send(topic, value_of(partition, number), partition=partition)


@pytest.fixture
def topic(broker: Any, make_topic: Callable[..., str]) -> str:
    topic = make_topic(broker, PARTITIONS)
    fill(broker, topic)
    return topic


@pytest.fixture
def consumer(broker: Any, topic: str) -> Iterator[Consumer]:
    with Consumer(broker.bootstrap, **SETTINGS) as consumer:
        consumer.assign(partitions_of(topic))
        yield consumer


@pytest.fixture
def answers_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each answer that the loop saw."""
    sizes: list[int] = []
    answered = DirectFetching.answered

    def noting(direct: DirectFetching, node_id: int, connection: Any, version: int, size: int) -> None:
        sizes.append(size)
        answered(direct, node_id, connection, version, size)

    monkeypatch.setattr(DirectFetching, "answered", noting)
    return sizes


def partitions_of(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(PARTITIONS)]


def is_in_bulk(consumer: Consumer) -> bool:
    direct = consumer._core._fetcher._direct
    return direct is not None and any(lent.is_in_bulk for lent in direct.lent)


def read_in_bulk(consumer: Consumer) -> list[Record]:
    """Records up to where they are fetched in bulk."""
    patience = Patience(TIMEOUT)
    records: list[Record] = []
    while not is_in_bulk(consumer):
        patience.check()
        records += consumer.poll(1, 100)
    return records


class Reading:
    """Checks that records come once and in their order, also where positions are moved."""

    def __init__(self, consumer: Consumer, topic: str, count: int = COUNT) -> None:
        self.consumer = consumer
        self.topic = topic
        self.count = count
        self.next = dict.fromkeys(range(PARTITIONS), 0)

    def take(self, records: list[Record]) -> None:
        for record in records:
            number = self.next[record.partition]
            assert record.value == value_of(record.partition, number)
            self.next[record.partition] = number + 1

    def poll(self, most: int = 500) -> None:
        self.take(self.consumer.poll(1, most))

    def seek(self, partition: int, number: int) -> None:
        self.consumer.seek((self.topic, partition), number)
        self.next[partition] = number

    @property
    def is_done(self) -> bool:
        return all(number == self.count for number in self.next.values())

    def finish(self) -> None:
        patience = Patience(TIMEOUT)
        while not self.is_done:
            patience.check(self.next)
            self.poll()


def awaits_room(consumer: Consumer) -> bool:
    """Whether no request is under way: all that is queued waits for the caller."""
    return [seconds for _, seconds, _ in consumer._waiting.figures()] == [0.0]


def cut_connection(consumer: Consumer) -> None:
    direct = consumer._core._fetcher._direct
    assert direct is not None
    for lent in direct.lent:
        transport = lent.connection._protocol.transport
        assert transport is not None
        # It may have been cut before, and the loop not have heard of that yet.
        with contextlib.suppress(OSError):
            transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def test_every_record_comes_once_in_order_and_the_loop_sees_few_answers(
    consumer: Consumer, topic: str, answers_in_the_loop: list[int]
) -> None:
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    reading.finish()
    assert sum(answers_in_the_loop) < 0.5 * PARTITIONS * COUNT * 200
    for partition in partitions_of(topic):
        assert consumer.position(partition) == COUNT
        assert consumer.lag(partition) == 0


def test_columns_come_in_bulk(consumer: Consumer, topic: str) -> None:
    values: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
    patience = Patience(TIMEOUT)
    was_in_bulk = False
    while sum(map(len, values.values())) < PARTITIONS * COUNT:
        patience.check()
        batch = consumer.poll_arrow(1)
        was_in_bulk |= is_in_bulk(consumer)
        for number, value in zip(
            batch.column("partition").to_pylist(), batch.column("value").to_pylist(), strict=True
        ):
            values[number].append(value)
    assert was_in_bulk
    for number in range(PARTITIONS):
        assert values[number] == [value_of(number, place) for place in range(COUNT)]


def test_compressed_records_come_in_bulk(broker: Any, make_topic: Callable[..., str]) -> None:
    topic = make_topic(broker, PARTITIONS)
    noise = random.Random(1)
    values = [noise.randbytes(1000) for _ in range(6000)]
    with Producer(broker.bootstrap, compression="lz4", batch_size=50_000) as producer:
        for value in values:
            producer.send(topic, value, partition=0)
    with Consumer(broker.bootstrap, **SETTINGS) as consumer:
        consumer.assign(partitions_of(topic))
        records = read_in_bulk(consumer)
        patience = Patience(TIMEOUT)
        while len(records) < len(values):
            patience.check()
            records += consumer.poll(1)
        assert [record.value for record in records] == values


def test_seeks_pauses_and_cuts_of_the_connection_lose_and_repeat_nothing(
    consumer: Consumer, topic: str
) -> None:
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    chance = random.Random(7)
    for _ in range(60):
        partition = chance.randrange(PARTITIONS)
        what = chance.choice(["seek", "pause", "resume", "cut", "poll", "poll", "poll"])
        if what == "seek":
            reading.seek(partition, chance.randrange(COUNT))
        elif what == "pause":
            consumer.pause((topic, partition))
        elif what == "resume":
            consumer.resume((topic, partition))
        elif what == "cut":
            cut_connection(consumer)
        else:
            reading.take(consumer.poll(0.05, chance.choice([10, 1000, 5000])))
    consumer.resume(*partitions_of(topic))
    for partition in range(PARTITIONS):
        reading.seek(partition, 0)
    reading.finish()


def test_partitions_that_are_added_and_removed_meanwhile_are_read_in_order(
    consumer: Consumer, topic: str
) -> None:
    consumer.assign(partitions_of(topic)[:1])
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    consumer.assign(partitions_of(topic))
    reading.take(read_in_bulk(consumer))
    consumer.assign(partitions_of(topic)[1:])
    reading.next[0] = COUNT
    reading.finish()


def test_a_slow_caller_is_not_fetched_for_beyond_its_queue(
    consumer: Consumer, topic: str, eventually: Eventually
) -> None:
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    buffer, queues = consumer._core.buffer, consumer._core.buffer.queues()
    most, answer = SETTINGS["queued_max_bytes"], PARTITIONS * SETTINGS["max_partition_fetch_bytes"]

    def queued() -> int:
        consumer._core.take_in()
        return sum(queue.queued_bytes for queue in queues)

    eventually(lambda: queued() >= most / 2)
    while not reading.is_done:
        assert queued() <= most + answer
        assert all(queue.queued_bytes <= buffer.partition_bytes + answer for queue in queues)
        reading.poll(97)
    # It went on in bulk: the queue was not left to run dry in between.
    assert queued() == 0


def test_a_caller_that_pauses_for_long_stays_in_bulk_and_goes_on(
    consumer: Consumer, topic: str, eventually: Eventually
) -> None:
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))

    eventually(lambda: awaits_room(consumer))
    consumer._core._loop.call_soon_threadsafe(consumer._core._fetcher.wake)
    reading.poll(10)
    assert is_in_bulk(consumer)
    reading.finish()


@pytest.mark.parametrize("what", ["paused", "removed", "moved to its end"])
def test_what_is_not_taken_of_one_partition_does_not_hold_up_the_others(
    consumer: Consumer, topic: str, eventually: Eventually, what: str
) -> None:
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    eventually(lambda: awaits_room(consumer))
    if what == "paused":
        consumer.pause((topic, 0))
    elif what == "removed":
        consumer.assign(partitions_of(topic)[1:])
    else:
        reading.seek(0, COUNT)
    at = reading.next[0]
    reading.next[0] = COUNT
    reading.finish()
    if what == "paused":
        reading.next[0] = at
        consumer.resume((topic, 0))
        reading.finish()


def test_small_answers_are_for_the_loop_and_for_those_that_wait(
    consumer: Consumer, topic: str, broker: Any, eventually: Eventually
) -> None:
    reading = Reading(consumer, topic, COUNT + 50)
    reading.take(read_in_bulk(consumer))
    while min(reading.next.values()) < COUNT:
        reading.poll()
    eventually(lambda: not is_in_bulk(consumer))
    with Producer(broker.bootstrap, linger_ms=0) as producer:
        for number in range(COUNT, COUNT + 50):
            for partition in range(PARTITIONS):
                producer.send(topic, value_of(partition, number), partition=partition).result(TIMEOUT)
            while min(reading.next.values()) <= number:
                reading.poll()
    assert not is_in_bulk(consumer)
    assert reading.is_done


def test_end_offsets_are_not_fetched_beyond(consumer: Consumer, topic: str) -> None:
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    ends = {partition: COUNT // 2 + partition.partition for partition in partitions_of(topic)}
    patience = Patience(TIMEOUT)
    while any(reading.next[partition.partition] < end for partition, end in ends.items()):
        patience.check()
        for number in consumer.poll_arrow(1, end_offsets=ends).column("partition").to_pylist():
            reading.next[number] += 1
    assert {partition: reading.next[partition.partition] for partition in ends} == ends
    assert consumer.poll_arrow(0.2, end_offsets=ends).num_rows == 0
    answer = SETTINGS["max_partition_fetch_bytes"] // 200
    for queue in consumer._core.buffer.queues():
        assert queue.fetch_offset < ends[queue.partition] + SETTINGS["queued_max_bytes"] // 200 + answer
    reading.finish()


def test_requests_and_answers_are_counted(consumer: Consumer, topic: str, eventually: Eventually) -> None:
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    reading.finish()
    size = PARTITIONS * COUNT * 200

    def has_counted() -> bool:
        brokers = consumer.stats().client.brokers
        received = sum(broker.bytes_received for broker in brokers)
        fetches = sum(broker.requests_by_api.get("Fetch", 0) for broker in brokers)
        return received > size and fetches >= size / (PARTITIONS * SETTINGS["max_partition_fetch_bytes"])

    eventually(has_counted)


def test_a_wakeup_and_a_close_end_it_at_once(broker: Any, topic: str) -> None:
    with Consumer(broker.bootstrap, **SETTINGS) as consumer:
        consumer.assign(partitions_of(topic))
        read_in_bulk(consumer)
        consumer.wakeup()


def test_a_program_may_end_without_closing(broker: Any, topic: str) -> None:
    program = f"""
import sys
from barnabas import Consumer
consumer = Consumer({broker.bootstrap!r}, **{SETTINGS!r})
consumer.assign([({topic!r}, number) for number in range({PARTITIONS})])
while not any(lent.is_in_bulk for lent in consumer._core._fetcher._direct.lent):
    consumer.poll(1, 100)
print("in bulk")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "in bulk\n", "")


# Python 3.12 and later warn of any fork with threads around; that is the case under test.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_disturb_it(broker: Any, topic: str) -> None:
    consumer = Consumer(broker.bootstrap, **SETTINGS)
    consumer.assign(partitions_of(topic))
    reading = Reading(consumer, topic)
    reading.take(read_in_bulk(consumer))
    child = os.fork()
    if child == 0:
        try:
            del consumer, reading
            gc.collect()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    reading.finish()
    consumer.close()


def test_only_what_was_committed_is_read(broker: Any, make_topic: Callable[..., str]) -> None:
    topic = make_topic(broker, PARTITIONS)
    with Producer(broker.bootstrap, transactional_id=f"id-{topic}", batch_size=50_000) as producer:
        producer.init_transactions()
        for number in range(0, COUNT, COUNT // 10):
            for is_wanted in (False, True):
                producer.begin_transaction()
                for place in range(number, number + (COUNT // 10 if is_wanted else 5)):
                    for partition in range(PARTITIONS):
                        producer.send(topic, value_of(partition, place), partition=partition)
                producer.commit_transaction() if is_wanted else producer.abort_transaction()
    with Consumer(broker.bootstrap, isolation_level="read_committed", **SETTINGS) as consumer:
        consumer.assign(partitions_of(topic))
        Reading(consumer, topic).finish()


class NoMoreThreads:
    """The kernel's side of fetches, in a process that can start no thread."""

    def __init__(self, fetches: Any) -> None:
        self._fetches = fetches

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fetches, name)

    def lend_in_bulk(self, *arguments: Any, **options: Any) -> int:
        raise BlockingIOError("no more threads")


def test_the_loop_goes_on_where_no_thread_can_be_started(consumer: Consumer, topic: str) -> None:
    direct = consumer._core._fetcher._direct
    assert direct is not None
    direct._fetches = NoMoreThreads(direct._fetches)
    Reading(consumer, topic).finish()
    assert not is_in_bulk(consumer)


def test_reading_goes_on_behind_a_broker_that_was_restarted(
    own_broker: Any, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(own_broker, PARTITIONS)
    fill(own_broker, topic)
    with Consumer(own_broker.bootstrap, **SETTINGS) as consumer:
        consumer.assign(partitions_of(topic))
        reading = Reading(consumer, topic)
        reading.take(read_in_bulk(consumer))
        own_broker.kill()
        reading.poll()
        own_broker.start()
        reading.finish()
