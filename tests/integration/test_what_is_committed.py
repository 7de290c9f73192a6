"""Automatic commits while a caller reads as fast as it can: never ahead of what it was given, and in time.

Four partitions whose offsets do not overlap, so that one's offset under another's name is seen at once. Each
way of reading runs against both brokers, undisturbed and disturbed.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from tests.waiting import Patience

from barnabas import Admin, Consumer, NewTopic, Producer, TopicPartition, aio
from barnabas.compat import confluent_kafka
from barnabas.compat.confluent_kafka.aio import AIOConsumer
from barnabas.events import Event, OffsetsCommitted
from barnabas.testing import ApacheKafka, EmbeddedBroker

PARTITIONS = 4
RECORDS = 400_000
"""Of each partition; it begins where the one before it ends."""
REWINDING_SECONDS = 1.0
COMMIT_INTERVAL_MS = 5
# For a commit the event loop needs the interpreter lock a few times, which a busy caller gives up every 5 ms.
# The real package, which is slower, commits 190 times a second.
LEAST_COMMITS_A_SECOND = 20


@dataclass
class Journal:
    """What a reader was given, and what was committed for it."""

    topic: str
    given: dict[int, int] = field(default_factory=dict[int, int])
    """By partition, the offset behind the last record."""
    commits: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def was_given(self, partition: int, next_offset: int) -> None:
        if next_offset > self.given.get(partition, -1):
            self.given[partition] = next_offset

    def was_committed(self, partition: int, offset: int) -> None:
        first, end = partition * RECORDS, (partition + 1) * RECORDS
        if not first <= offset <= end:
            self.wrong.append(f"{offset} was committed of partition {partition}, which is {first} to {end}")

    def check(self, committed: dict[int, int]) -> None:
        """`committed` as the broker has it, asked for before the reader was given its last record."""
        for partition, offset in committed.items():
            self.was_committed(partition, offset)
            if offset > self.given.get(partition, -1):
                given = self.given.get(partition)
                self.wrong.append(f"{offset} was committed of partition {partition}, and read only {given}")
        assert not self.wrong, self.wrong[:5]


TOPIC = "offsets-apart"


@pytest.fixture(scope="module", params=["apache", "embedded"])
def broker_with_records(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A broker of both kinds in turn. A test may kill it, and leaves it running."""
    with {"apache": ApacheKafka, "embedded": EmbeddedBroker}[request.param]() as broker:
        with Admin(broker.bootstrap) as admin, Producer(broker.bootstrap, compression="zstd") as producer:
            admin.create_topics([NewTopic(TOPIC, PARTITIONS)])
            for partition in range(PARTITIONS):
                count = RECORDS * (partition + 1)
                table = pa.table(
                    {
                        "value": pa.array([b"%012d" % number for number in range(count)], pa.binary()),
                        "partition": pa.array([partition] * count, pa.int32()),
                    }
                )
                assert producer.send_arrow(TOPIC, table).result(timeout=60) == count
        yield broker


@pytest.fixture
def filled(broker_with_records: Any) -> tuple[Any, str]:
    # Kafka notes once a minute where a log begins: one that was killed may begin at 0 again.
    firsts = {TopicPartition(TOPIC, number): RECORDS * number for number in range(PARTITIONS)}
    with Admin(broker_with_records.bootstrap) as admin:
        admin.delete_records(firsts)
    return broker_with_records, TOPIC


def committed_by(broker: Any, group: str) -> dict[int, int]:
    with Admin(broker.bootstrap) as admin:
        offsets = admin.list_group_offsets(group)
    return {partition.partition: found.offset for partition, found in offsets.items() if found is not None}


class Reader:
    """One way of reading. `step` reads something, `settings` are librdkafka's."""

    def __init__(self, broker: Any, journal: Journal, group: str) -> None:
        self.journal = journal
        self.group = group
        self.bootstrap: str = broker.bootstrap

    def step(self) -> None:
        raise NotImplementedError

    def rewind(self) -> None:
        raise NotImplementedError

    def pause(self, *, is_paused: bool) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    @property
    def places(self) -> list[tuple[int, int]]:
        """Each partition with its first offset."""
        return [(number, RECORDS * number) for number in sorted(self.assigned())]

    def assigned(self) -> list[int]:
        raise NotImplementedError


def facade_settings(reader: Reader) -> dict[str, Any]:
    return {
        "bootstrap.servers": reader.bootstrap,
        "group.id": reader.group,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": COMMIT_INTERVAL_MS,
        "partition.assignment.strategy": "cooperative-sticky",
        "on_commit": lambda error, partitions: note_commit(reader.journal, error, partitions),
    }


def note_commit(journal: Journal, error: Any, partitions: list[Any]) -> None:
    if error is not None:
        return
    journal.commits += 1
    for partition in partitions:
        if partition.offset >= 0:
            journal.was_committed(partition.partition, partition.offset)


