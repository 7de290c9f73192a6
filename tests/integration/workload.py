"""Producers and a consumer group at work, which note all they see for `history` to judge.

Owns the load. What happens to the brokers meanwhile is the caller's.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import confluent_kafka
from tests.integration.history import History, Log, Ownership, Stored

from barnabas import NewTopic, TopicPartition, aio
from barnabas.errors import BarnabasError

PARTITIONS = 6
PRODUCER_SECONDS = 4.0


class Workload:
    """Writes numbered records to each partition of a new topic, and reads them in a group.

    `records_per_second` of each of two producers. `group_protocol` as the Consumer's setting.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        group_protocol: Any = "classic",
        members: int = 3,
        records_per_second: int = 400,
    ) -> None:
        self.bootstrap = bootstrap
        self.topic = f"chaos-{uuid.uuid4().hex[:8]}"
        self.history = History()
        self._group_protocol = group_protocol
        self._records_per_second = records_per_second
        self._member_count = members
        self._member_numbers = itertools.count(1)
        self._producer_numbers = itertools.count(1)
        self._read: set[tuple[int, int]] = set()
        self._has_read = asyncio.Event()

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        """Two producers send all the while, and give way to new ones every few seconds; on leaving, all that
        was sent is acknowledged, or has failed."""
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(self._keep_producing(stop))
            try:
                yield
            finally:
                stop.set()

    @contextlib.asynccontextmanager
    async def consuming(self, churn_seed: int | None = None) -> AsyncIterator[None]:
        """Members read all the while. With `churn_seed`, every few seconds one leaves and another joins."""
        members = [_Member(self) for _ in range(self._member_count)]
        async with asyncio.TaskGroup() as tasks:
            for member in members:
                tasks.create_task(member.run())
            churn = None
            if churn_seed is not None:
                churn = tasks.create_task(self._churn(members, tasks, random.Random(churn_seed)))
            try:
                yield
            finally:
                if churn is not None:
                    churn.cancel()
                for member in members:
                    member.stop()

    async def create_topic(self) -> None:
        async with aio.Admin(self.bootstrap) as admin:
            await admin.create_topics([NewTopic(self.topic, PARTITIONS)])

    async def wait_until_read(self, log: Log, timeout: float) -> None:
        """Waits until members have read all of `log`, at most `timeout` seconds: `history` tells the rest."""
        wanted = {(partition, offset) for partition, rows in log.items() for offset, _ in rows}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not wanted <= self._read:
                    self._has_read.clear()
                    await self._has_read.wait()

    async def wait_until_owned(self, timeout: float) -> float:
        """The seconds until each partition has an owner; fails the run when that takes above `timeout`."""
        begin = time.monotonic()
        while True:
            owned = {ownership.partition for ownership in self.history.ownerships if ownership.end is None}
            if len(owned) == PARTITIONS:
                return time.monotonic() - begin
            if time.monotonic() - begin > timeout:
                missing = sorted(set(range(PARTITIONS)) - owned)
                self.history.surprises.append(f"partitions {missing} have no owner after {timeout} s")
                return time.monotonic() - begin
            await asyncio.sleep(0.02)

    def note_consumed(self, record: Stored) -> None:
        self.history.consumed.append(record)
        self._read.add((record.partition, record.offset))
        self._has_read.set()

    def next_member_name(self) -> str:
        return f"member-{next(self._member_numbers)}"

    def make_consumer(self) -> aio.Consumer:
        settings: dict[str, Any] = {"group_protocol": self._group_protocol}
        if self._group_protocol == "classic":
            settings |= {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 500}
        return aio.Consumer(
            self.bootstrap,
            group_id=self.topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            request_timeout_ms=5_000,
            **settings,
        )

    async def _keep_producing(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            end = time.monotonic() + PRODUCER_SECONDS
            await self._produce(f"p{next(self._producer_numbers)}", stop, end)

    async def _produce(self, name: str, stop: asyncio.Event, end: float) -> None:
        """One producer's life: it sends until `stop` or `end`, and waits for all its acknowledgements."""
        history = self.history

        def note(value: bytes, error: BarnabasError | None, metadata: Any) -> None:
            if error is None:
                history.acknowledged.append(Stored(metadata.partition, metadata.offset, value))
            else:
                history.failed.append((value, f"{type(error).__name__}: {error}"))

        async with aio.Producer(
            self.bootstrap, linger_ms=5, request_timeout_ms=3_000, delivery_timeout_ms=90_000
        ) as producer:
            begin = time.monotonic()
            number = 0
            while not stop.is_set() and time.monotonic() < end:
                while number < (time.monotonic() - begin) * self._records_per_second:
                    # Numbered over all partitions: in each, the numbers of one producer go up.
                    value = f"{name}:{number}".encode()
                    await producer.send(
                        self.topic,
                        value,
                        partition=number % PARTITIONS,
                        on_delivery=lambda error, metadata, value=value: note(value, error, metadata),
                    )
                    number += 1
                await asyncio.sleep(0.02)
            await producer.flush(120)

    async def _churn(self, members: list[_Member], tasks: asyncio.TaskGroup, chance: random.Random) -> None:
        while True:
            await asyncio.sleep(chance.uniform(2.0, 5.0))
            members.pop(chance.randrange(len(members))).stop()
            joining = _Member(self)
            members.append(joining)
            tasks.create_task(joining.run())


class _Member:
    """One consumer of the group. It commits after each poll, what that poll returned."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._name = workload.next_member_name()
        self._owned: dict[int, Ownership] = {}
        self._is_stopping = False

    def stop(self) -> None:
        self._is_stopping = True

    async def run(self) -> None:
        async with self._workload.make_consumer() as consumer:
            self._consumer = consumer
            consumer.subscribe(
                [self._workload.topic],
                on_assigned=self._assigned,
                on_revoked=lambda partitions: self._ended(partitions, "revoked"),
                on_lost=lambda partitions: self._ended(partitions, "lost"),
            )
            while not self._is_stopping:
                records = await consumer.poll(0.1)
                for record in records:
                    self._workload.note_consumed(Stored(record.partition, record.offset, record.value or b""))
                    self._owned[record.partition].offsets.append(record.offset)
                if records:
                    await self._commit()

    async def _commit(self) -> None:
        try:
            await self._consumer.commit(timeout=20)
        except BarnabasError as error:
            # Another member may have the partitions by now, and reads on from the last commit.
            self._workload.history.commit_errors.append(f"{self._name}: {type(error).__name__}: {error}")

    def _assigned(self, partitions: list[TopicPartition]) -> None:
        generation = self._consumer.group_metadata().generation
        for _, partition in partitions:
            ownership = Ownership(self._name, partition, generation, time.monotonic())
            self._owned[partition] = ownership
            self._workload.history.ownerships.append(ownership)

    def _ended(self, partitions: list[TopicPartition], how: Any) -> None:
        for _, partition in partitions:
            ownership = self._owned.pop(partition)
            ownership.end, ownership.ended_by = time.monotonic(), how


def read_log(bootstrap: str, topic: str, *, committed_only: bool = True, timeout: float = 60.0) -> Log:
    """All that stands in a topic, as confluent-kafka reads it."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
            "isolation.level": "read_committed" if committed_only else "read_uncommitted",
        }
    )
    deadline = time.monotonic() + timeout
    try:
        partitions = consumer.list_topics(topic, timeout=timeout).topics[topic].partitions
        log: dict[int, list[tuple[int, bytes]]] = {partition: [] for partition in partitions}
        beginning = confluent_kafka.OFFSET_BEGINNING
        consumer.assign([confluent_kafka.TopicPartition(topic, number, beginning) for number in partitions])
        unfinished = set(partitions)
        while unfinished:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{topic} was not read within {timeout} s, partitions {unfinished} are left"
                )
            for message in consumer.consume(10_000, 0.1):
                error = message.error()
                if error is None:
                    log[message.partition()].append((message.offset(), message.value()))
                elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    unfinished.discard(message.partition())
    finally:
        consumer.close()
    return log
