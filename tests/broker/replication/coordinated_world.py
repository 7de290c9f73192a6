"""A cluster of three whose nodes are stopped, killed, paused and moved from at random, while groups commit
offsets and transactions are committed and aborted.

Owns what is known of it from outside: what was acknowledged, and what may have become of the rest.
`python -m tests.broker.replication.coordinated_world 50` runs 50 seeds, and prints a digest of all that was
sent in each.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.virtual.loop import VirtualWorld
from tests.waiting import wait_for_async

from barnabas import _kernel
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.protocol.messages.produce import ProduceRequest

from .asking import Asker, RefusedError, committed_records, settle, upset
from .cluster_of_three import ClusterOfThree, running

T = TypeVar("T")

STEPS = 60
CONFIG = {"broker.session.timeout.ms": "60"}
TOPIC = "t"
PARTITIONS = (0, 1)
GROUPS = ("one", "two", "three")
PRODUCERS = ("red", "green", "blue")
NOBODY = (-1, -1)


@dataclass
class Facts:
    """What is known from outside. `committed`: by group, what was acknowledged, or read, last; `tried`: what
    was sent last. `may_be_shown`: values of transactions that were asked to commit."""

    committed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(GROUPS, -1))
    tried: dict[str, int] = field(default_factory=lambda: dict.fromkeys(GROUPS, -1))
    may_be_shown: set[str] = field(default_factory=set[str])
    must_be_shown: set[str] = field(default_factory=set[str])


class CoordinatedWorld:
    def __init__(self, cluster: ClusterOfThree, chance: random.Random, facts: Facts) -> None:
        self.facts = facts
        self.cluster = cluster
        self._elector = ClusterOfThree(cluster.broker, cluster.directory)
        """By connections of its own, so that an election does not wait for what waits for replicas."""
        self._chance = chance
        self._asker = Asker(cluster, chance)
        self._last_shown: list[list[str]] = []
        self._is_over = False

    async def create(self) -> None:
        await self.cluster.create(TOPIC, [1, 2, 3], [2, 3, 1])

    async def live(self, copy: Path) -> Facts:
        """All at once, until nodes have been upset often enough. Then all run, and all that is open ends.

        `copy` gets what is on the disk at some moment, as a process leaves it that is killed then; what is
        known at that moment is returned.
        """
        killed_at = self._chance.randrange(STEPS)
        facts = self.facts
        actors = [asyncio.create_task(self._commit_offsets(group)) for group in GROUPS]
        actors += [asyncio.create_task(self._produce(name)) for name in PRODUCERS]
        actors.append(asyncio.create_task(self._read()))
        try:
            for step in range(STEPS):
                await self._upset()
                await asyncio.sleep(self._chance.choice((0, 0.01, 0.03)))
                if step == killed_at:
                    shutil.copytree(self.cluster.directory, copy)
                    facts = deepcopy(self.facts)
        finally:
            self._is_over = True
            await settle(self.cluster)
            await asyncio.gather(*actors)
        return facts

    def close(self) -> None:
        self._elector.close()
        self._asker.close()

    async def _upset(self) -> None:
        if self._chance.random() < 0.15:
            with contextlib.suppress(BarnabasError):
                await self._elector.elect(TOPIC, 0)
        else:
            await upset(self.cluster, self._chance)

    async def _ask(
        self, request: Any, version: int | None, code_of: Callable[[Any], int], *, tries: int = 6
    ) -> Any:
        """Raises: RefusedError; BarnabasError where no answer came."""
        return await self._asker.ask(request, version, code_of, tries=tries)

    async def _repeat(self, act: Callable[[], Awaitable[None]]) -> None:
        while not self._is_over:
            with contextlib.suppress(RefusedError, BarnabasError):
                await act()
            await asyncio.sleep(0.005)

    # Groups

    async def _commit_offsets(self, group: str) -> None:
        async def act() -> None:
            if self._chance.random() < 0.3:
                await self._look_at(group)
                return
            self.facts.tried[group] = offset = self.facts.tried[group] + 1
            partition = OffsetCommitRequest.OffsetCommitRequestPartition(0, offset)
            topic = OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=[partition])
            request = OffsetCommitRequest(group, topics=[topic])
            await self._ask(request, 8, lambda answer: answer.topics[0].partitions[0].error_code)
            self.facts.committed[group] = offset

        await self._repeat(act)

    async def _look_at(self, group: str) -> None:
        request = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=None)])
        answer = await self._ask(request, 9, lambda answer: answer.groups[0].error_code)
        topics = answer.groups[0].topics
        found = topics[0].partitions[0].committed_offset if topics else -1
        assert self.facts.committed[group] <= found <= self.facts.tried[group], group
        self.facts.committed[group] = found

    # Transactions

    async def _produce(self, name: str) -> None:
        count = 0
        producer = NOBODY

        async def act() -> None:
            nonlocal count, producer
            count += 1
            value = f"{name} {count}"
            known, producer = producer, NOBODY
            if known == NOBODY:
                begun = await self._ask(InitProducerIdRequest(name, 60_000), 5, _code)
                known = begun.producer_id, begun.producer_epoch
            for partition in PARTITIONS:
                await self._ask(
                    _record(name, known, partition, value),
                    12,
                    lambda answer: answer.responses[0].partition_responses[0].error_code,
                )
            commits = self._chance.random() < 0.6
            if commits:
                self.facts.may_be_shown.add(value)
            ended = await self._ask(EndTxnRequest(name, *known, commits), 5, _code, tries=1)
            if commits:
                self.facts.must_be_shown.add(value)
            producer = ended.producer_id, ended.producer_epoch

        await self._repeat(act)

    async def _read(self) -> None:
        async def act() -> None:
            for partition in PARTITIONS:
                assert set(await self.shown(partition)) <= self.facts.may_be_shown

        await self._repeat(act)

    async def shown(self, partition: int) -> list[str]:
        """What who reads what is committed finds in a partition."""
        return [value for _, value in await committed_records(self._asker, TOPIC, partition)]

    # In the end

    async def check(self) -> None:
        for name in PRODUCERS:
            # What is open is aborted by it.
            await self._until(lambda name=name: self._ask(InitProducerIdRequest(name, 60_000), 5, _code))
        for group in GROUPS:
            await self._until(lambda group=group: self._look_at(group))
        await wait_for_async(self._has_all, timeout=20)
        first, second = self._last_shown
        assert len(set(first)) == len(first), "a record twice"
        assert set(first) == set(second), "half a transaction"
        assert set(first) <= self.facts.may_be_shown

    async def _has_all(self) -> bool:
        # A follower that is behind may be the one that is asked: halves have to become whole.
        self._last_shown = [await self.shown(partition) for partition in PARTITIONS]
        shown = [set(found) for found in self._last_shown]
        return shown[0] == shown[1] and _holds(self.facts.must_be_shown, shown)

    async def _until(self, act: Callable[[], Awaitable[Any]]) -> None:
        async def is_done() -> bool:
            with contextlib.suppress(RefusedError, BarnabasError):
                await act()
                return True
            return False

        await wait_for_async(is_done, timeout=20)


def _holds(values: Collection[str], shown: list[set[str]]) -> bool:
    return all(value in found for found in shown for value in values)


def _code(answer: Any) -> int:
    return answer.error_code


def _record(name: str, producer: tuple[int, int], partition: int, value: str) -> ProduceRequest:
    builder = _kernel.BatchBuilder(max_bytes=1 << 16)
    builder.append(1_700_000_000_000, None, value.encode())
    batch = builder.build(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=0, is_transactional=True
    )
    data = ProduceRequest.PartitionProduceData(index=partition, records=batch)
    topics = [ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])]
    return ProduceRequest(name, acks=-1, timeout_ms=1_000, topic_data=topics)


def live(directory: Path, seed: int) -> tuple[Facts, str]:
    """One seed, and a digest of all that was sent. Raises: AssertionError."""
    chance = random.Random(seed)

    async def run(folder: Path, facts: Facts, scenario: Callable[[CoordinatedWorld], Awaitable[T]]) -> T:
        async with running(folder, CONFIG) as cluster, asyncio.timeout(120):
            with contextlib.closing(CoordinatedWorld(cluster, chance, facts)) as world:
                result = await scenario(world)
                await world.check()
                return result

    async def upset_nodes(world: CoordinatedWorld) -> Facts:
        await world.create()
        return await world.live(directory / "killed")

    async def come_back(world: CoordinatedWorld) -> None:
        """With what is on the disk."""

    async def main() -> Facts:
        facts = Facts()
        facts_of_killed = await run(directory / "first", facts, upset_nodes)
        await run(directory / "killed", facts_of_killed, come_back)
        return facts

    virtual = VirtualWorld(seed)
    return virtual.run(main), virtual.digest


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        with tempfile.TemporaryDirectory() as name:
            facts, digest = live(Path(name), seed)
        print(f"seed {seed}, {len(facts.must_be_shown)} transactions: {digest}", flush=True)