@contextmanager
def what_is_not_begun() -> Iterator[None]:
    """librdkafka refuses to seek while it finds out where the group stopped."""
    try:
        yield
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() != confluent_kafka.KafkaError._STATE:
            raise


class FacadeReader(Reader):
    def __init__(self, broker: Any, journal: Journal, group: str) -> None:
        super().__init__(broker, journal, group)
        self.consumer = confluent_kafka.Consumer(facade_settings(self))
        self.consumer.subscribe([journal.topic])

    def take(self, messages: list[Any]) -> None:
        for message in messages:
            if message.error() is None:
                self.journal.was_given(message.partition(), message.offset() + 1)

    def assigned(self) -> list[int]:
        return [partition.partition for partition in self.consumer.assignment()]

    def rewind(self) -> None:
        for number, first in self.places:
            with what_is_not_begun():
                self.consumer.seek(confluent_kafka.TopicPartition(self.journal.topic, number, first))

    def pause(self, *, is_paused: bool) -> None:
        numbers = self.assigned()[:1]
        partitions = [confluent_kafka.TopicPartition(self.journal.topic, number) for number in numbers]
        (self.consumer.pause if is_paused else self.consumer.resume)(partitions)

    def close(self) -> None:
        self.consumer.close()


class PollReader(FacadeReader):
    def step(self) -> None:
        consumer, given = self.consumer, self.journal.given
        for _ in range(10_000):
            message = consumer.poll(0)
            if message is None:
                return
            if message.error() is None:
                number, offset = message.partition(), message.offset()
                if offset >= given.get(number, -1):
                    given[number] = offset + 1


class ConsumeReader(FacadeReader):
    def step(self) -> None:
        self.take(self.consumer.consume(1000, 0.01))


class AioFacadeReader(Reader):
    """AIOConsumer, on an event loop of the test's."""

    def __init__(self, broker: Any, journal: Journal, group: str) -> None:
        super().__init__(broker, journal, group)
        self.runner = asyncio.Runner()

        async def on_commit(error: Any, partitions: list[Any]) -> None:
            note_commit(journal, error, partitions)

        async def make() -> Any:
            consumer = AIOConsumer({**facade_settings(self), "on_commit": on_commit}, max_workers=2)
            await consumer.subscribe([journal.topic])
            return consumer

        self.consumer = self.runner.run(make())

    def step(self) -> None:
        for message in self.runner.run(self.consumer.consume(1000, 0.01)):
            if message.error() is None:
                self.journal.was_given(message.partition(), message.offset() + 1)

    def assigned(self) -> list[int]:
        return [partition.partition for partition in self.runner.run(self.consumer.assignment())]

    def rewind(self) -> None:
        for number, first in self.places:
            partition = confluent_kafka.TopicPartition(self.journal.topic, number, first)
            with what_is_not_begun():
                self.runner.run(self.consumer.seek(partition))

    def pause(self, *, is_paused: bool) -> None:
        numbers = self.assigned()[:1]
        partitions = [confluent_kafka.TopicPartition(self.journal.topic, number) for number in numbers]
        self.runner.run((self.consumer.pause if is_paused else self.consumer.resume)(partitions))

    def close(self) -> None:
        self.runner.run(self.consumer.close())
        self.runner.close()


def native_settings(reader: Reader) -> dict[str, Any]:
    return {
        "topics": [reader.journal.topic],
        "group_id": reader.group,
        "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": COMMIT_INTERVAL_MS,
        "partition_assignment_strategy": "cooperative-sticky",
    }


def note_event(journal: Journal, event: Event) -> None:
    if isinstance(event, OffsetsCommitted) and event.error is None:
        journal.commits += 1
        for partition, offset in event.offsets.items():
            journal.was_committed(partition.partition, offset.offset)


class NativeReader(Reader):
    def __init__(self, broker: Any, journal: Journal, group: str) -> None:
        super().__init__(broker, journal, group)
        self.consumer = Consumer(self.bootstrap, **native_settings(self))
        self.consumer.add_event_listener(lambda event: note_event(journal, event))

    def step(self) -> None:
        for record in self.consumer.poll(0.01, max_records=1000):
            self.journal.was_given(record.partition, record.offset + 1)

    def assigned(self) -> list[int]:
        return [partition.partition for partition in self.consumer.assignment()]

    def rewind(self) -> None:
        for number, first in self.places:
            self.consumer.seek(TopicPartition(self.journal.topic, number), first)

    def pause(self, *, is_paused: bool) -> None:
        partitions = [TopicPartition(self.journal.topic, number) for number in self.assigned()[:1]]
        (self.consumer.pause if is_paused else self.consumer.resume)(*partitions)

    def close(self) -> None:
        self.consumer.close()


