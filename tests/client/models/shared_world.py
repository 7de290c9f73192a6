"""A producer, and share consumers that accept, reject, release and renew records, cancel calls and are
replaced. A record whose acceptance the broker confirmed is not delivered again, and the group finishes all.

`python -m tests.client.models.shared_world 50` runs 50 seeds, and prints a digest of all that was sent in
each.
"""

from __future__ import annotations

import asyncio
import contextlib

from barnabas.aio import Admin, Producer, ShareConsumer
from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition

from .stage import Stage, show

STEPS = 20
TOPIC = "t"
GROUP = "shared"
# A client counts a lock from the answer that brings it, which may come as late as a bad answer is delayed.
MOST_SECONDS_LATE = 21
Place = tuple[int, int]


class SharedWorld:
    """A place is a partition and an offset."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._chance = stage.chance
        self.acknowledged: set[Place] = set()
        """What producers were told is there."""
        self.finished: set[Place] = set()
        """What a consumer tried to accept or reject."""
        self.confirmed: dict[Place, float] = {}
        """When the broker confirmed that a record was accepted or rejected."""
        self._is_writing = True

    async def live(self) -> None:
        stage = self._stage
        await stage.cluster.create(TOPIC, [1, 2, 3], [2, 3, 1], min_insync_replicas="2")
        await stage.cluster.set_group(GROUP, "share.auto.offset.reset", "earliest")
        stage.start("writer", self._write())
        for number in range(3):
            stage.start(f"reader {number}", self._read(f"reader {number}"))
        async with Admin(stage.bootstrap_servers) as admin:
            await stage.live(STEPS, lambda: self._is_worked_off(admin), parts_hosts=False)
        assert self.acknowledged <= self.finished

    async def _write(self) -> None:
        async with Producer(self._stage.bootstrap_servers, linger_ms=5) as producer:
            while not self._stage.is_calm:
                with contextlib.suppress(BarnabasError):
                    metadata = await (await producer.send(TOPIC, b"value"))
                    self.acknowledged.add((metadata.partition, metadata.offset))
                await self._stage.pause()
        self._is_writing = False

    async def _read(self, host: str) -> None:
        while not self._stage.is_over:
            await self._read_a_while(host)

    async def _read_a_while(self, host: str) -> None:
        is_explicit = self._chance.random() < 0.6
        final: set[Place] = set()
        """What this consumer accepts or rejects."""
        loop = asyncio.get_running_loop()

        def confirm(partition: TopicPartition, offsets: frozenset[int], error: BarnabasError | None) -> None:
            if error is None:
                for offset in offsets:
                    place = (partition.partition, offset)
                    if place in final:
                        self.confirmed[place] = loop.time()

        consumer = ShareConsumer(
            self._stage.bootstrap_servers,
            group_id=GROUP,
            topics=[TOPIC],
            share_acknowledgement_mode="explicit" if is_explicit else "implicit",
            client_id=host,
        )
        consumer.set_acknowledgement_commit_callback(confirm)
        rounds = self._chance.choice((5, 50, 500))
        async with consumer:
            while not self._stage.is_over and (rounds or self._stage.is_calm):
                rounds = max(0, rounds - 1)
                with contextlib.suppress(BarnabasError, TimeoutError):
                    async with self._stage.patience():
                        records = await consumer.poll(
                            self._chance.choice((0.01, 0.1, 1)), self._chance.choice((1, 7, None))
                        )
                        for record in records:
                            place = (record.partition, record.offset)
                            confirmed_at = self.confirmed.get(place, loop.time())
                            assert loop.time() - confirmed_at <= MOST_SECONDS_LATE, (
                                f"{place} again, at {host}"
                            )
                            # Few are left to be archived after the tenth delivery.
                            what = self._chance.choices(
                                ("accept", "reject", "release", "renew"), (20, 2, 1, 1)
                            )[0]
                            if not is_explicit or what in ("accept", "reject"):
                                final.add(place)
                                self.finished.add(place)
                            if is_explicit:
                                consumer.acknowledge(record, what)
                    async with self._stage.patience():
                        if self._chance.random() < 0.3:
                            await consumer.commit()
                await self._stage.pause()

    async def _is_worked_off(self, admin: Admin) -> bool:
        if self._is_writing:
            return False
        standing = (await admin.list_share_group_offsets({GROUP: None}))[GROUP]
        lags = {partition.partition: known.lag for partition, known in standing.items()}
        return all(lags.get(partition) == 0 for partition, _ in self.acknowledged)


if __name__ == "__main__":
    show(SharedWorld)
