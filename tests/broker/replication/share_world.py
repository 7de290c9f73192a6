"""A share group whose members take records, accept, reject, release or forget them, fall silent and vanish at
random, while the nodes that lead the topic and keep the group's state are stopped, killed and paused.

Owns what is known from outside: a record whose acknowledgement was answered is never given out again, none is
with two members at once, and each that was written is given out. `python -m
tests.broker.replication.share_world 50` runs 50 seeds, and prints a digest of all that was sent in each.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.virtual.loop import VirtualWorld
from tests.waiting import wait_for_async

from barnabas.errors import BarnabasError
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.protocol.messages.share_fetch import ShareFetchRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

from .asking import NODES, Asker, RefusedError, settle, upset
from .cluster_of_three import ClusterOfThree, running

STEPS = 30
MEMBERS = 3
TOPIC, GROUP = "t", "shared"
LOCK_SECONDS = 5.0
ACCEPT, RELEASE, REJECT = 1, 2, 3
FINAL = (ACCEPT, REJECT)
CONFIG = {
    "broker.session.timeout.ms": "3000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "5000",
    "group.share.delivery.count.limit": "10",
}


@dataclass
class Held:
    """Records that a member was given. `sent_at`: when it asked for them."""

    offsets: range
    sent_at: float
    leader_epoch: int


class Member:
    """One member after the other, as a program that is started again and again."""

    def __init__(self, world: ShareWorld, name: str) -> None:
        self.world = world
        self.name = name
        self.chance = random.Random(world.chance.random())
        self.held: list[Held] = []
        self._asker = Asker(world.cluster, self.chance)
        self._cluster = ClusterOfThree(world.cluster.broker, world.cluster.directory)
        self._member_id = ""
        self._session: tuple[int, int] | None = None
        """The node and the next epoch."""

    async def run(self) -> None:
        while not self.world.is_over:
            self._member_id = f"{self.name}-{self.chance.getrandbits(32)}"
            with contextlib.suppress(RefusedError, BarnabasError):
                await self._live()
            self._forget()
            await asyncio.sleep(self.chance.uniform(0.1, 1))

    def close(self) -> None:
        self._asker.close()
        self._cluster.close()

    def _forget(self) -> None:
        """The connection ends, and the broker gives what it has to others."""
        self.held.clear()
        self._session = None
        self._cluster.close()
        self._cluster = ClusterOfThree(self.world.cluster.broker, self.world.cluster.directory)

    async def _live(self) -> None:
        epoch = 0
        while not self.world.is_over:
            beat = ShareGroupHeartbeatRequest(GROUP, self._member_id, epoch, subscribed_topic_names=[TOPIC])
            epoch = (await self._asker.ask(beat, 1, lambda answer: answer.error_code)).member_epoch
            for _ in range(self.chance.randint(1, 3)):
                try:
                    await self._fetch()
                    await self._acknowledge()
                except (RefusedError, BarnabasError):
                    self._forget()
                await asyncio.sleep(self.chance.uniform(0.05, 0.3))
            if not self.world.is_calm:
                act = self.chance.choices(("go on", "fall silent", "vanish"), weights=(20, 1, 1))[0]
                if act == "fall silent":
                    await asyncio.sleep(self.chance.uniform(0.5, 2) * LOCK_SECONDS)
                elif act == "vanish":
                    return

    def _epoch_at(self, leader: int) -> int:
        if self._session is None or self._session[0] != leader:
            self._session = leader, 0
        return self._session[1]

    async def _ask(self, request: Any, leader: int) -> Any:
        answer = await self._cluster.ask(leader, request)
        if answer.error_code:
            raise RefusedError(answer.error_code)
        assert self._session is not None
        self._session = leader, self._session[1] + 1
        return answer

    async def _fetch(self) -> None:
        world = self.world
        leader, leader_epoch = world.leader()
        if leader not in NODES:
            return
        if self._session is not None and self._session[0] != leader:
            self._forget()
        topic = ShareFetchRequest.FetchTopic(world.topic_id, [ShareFetchRequest.FetchPartition(0)])
        epoch = self._epoch_at(leader)
        request = ShareFetchRequest(
            group_id=GROUP,
            member_id=self._member_id,
            share_session_epoch=epoch,
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=self.chance.choice((1, 3, 10)),
            batch_size=3,
            topics=[topic] if epoch == 0 else [],
        )
        sent_at = world.now()
        answer = await self._ask(request, leader)
        for found in answer.responses:
            for partition in found.partitions:
                if partition.error_code:
                    raise RefusedError(partition.error_code)
                for acquired in partition.acquired_records:
                    offsets = range(acquired.first_offset, acquired.last_offset + 1)
                    self.held.append(Held(offsets, sent_at, leader_epoch))
                    world.given(self, self.held[-1])

    async def _acknowledge(self) -> None:
        """Some of what it has, in one of the ways there are; the rest it keeps until its lock ends."""
        self.held = [each for each in self.held if self.world.now() < each.sent_at + LOCK_SECONDS]
        if not self.held or (not self.world.is_calm and self.chance.random() < 0.15):
            return
        leader, _ = self.world.leader()
        if self._session is None or self._session[0] != leader:
            self.held.clear()
            return
        kind = ACCEPT if self.world.is_calm else self.chance.choices((ACCEPT, RELEASE, REJECT), (8, 3, 1))[0]
        held, self.held = self.held, []
        batches = [
            ShareAcknowledgeRequest.AcknowledgementBatch(each.offsets[0], each.offsets[-1], [kind])
            for each in held
        ]
        partition = ShareAcknowledgeRequest.AcknowledgePartition(0, batches)
        request = ShareAcknowledgeRequest(
            group_id=GROUP,
            member_id=self._member_id,
            share_session_epoch=self._session[1],
            topics=[ShareAcknowledgeRequest.AcknowledgeTopic(self.world.topic_id, [partition])],
        )
        answer = await self._ask(request, leader)
        codes = [partition.error_code for topic in answer.responses for partition in topic.partitions]
        if codes == [0] and kind in FINAL:
            self.world.acknowledged([each.offsets for each in held])


@dataclass
class Facts:
    """What is known from outside: offsets that were acknowledged by the topic's leader, that were given to a
    member, and that a member accepted or rejected, which was answered."""

    written: set[int] = field(default_factory=set[int])
    given: set[int] = field(default_factory=set[int])
    acknowledged: set[int] = field(default_factory=set[int])


class ShareWorld:
    """`is_calm`: nodes stay, and members accept what they get; `is_over`: all end."""

    def __init__(self, cluster: ClusterOfThree, chance: random.Random, facts: Facts) -> None:
        self.facts = facts
        self.cluster = cluster
        self.chance = chance
        self.is_calm = self.is_over = False
        self.topic_id: Any = None
        self._last_given_at = 0.0
        self._members = [Member(self, f"member-{number}") for number in range(MEMBERS)]

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def leader(self) -> tuple[int, int]:
        """Who leads the topic, and in which epoch."""
        partition = self.cluster.broker._parts.cluster.topic(TOPIC).partitions[0]  # pyright: ignore
        return partition.registration.leader, partition.registration.leader_epoch

    def given(self, member: Member, held: Held) -> None:
        again = self.facts.acknowledged.intersection(held.offsets)
        assert not again, f"{member.name} was given {sorted(again)}, which were acknowledged"
        self.facts.given.update(held.offsets)
        self._last_given_at = self.now()
        for other in self._members:
            for theirs in other.held if other is not member else ():
                if theirs.leader_epoch == held.leader_epoch and self.now() < theirs.sent_at + LOCK_SECONDS:
                    shared = set(theirs.offsets).intersection(held.offsets)
                    assert not shared, f"{other.name} and {member.name} both have {sorted(shared)}"

    def acknowledged(self, offsets: Sequence[range]) -> None:
        self.facts.acknowledged.update(offset for each in offsets for offset in each)

    async def create(self) -> None:
        """The topic, and the group's setting that it begins with the first record."""
        await self.cluster.create(TOPIC, [1, 2, 3])
        await self.cluster.set_group(GROUP, "share.auto.offset.reset", "earliest")

    async def live(self, upset_nodes: Callable[[], Awaitable[None]]) -> None:
        """Until nodes have been upset, and then all was given to somebody."""
        self.topic_id = self.cluster.broker._parts.cluster.topic(TOPIC).topic_id  # pyright: ignore
        tasks = [asyncio.create_task(member.run()) for member in self._members]
        tasks.append(asyncio.create_task(self._write()))
        try:
            await upset_nodes()
            await settle(self.cluster)
            self.is_calm = True
            await wait_for_async(self._is_settled, timeout=300)
        finally:
            self.is_over = True
            await settle(self.cluster)
            await asyncio.gather(*tasks)

    async def _write(self) -> None:
        count = 0
        while not self.is_calm and not self.is_over:
            leader, _ = self.leader()
            if leader in NODES:
                with contextlib.suppress(BarnabasError):
                    answer = await self.cluster.produce(leader, TOPIC, f"record {count}", timeout_ms=500)
                    if answer.error_code == 0:
                        self.facts.written.add(answer.base_offset)
            count += 1
            await asyncio.sleep(self.chance.uniform(0.05, 0.3))

    def _is_settled(self) -> bool:
        """All that was written was given to somebody, and nothing is given any more."""
        return self.facts.written <= self.facts.given and self.now() > self._last_given_at + 4 * LOCK_SECONDS

    def close(self) -> None:
        for member in self._members:
            member.close()