class NativeAioReader(Reader):
    def __init__(self, broker: Any, journal: Journal, group: str) -> None:
        super().__init__(broker, journal, group)
        self.runner = asyncio.Runner()

        async def make() -> Any:
            consumer = aio.Consumer(self.bootstrap, **native_settings(self))
            consumer.add_event_listener(lambda event: note_event(journal, event))
            return consumer

        self.consumer = self.runner.run(make())

    def step(self) -> None:
        for record in self.runner.run(self.consumer.poll(0.01, max_records=1000)):
            self.journal.was_given(record.partition, record.offset + 1)

    def assigned(self) -> list[int]:
        return [partition.partition for partition in self.consumer.assignment()]

    def rewind(self) -> None:
        for number, first in self.places:
            self.consumer.seek(TopicPartition(self.journal.topic, number), first)

    def pause(self, *, is_paused: bool) -> None:
        partitions = [TopicPartition(self.journal.topic, number) for number in self.assigned()[:1]]
        (self.consumer.pause if is_paused else self.consumer.resume)(*partitions)

    def close(self) -> None:
        self.runner.run(self.consumer.close())
        self.runner.close()


READERS: dict[str, Callable[[Any, Journal, str], Reader]] = {
    "poll": PollReader,
    "consume": ConsumeReader,
    "AIOConsumer": AioFacadeReader,
    "native": NativeReader,
    "native asyncio": NativeAioReader,
}


def is_all_read(journal: Journal) -> bool:
    return journal.given == {number: (number + 1) * RECORDS for number in range(PARTITIONS)}


def read_all(reader: Reader) -> None:
    """Until every partition has been read to its end."""
    patience = Patience(150)
    while not is_all_read(reader.journal):
        reader.step()
        patience.check(reader.journal.given)


def read_again(reader: Reader, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    reader.rewind()
    while time.monotonic() < deadline:
        reader.step()


@pytest.mark.parametrize("way", READERS)
def test_what_is_committed_was_returned_and_commits_come_at_their_interval(
    filled: tuple[Any, str], way: str
) -> None:
    broker, topic = filled
    journal = Journal(topic)
    reader = READERS[way](broker, journal, f"undisturbed {way}")
    try:
        while not journal.given:
            reader.step()
        commits_before = journal.commits
        began = time.monotonic()
        read_all(reader)
        committed = committed_by(broker, reader.group)
        reader.step()
        journal.check(committed)
        read_again(reader, REWINDING_SECONDS)
        seconds = time.monotonic() - began
        commits = journal.commits - commits_before
    finally:
        reader.close()
    journal.check(committed_by(broker, reader.group))
    assert commits >= LEAST_COMMITS_A_SECOND * seconds


@contextmanager
def second_member(reader: Reader) -> Iterator[None]:
    """Another member of the group, in a thread of its own, which reads for the same journal."""
    is_over = threading.Event()

    def read() -> None:
        settings = {**native_settings(reader), "group_id": reader.group}
        with Consumer(reader.bootstrap, **settings) as consumer:
            while not is_over.is_set():
                for record in consumer.poll(0.05, max_records=1000):
                    reader.journal.was_given(record.partition, record.offset + 1)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        try:
            yield
        finally:
            is_over.set()
        reading.result()


def restart(broker: Any) -> None:
    broker.kill()
    broker.start()


def step_until(reader: Reader, is_over: Callable[[], bool], chance: random.Random) -> None:
    """Reads on, with seeks and pauses at any moment."""
    patience = Patience()
    while not is_over():
        patience.check()
        reader.step()
        what = chance.random()
        if what < 0.02:
            reader.rewind()
        elif what < 0.06:
            reader.pause(is_paused=what < 0.04)


@pytest.mark.parametrize("way", READERS)
def test_nothing_is_committed_ahead_through_rebalances_seeks_pauses_and_a_broker_that_was_killed(
    filled: tuple[Any, str], way: str
) -> None:
    broker, topic = filled
    journal = Journal(topic)
    chance = random.Random(way)
    reader = READERS[way](broker, journal, f"disturbed {way}")
    try:
        while not journal.given:
            reader.step()
        with second_member(reader):
            step_until(reader, lambda: 0 < len(reader.assigned()) < PARTITIONS, chance)
        step_until(reader, lambda: len(reader.assigned()) == PARTITIONS, chance)
        with ThreadPoolExecutor(1) as pool:
            restarting = pool.submit(restart, broker)
            step_until(reader, restarting.done, chance)
            restarting.result()
        commits = journal.commits
        step_until(reader, lambda: journal.commits > commits or is_all_read(journal), chance)
        committed = committed_by(broker, reader.group)
        reader.step()
        journal.check(committed)
    finally:
        reader.close()
    journal.check(committed_by(broker, reader.group))
