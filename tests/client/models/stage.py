"""Clients on hosts of their own before a cluster of three, while nodes stop, are killed, pause and are parted
from the others, and hosts lose their connections or are parted from the cluster.

Owns what happens to nodes and hosts. What clients do, and what must be so, is the models'.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.broker.replication.asking import Asker, committed_records, part_or_join, settle, upset
from tests.broker.replication.cluster_of_three import ClusterOfThree, running
from tests.virtual.loop import HERE, VirtualWorld
from tests.waiting import Patience

from .bad_answers import bad_answer

CONFIG = {
    "broker.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "group.share.delivery.count.limit": "10",
}
# Seconds between two things that happen: enough for nothing, or for time-outs and sessions to end.
PAUSES_SECONDS = (0, 0, 0.02, 0.1, 0.5, 2, 10, 45)
# Clients wait for no more than 120 s for anything (delivery_timeout_ms).
MOST_SECONDS_TO_RECOVER = 300


class Stage:
    def __init__(self, virtual: VirtualWorld, cluster: ClusterOfThree, chance: random.Random) -> None:
        self.virtual = virtual
        self.cluster = cluster
        self.chance = chance
        self.is_calm = False
        """Whether nothing happens any more. Clients begin nothing new then."""
        self.is_over = False
        """Whether clients are to come to an end."""
        self._hosts: dict[str, asyncio.Task[None]] = {}
        self._asker = Asker(cluster, chance)
        ports = [self.cluster.broker.nodes[node].port for node in (1, 2, 3)]
        self.bootstrap_servers = ",".join(f"127.0.0.1:{port}" for port in ports)

    def start(self, host: str, work: Coroutine[Any, Any, None]) -> None:
        """Has a host do this."""
        place = HERE.set(host)
        self._hosts[host] = asyncio.create_task(work, name=host)
        HERE.reset(place)

    async def live(
        self, steps: int, is_done: Callable[[], Awaitable[bool] | bool], *, parts_hosts: bool = True
    ) -> None:
        """Things happen; then all is well again. When clients are done, hosts come to an end.

        Raises: what hosts raise; pytest's failure where clients are not done in time.
        """
        for _ in range(steps):
            await self._step(parts_hosts)
            await asyncio.sleep(self.chance.choice(PAUSES_SECONDS))
            self._check_hosts()
        self.cluster.broker.faults.clear()
        await settle(self.cluster)
        for host in self._hosts:
            self.virtual.network.join(host)
        self.is_calm = True
        patience = Patience(MOST_SECONDS_TO_RECOVER)
        while not await self._is_done(is_done):
            patience.check("clients are not done")
            await asyncio.sleep(1)
        self.is_over = True
        await asyncio.gather(*self._hosts.values())

    async def _is_done(self, is_done: Callable[[], Awaitable[bool] | bool]) -> bool:
        self._check_hosts()
        outcome = is_done()
        return outcome if isinstance(outcome, bool) else await outcome

    def _check_hosts(self) -> None:
        for task in self._hosts.values():
            if task.done():
                task.result()

    async def _step(self, parts_hosts: bool) -> None:
        act = self.chance.choices(
            ("nodes", "parting", "answer", "cut", "part", "join"), weights=(4, 1, 4, 2, parts_hosts, 2)
        )[0]
        host = self.chance.choice([*self._hosts])
        if act == "nodes":
            await upset(self.cluster, self.chance)
        elif act == "parting":
            part_or_join(self.cluster, self.chance)
        elif act == "answer":
            self.cluster.broker.faults.add(bad_answer(self.chance))
        elif act == "cut":
            self.virtual.network.cut(host)
        elif act == "part":
            self.virtual.network.part(host)
        else:
            for each in self._hosts:
                self.virtual.network.join(each)

    def patience(self) -> asyncio.Timeout:
        """For what is awaited in it, which is cancelled when it is over."""
        return asyncio.timeout(self.chance.choice((None, None, None, 0.0, 0.001, 0.01, 1)))

    async def pause(self) -> None:
        """A client does nothing for a while."""
        await asyncio.sleep(self.chance.choice((0, 0, 0.01, 0.1, 1, 3)))

    async def log_of(self, topic: str, partition: int) -> list[tuple[int, str]]:
        """Offsets and values of what is committed, asked without a client."""
        return await committed_records(self._asker, topic, partition)

    def close(self) -> None:
        self._asker.close()


def membership(chance: random.Random) -> dict[str, Any]:
    """Settings that all members of a group share."""
    if chance.random() < 0.4:
        return {"group_protocol": "consumer"}
    assignor = chance.choice(("range", "roundrobin", "sticky", "cooperative-sticky"))
    return {
        "group_protocol": "classic",
        "session_timeout_ms": 10_000,
        "partition_assignment_strategy": [assignor],
    }


class Model(Protocol):
    """What clients do, and what must be so."""

    def __init__(self, stage: Stage) -> None: ...

    async def live(self) -> None:
        """Raises: AssertionError."""
        ...


M = TypeVar("M", bound=Model)


def play(model: Callable[[Stage], M], directory: Path, seed: int) -> tuple[M, VirtualWorld]:
    """One seed, with the cluster's data in `directory`. Raises: AssertionError."""
    virtual = VirtualWorld(seed)

    async def main() -> M:
        async with running(directory, CONFIG) as cluster:
            with contextlib.closing(Stage(virtual, cluster, random.Random(seed))) as stage:
                world = model(stage)
                await world.live()
                return world

    return virtual.run(main), virtual


def show(model: Callable[[Stage], Model]) -> None:
    """Plays as many seeds as the argument says, and prints a digest of all that was sent in each."""
    for seed in range(int(sys.argv[1])):
        with tempfile.TemporaryDirectory() as name:
            _, virtual = play(model, Path(name), seed)
        print(f"seed {seed}, {virtual.time.now:.0f} s: {virtual.digest}", flush=True)
