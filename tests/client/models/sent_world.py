"""Producers send and a group reads, and both cancel calls now and then. What is acknowledged is stored once
and in order, each record has one delivery report, and the group reads all records without a gap.

`python -m tests.client.models.sent_world 50` runs 50 seeds, and prints a digest of all that was sent in each.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from functools import partial
from typing import Any

from barnabas.aio import Admin, Consumer, Producer
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition

from .stage import Stage, membership, show

STEPS = 20
TOPIC = "t"
GROUP = "readers"


class SentWorld:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._chance = stage.chance
        self.acknowledged: dict[tuple[int, int], str] = {}
        """By partition and offset."""
        self.sent: dict[str, list[str]] = {}
        """By producer: what it sent, in that order."""
        self.taken: set[str] = set()
        """What producers took."""
        self.told: Counter[str] = Counter()
        """Delivery reports of each record."""
        self.read: dict[TopicPartition, dict[int, str]] = defaultdict(dict)
        """By the group: offsets and values."""
        self._membership = membership(self._chance)
        self._writing = 0
        """How many producers have not ended."""

    async def live(self) -> None:
        stage = self._stage
        await stage.cluster.create(TOPIC, [1, 2, 3], [2, 3, 1], [3, 1, 2], min_insync_replicas="2")
        for number in range(2):
            self._writing += 1
            stage.start(f"writer {number}", self._write(f"writer {number}"))
        for number in range(3):
            stage.start(f"reader {number}", self._read(f"reader {number}"))
        stage.start("administrator", self._add_partitions())
        await stage.live(STEPS, self._has_read_all)
        await self._check()

    # Producers

    async def _write(self, host: str) -> None:
        life = 0
        while not self._stage.is_calm:
            life += 1
            await self._write_a_while(f"{host}.{life}")
        self._writing -= 1

    async def _write_a_while(self, name: str) -> None:
        sent = self.sent[name] = []
        settings: dict[str, Any] = {
            "linger_ms": self._chance.choice((0, 5, 100)),
            "batch_size": self._chance.choice((200, 16_384)),
            "client_id": name,
        }
        async with Producer(self._stage.bootstrap_servers, **settings) as producer:
            for _ in range(self._chance.choice((1, 20, 200))):
                if self._stage.is_calm:
                    return
                value = f"{name} {len(sent)}"
                sent.append(value)
                # Whatever is raised, the record may have been stored.
                with contextlib.suppress(BarnabasError, TimeoutError):
                    async with self._stage.patience():
                        delivery = await producer.send(
                            TOPIC,
                            value.encode(),
                            partition=self._chance.choice((None, 0, 1, 2)),
                            on_delivery=partial(self._decided, value),
                        )
                        self.taken.add(value)
                    async with self._stage.patience():
                        if self._chance.random() < 0.1:
                            await delivery
                await self._stage.pause()

    def _decided(self, value: str, error: Any, metadata: Any) -> None:
        self.told[value] += 1
        if error is None:
            place = (metadata.partition, metadata.offset)
            assert place not in self.acknowledged, f"{value} and {self.acknowledged[place]} at {place}"
            self.acknowledged[place] = value

    async def _add_partitions(self) -> None:
        async with Admin(self._stage.bootstrap_servers) as admin:
            for total in (4, 5):
                await asyncio.sleep(self._chance.choice((1, 60)))
                with contextlib.suppress(BarnabasError):
                    await admin.create_partitions({TOPIC: total})

    # The group

    async def _read(self, host: str) -> None:
        while not self._stage.is_over:
            await self._read_a_while(host)

    async def _read_a_while(self, host: str) -> None:
        expected: dict[TopicPartition, int] = {}

        def forget(partitions: list[TopicPartition]) -> None:
            for partition in partitions:
                expected.pop(partition, None)

        commits_by_itself = self._chance.random() < 0.5
        consumer = Consumer(
            self._stage.bootstrap_servers,
            group_id=GROUP,
            group_instance_id=self._chance.choice((None, None, host)),
            auto_offset_reset="earliest",
            enable_auto_commit=commits_by_itself,
            max_poll_interval_ms=self._chance.choice((5_000, 300_000)),
            metadata_max_age_ms=10_000,
            client_id=host,
            **self._membership,
        )
        rounds = self._chance.choice((5, 50, 500))
        async with consumer:
            consumer.subscribe([TOPIC], on_assigned=forget, on_revoked=forget, on_lost=forget)
            while not self._stage.is_over and (rounds or self._stage.is_calm):
                rounds = max(0, rounds - 1)
                with contextlib.suppress(BarnabasError, TimeoutError):
                    found: list[tuple[TopicPartition, int, str]] = []
                    async with self._stage.patience():
                        found = await self._some_of(consumer)
                    for partition, offset, value in found:
                        after = expected.get(partition)
                        assert after in (None, offset), (host, partition, after, offset)
                        expected[partition] = offset + 1
                        assert self.read[partition].setdefault(offset, value) == value
                    async with self._stage.patience():
                        if not commits_by_itself and found:
                            await consumer.commit()
                await self._stage.pause()

    async def _some_of(self, consumer: Consumer) -> list[tuple[TopicPartition, int, str]]:
        """Partition, offset and value of the next records. Raises: BarnabasError."""
        timeout = self._chance.choice((0.01, 0.1, 1))
        limit = self._chance.choice((1, 7, 500))
        if self._chance.random() < 0.3:
            batch = await consumer.poll_arrow(timeout, limit)
            return [
                (TopicPartition(row["topic"], row["partition"]), row["offset"], row["value"].decode())
                for row in batch.to_pylist()
            ]
        if self._chance.random() < 0.2:
            record = await consumer.poll_one(timeout)
            records = [] if record is None else [record]
        else:
            records = await consumer.poll(timeout, limit)
        return [
            (TopicPartition(record.topic, record.partition), record.offset, (record.value or b"").decode())
            for record in records
        ]

    def _has_read_all(self) -> bool:
        return not self._writing and all(
            offset in self.read[TopicPartition(TOPIC, partition)] for partition, offset in self.acknowledged
        )

    # In the end

    async def _check(self) -> None:
        assert self.taken <= self.told.keys(), "a record without a delivery report"
        assert set(self.told.values()) == {1}
        known = {value for sent in self.sent.values() for value in sent}
        for partition in {partition for partition, _ in self.acknowledged}:
            log = await self._stage.log_of(TOPIC, partition)
            values = [value for _, value in log]
            assert len(set(values)) == len(values), "a record twice"
            assert known.issuperset(values)
            at = dict(log)
            for (where, offset), value in self.acknowledged.items():
                assert where != partition or at.get(offset) == value, (value, partition, offset)
            for offset, value in self.read[TopicPartition(TOPIC, partition)].items():
                assert at.get(offset) == value
            for name, sent in self.sent.items():
                own = [value for value in values if value.startswith(f"{name} ")]
                assert own == [value for value in sent if value in set(own)], f"{name}: out of order"


if __name__ == "__main__":
    show(SentWorld)