def live(directory: Path, seed: int) -> str:
    """One seed; a digest of all that was sent. A second cluster goes on with what was on the disk at some
    moment, as a process leaves it that is killed then. Raises: AssertionError."""
    chance = random.Random(seed)

    async def run(folder: Path, facts: Facts, scenario: Callable[[ShareWorld], Awaitable[None]]) -> None:
        async with running(folder, CONFIG) as cluster, asyncio.timeout(2000):
            with contextlib.closing(ShareWorld(cluster, chance, facts)) as world:
                await scenario(world)

    async def main() -> None:
        killed_at = chance.randrange(STEPS)
        facts = facts_of_killed = Facts()

        async def first(world: ShareWorld) -> None:
            async def upset_nodes() -> None:
                nonlocal facts_of_killed
                for step in range(STEPS):
                    await upset(world.cluster, chance)
                    await asyncio.sleep(chance.choice((0.01, 0.5, 2)))
                    if step == killed_at:
                        shutil.copytree(directory / "first", directory / "killed")
                        facts_of_killed = deepcopy(facts)

            await world.create()
            await world.live(upset_nodes)

        async def second(world: ShareWorld) -> None:
            async def upset_none() -> None:
                """Nodes stay."""

            await world.live(upset_none)

        await run(directory / "first", facts, first)
        await run(directory / "killed", facts_of_killed, second)

    virtual = VirtualWorld(seed)
    virtual.run(main)
    return virtual.digest


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        with tempfile.TemporaryDirectory() as name:
            print(f"seed {seed}: {live(Path(name), seed)}", flush=True)
