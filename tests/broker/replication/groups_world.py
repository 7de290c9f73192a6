"""Two groups, of the classic and of the consumer protocol (KIP-848), whose members join, fall silent, vanish,
leave and commit at random while the nodes that coordinate them are stopped, killed and paused.

Owns the members, and what no group may do: have a partition consumed by two members at once, or take the
commit of a generation that is over. `python -m tests.broker.replication.groups_world 50` runs 50 seeds, and
prints a digest of all that was sent in each.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tests.virtual.loop import VirtualWorld
from tests.waiting import wait_for_async

from barnabas.broker_errors import ErrorCode
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest

from .asking import Asker, RefusedError, settle, upset
from .cluster_of_three import ClusterOfThree, running

STEPS = 20
MEMBERS = 3
TOPIC = "t"
PARTITIONS = frozenset(range(5))
SESSION_SECONDS = 6.0
# Longer than a session: whoever does not give up a partition loses its session first.
REBALANCE_MS = 30_000
BEAT_SECONDS = 1.0
CONFIG = {
    "broker.session.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}
NO_MEMBER_ANY_MORE = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
)


class Member(ABC):
    """One member after the other, as a program that is started again and again."""

    group: str

    def __init__(self, world: GroupsWorld, name: str) -> None:
        self.world = world
        self.name = name
        self.chance = random.Random(world.chance.random())
        self.asker = Asker(world.cluster, self.chance)
        self.member_id = ""
        self.generation = -1
        self.owned: frozenset[int] = frozenset()
        self.heard_at = 0.0
        """When it sent the last heartbeat that was answered."""

    async def run(self) -> None:
        while not self.world.is_over:
            self.member_id, self.generation, self.owned = "", -1, frozenset()
            with contextlib.suppress(RefusedError, BarnabasError):
                await self.live()
            self.owned = frozenset()
            await asyncio.sleep(self.chance.uniform(0.1, 2))

    @abstractmethod
    async def live(self) -> None:
        """Until it has left, or is no member any more. Raises: RefusedError, BarnabasError."""

    async def until_next_beat(self) -> bool:
        """Commits, falls silent or ends meanwhile; whether it goes on."""
        await asyncio.sleep(BEAT_SECONDS * self.chance.uniform(0.5, 1))
        if self.world.is_over:
            return False
        if self.owned and self.chance.random() < 0.3:
            await self.commit(self.chance.choice(sorted(self.owned)))
        if self.world.is_calm:
            return True
        act = self.chance.choices(("go on", "fall silent", "leave", "vanish"), weights=(30, 1, 1, 1))[0]
        if act == "fall silent":
            await asyncio.sleep(self.chance.uniform(0.5, 2) * SESSION_SECONDS)
        elif act == "leave":
            # It consumes nothing any more from here on.
            self.owned = frozenset()
            await self.leave()
        return act in ("go on", "fall silent")

    @abstractmethod
    async def leave(self) -> None: ...

    async def commit(self, partition: int) -> None:
        latest = self.world.latest_generation[self.group]
        asked = OffsetCommitRequest.OffsetCommitRequestPartition(partition, 1)
        request = OffsetCommitRequest(
            self.group,
            self.generation,
            self.member_id,
            topics=[OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=[asked])],
        )
        with contextlib.suppress(RefusedError, BarnabasError):
            await self.asker.ask(request, 9, lambda answer: answer.topics[0].partitions[0].error_code)
            self.check_commit(latest)

    @abstractmethod
    def check_commit(self, latest_generation: int) -> None:
        """After it was taken. `latest_generation`: that somebody had been given when it was sent."""

    @staticmethod
    def check_in_time(sent_at: float) -> None:
        """What a node that was paused answers at last may not hold any more. Raises: RefusedError."""
        if asyncio.get_running_loop().time() >= sent_at + SESSION_SECONDS:
            raise RefusedError(ErrorCode.REQUEST_TIMED_OUT)

    def check_alone(self) -> None:
        """Nobody else, of those that may be members yet, has what it has."""
        now = asyncio.get_running_loop().time()
        for other in self.world.members:
            if other is not self and other.group == self.group and now < other.heard_at + SESSION_SECONDS:
                shared = self.owned & other.owned
                assert not shared, f"{self.name} and {other.name} both have {sorted(shared)}"


class ClassicMember(Member):
    group = "classic"

    async def live(self) -> None:
        while True:
            try:
                await self._join()
                while await self.until_next_beat():
                    await self._beat()
                return
            except RefusedError as refused:
                if refused.code in NO_MEMBER_ANY_MORE:
                    return
                if refused.code not in (ErrorCode.REBALANCE_IN_PROGRESS, None):
                    raise

    async def _join(self) -> None:
        self.owned = frozenset()
        while True:
            request = JoinGroupRequest(
                group_id=self.group,
                session_timeout_ms=round(SESSION_SECONDS * 1000),
                rebalance_timeout_ms=REBALANCE_MS,
                member_id=self.member_id,
                protocol_type="model",
                protocols=[JoinGroupRequest.JoinGroupRequestProtocol("even", b"")],
            )
            codes: list[int] = []

            def code_of(answer: Any, codes: list[int] = codes) -> int:
                codes.append(answer.error_code)
                return 0 if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED else answer.error_code

            joined = await self.asker.ask(request, 9, code_of)
            self.member_id = joined.member_id
            if codes[-1] == 0:
                break
        self.generation = joined.generation_id
        everybody = sorted(member.member_id for member in joined.members)
        assignments = [
            SyncGroupRequest.SyncGroupRequestAssignment(
                member_id, bytes(sorted(PARTITIONS)[place :: len(everybody)])
            )
            for place, member_id in enumerate(everybody)
        ]
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="model",
            protocol_name="even",
            assignments=assignments,
        )
        sent_at = asyncio.get_running_loop().time()
        synced = await self.asker.ask(request, 5, _code)
        self.check_in_time(sent_at)
        self.owned, self.heard_at = frozenset(synced.assignment), sent_at
        self.world.told_of(self)

    async def _beat(self) -> None:
        sent_at = asyncio.get_running_loop().time()
        await self.asker.ask(HeartbeatRequest(self.group, self.generation, self.member_id), 4, _code)
        self.heard_at = sent_at

    async def leave(self) -> None:
        identity = LeaveGroupRequest.MemberIdentity(self.member_id)
        await self.asker.ask(LeaveGroupRequest(self.group, members=[identity]), 5, _code)

    def check_commit(self, latest_generation: int) -> None:
        assert self.generation >= latest_generation, f"{self.name} committed in {self.generation}"


class ConsumerMember(Member):
    group = "consumer"

    async def live(self) -> None:
        self.member_id = f"{self.name}-{self.chance.getrandbits(32)}"
        self.generation = 0
        await self._beat(is_first=True)
        while await self.until_next_beat():
            try:
                await self._beat()
            except RefusedError as refused:
                if refused.code is not None:
                    raise

    async def _beat(self, *, is_first: bool = False) -> None:
        topic_id = self.world.topic_id
        owned = [ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id, sorted(self.owned))]
        request = ConsumerGroupHeartbeatRequest(
            self.group,
            self.member_id,
            self.generation,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[TOPIC],
            server_assignor="uniform",
            topic_partitions=owned if self.owned else [],
        )
        sent_at = asyncio.get_running_loop().time()
        answer = await self.asker.ask(request, 0, _code, tries=60 if is_first else 6)
        self.check_in_time(sent_at)
        self.heard_at = sent_at
        self.generation = answer.member_epoch
        if answer.assignment is not None:
            self.owned = frozenset(
                index for topic in answer.assignment.topic_partitions for index in topic.partitions
            )
            self.check_alone()

    async def leave(self) -> None:
        await self.asker.ask(ConsumerGroupHeartbeatRequest(self.group, self.member_id, -1), 0, _code)

    def check_commit(self, latest_generation: int) -> None:
        """A member may be an epoch behind others, and commit."""


class GroupsWorld:
    """`is_calm`: members go on from here, and nodes stay; `is_over`: all end."""

    def __init__(self, cluster: ClusterOfThree, chance: random.Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.is_calm = self.is_over = False
        self.topic_id: Any = None
        self.latest_generation = {"classic": -1, "consumer": -1}
        self._owners: dict[int, dict[int, str]] = {}
        """Of the classic group: by generation, who was given which partition."""
        self.members: list[Member] = [
            kind(self, f"{kind.group}-{number}")
            for kind in (ClassicMember, ConsumerMember)
            for number in range(MEMBERS)
        ]

    def told_of(self, member: ClassicMember) -> None:
        """Of an assignment of a generation."""
        self.latest_generation[member.group] = max(self.latest_generation[member.group], member.generation)
        owners = self._owners.setdefault(member.generation, {})
        for partition in member.owned:
            owner = owners.setdefault(partition, member.member_id)
            assert owner == member.member_id, f"two have partition {partition} in {member.generation}"

    async def live(self) -> None:
        await self.cluster.create(TOPIC, *[[1, 2, 3]] * len(PARTITIONS))
        self.topic_id = self.cluster.broker._parts.cluster.topic(TOPIC).topic_id  # pyright: ignore
        tasks = [asyncio.create_task(member.run()) for member in self.members]
        try:
            for _ in range(STEPS):
                await upset(self.cluster, self.chance)
                await asyncio.sleep(self.chance.choice((0.01, 1, 5)))
            await settle(self.cluster)
            self.is_calm = True
            await wait_for_async(lambda: all(map(self._is_settled, self.latest_generation)), timeout=120)
        finally:
            self.is_over = True
            await settle(self.cluster)
            await asyncio.gather(*tasks)

    def _is_settled(self, group: str) -> bool:
        """Each partition has one owner, and all are of one generation."""
        members = [member for member in self.members if member.group == group]
        owned = sorted(partition for member in members for partition in member.owned)
        return owned == sorted(PARTITIONS) and len({member.generation for member in members}) == 1

    def close(self) -> None:
        for member in self.members:
            member.asker.close()


def _code(answer: Any) -> int:
    return answer.error_code


def live(directory: Path, seed: int) -> str:
    """One seed; a digest of all that was sent. Raises: AssertionError."""

    async def main() -> None:
        async with running(directory, CONFIG) as cluster, asyncio.timeout(1000):
            with contextlib.closing(GroupsWorld(cluster, random.Random(seed))) as world:
                await world.live()

    virtual = VirtualWorld(seed)
    virtual.run(main)
    return virtual.digest


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        with tempfile.TemporaryDirectory() as name:
            print(f"seed {seed}: {live(Path(name), seed)}", flush=True)
