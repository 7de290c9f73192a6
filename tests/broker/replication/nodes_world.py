"""Nodes that stop, start, pause, resume, part, join, lag and catch up at random while records are written and
read.

Owns what is known of them from outside. `python -m tests.broker.replication.nodes_world 50` runs 50 seeds,
and prints a digest of all that was sent in each.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.virtual.loop import VirtualWorld
from tests.waiting import wait_for_async

from barnabas import _kernel
from barnabas.errors import BarnabasError
from barnabas.protocol.schema import Records

from .cluster_of_three import ClusterOfThree, running

NODES = (1, 2, 3)
STEPS = 80
CONFIG = {"broker.session.timeout.ms": "60", "replica.lag.time.max.ms": "40"}
TOPIC = "t"


class World:
    """The cluster, and what is known of it from outside."""

    def __init__(self, cluster: ClusterOfThree, chance: random.Random) -> None:
        self.cluster = cluster
        self.chance = chance
        self.acknowledged: dict[int, str] = {}
        self.shown: dict[int, str] = {}
        self.written: set[str] = set()
        self.deleted_before = self.surely_deleted_before = self.asked_to_delete_before = 0
        """What was answered; what of it outlasts a process that is killed; and what was asked, though it may
        not have been answered."""
        self._writes: set[asyncio.Task[None]] = set()

    async def step(self) -> None:
        act = self.chance.choices(
            (
                self.write,
                self.read,
                self.stop,
                self.start,
                self.pause,
                self.resume,
                self.part,
                self.join,
                self.lag,
                self.catch_up,
                self.elect,
                self.reassign,
                self.delete_records,
            ),
            weights=(10, 6, 2, 4, 1, 3, 1, 2, 1, 2, 1, 1, 1),
        )[0]
        await act()
        await asyncio.sleep(self.chance.choice((0, 0, 0, 0.02)))

    def _some(self, *, paused: bool = False) -> int | None:
        nodes = self.cluster.broker.nodes
        found = [node for node in NODES if nodes[node].is_running and nodes[node].is_paused is paused]
        return self.chance.choice(found) if found else None

    async def write(self) -> None:
        node = self._some()
        if node is not None:
            task = asyncio.create_task(self._write(node, f"record {len(self.written)}"))
            self._writes.add(task)
            task.add_done_callback(self._writes.discard)

    async def _write(self, node: int, text: str) -> None:
        self.written.add(text)
        try:
            answer = await self.cluster.produce(node, TOPIC, text, timeout_ms=500)
        except BarnabasError:
            return
        if answer.error_code == 0:
            assert answer.base_offset not in self.acknowledged
            self.acknowledged[answer.base_offset] = text

    async def read(self) -> None:
        """What a node shows, leader or not."""
        node = self._some()
        if node is None:
            return
        data = await self.cluster.fetch(node, TOPIC, self.deleted_before)
        if data.error_code == 0:
            self.see(data.records or b"")

    def see(self, records: Records) -> None:
        for record in _kernel.RecordReader(TOPIC, 0, records):
            text = (record.value or b"").decode()
            assert text in self.written
            assert self.shown.setdefault(record.offset, text) == text

    async def stop(self) -> None:
        nodes = self.cluster.broker.nodes
        running = [node for node in NODES if nodes[node].is_running]
        if len(running) > 1:
            await self.cluster.stop(self.chance.choice(running))

    async def start(self) -> None:
        for node in NODES:
            if not self.cluster.broker.nodes[node].is_running:
                await self.cluster.start(node)
                return

    async def pause(self) -> None:
        if sum(self.cluster.broker.nodes[node].is_paused for node in NODES) == 0:
            node = self._some()
            if node is not None:
                self.cluster.broker.nodes[node].pause()

    async def resume(self) -> None:
        node = self._some(paused=True)
        if node is not None:
            self.cluster.broker.nodes[node].resume()

    async def part(self) -> None:
        if not self._parted():
            node = self._some()
            if node is not None:
                self.cluster.broker.nodes[node].part()

    async def join(self) -> None:
        for node in self._parted():
            self.cluster.broker.nodes[node].join()

    async def lag(self) -> None:
        self.cluster.broker.nodes[self.chance.choice(NODES)].lag()

    async def catch_up(self) -> None:
        self.cluster.broker.nodes[self.chance.choice(NODES)].catch_up()

    def _parted(self) -> list[int]:
        return [node for node in NODES if self.cluster.broker.nodes[node].is_parted]

    async def elect(self) -> None:
        if self.cluster.is_reachable:
            await self.cluster.elect(TOPIC, 0)

    async def reassign(self) -> None:
        if self.cluster.is_reachable:
            await self.cluster.reassign(TOPIC, self.chance.sample(NODES, self.chance.choice((2, 3, 3))))

    async def delete_records(self) -> None:
        node = self._some()
        if node is None:
            return
        offset = self.chance.randint(0, max(self.shown, default=0))
        self.asked_to_delete_before = max(self.asked_to_delete_before, offset)
        answer = await self.cluster.delete_records(node, TOPIC, offset)
        if answer.error_code == 0:
            self.deleted_before = max(self.deleted_before, answer.low_watermark)
            self.surely_deleted_before = max(self.surely_deleted_before, answer.low_watermark)

    def copy(self, cluster: ClusterOfThree) -> World:
        """As much as is known now, in a world that goes on from here."""
        world = World(cluster, self.chance)
        world.acknowledged, world.shown = dict(self.acknowledged), dict(self.shown)
        world.written, world.deleted_before = set(self.written), self.deleted_before
        world.surely_deleted_before = self.surely_deleted_before
        world.asked_to_delete_before = self.asked_to_delete_before
        return world

    async def end(self) -> None:
        """All run again, and all have caught up."""
        for node in NODES:
            self.cluster.broker.nodes[node].resume()
            self.cluster.broker.nodes[node].join()
            self.cluster.broker.nodes[node].catch_up()
            await self.cluster.start(node)
        await asyncio.gather(*self._writes)
        await wait_for_async(self._is_settled, timeout=20)

    async def _is_settled(self) -> bool:
        known = await self.cluster.describe(TOPIC)
        ongoing = set(known.isr_nodes) != set(known.replica_nodes)
        return known.leader_id > 0 and not ongoing

    async def let_go(self) -> None:
        """Writes that wait yet, some of which may be about to connect."""
        writes = list(self._writes)
        for task in writes:
            task.cancel()
        await asyncio.gather(*writes, return_exceptions=True)

    async def check(self) -> None:
        known = await self.cluster.describe(TOPIC)
        data = await self.cluster.fetch(known.leader_id, TOPIC, self.deleted_before)
        start = data.log_start_offset
        assert self.surely_deleted_before <= start <= self.asked_to_delete_before
        data = await self.cluster.fetch(known.leader_id, TOPIC, start)
        reader = _kernel.RecordReader(TOPIC, 0, data.records or b"", fetch_offset=start)
        found = {record.offset: (record.value or b"").decode() for record in reader}
        for seen in (self.acknowledged, self.shown):
            kept = {offset: text for offset, text in seen.items() if offset >= start}
            assert {offset: found.get(offset) for offset in kept} == kept

        def batches_of(node: int) -> bytes:
            content = self.cluster.log_of(node, TOPIC)
            batches = [batch for batch in _kernel.scan_batches(content) if batch.last_offset >= start]
            return content[batches[0].position :] if batches else b""

        # A replica counts as in sync for as long as it lags no longer than it may.
        await wait_for_async(lambda: len({*map(batches_of, known.replica_nodes)}) == 1, timeout=20)


def live(directory: Path, seed: int, least: str) -> VirtualWorld:
    """Runs a cluster three times on the same data, each time with random steps. The first run is killed, the
    others are stopped. `least`: min.insync.replicas. Raises: AssertionError."""
    chance = random.Random(seed)

    async def a_life(folder: Path, before: World | None, then: Callable[[World], Awaitable[None]]) -> World:
        async with running(folder, CONFIG) as cluster:
            world = World(cluster, chance) if before is None else before.copy(cluster)
            try:
                if before is None:
                    await cluster.create(TOPIC, [1, 2, 3], min_insync_replicas=least)
                for _ in range(STEPS):
                    await world.step()
                left = world.copy(cluster)
                await then(world)
            finally:
                await world.let_go()
        return left

    async def is_killed(world: World) -> None:
        shutil.copytree(directory / "first", directory / "second")

    def after_kill(world: World) -> World:
        # As in Kafka, a replica writes down now and then only where its leader's log begins.
        world.surely_deleted_before = 0
        return world

    async def ends(world: World) -> None:
        """Without a check: the next run has one."""

    async def is_checked(world: World) -> None:
        await world.end()
        await world.check()

    async def main() -> None:
        killed = await a_life(directory / "first", None, is_killed)
        ended = await a_life(directory / "second", after_kill(killed), ends)
        await a_life(directory / "second", ended, is_checked)

    virtual = VirtualWorld(seed)
    virtual.run(main)
    return virtual


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        for least in ("1", "2"):
            with tempfile.TemporaryDirectory() as name:
                print(f"seed {seed}, {least} in sync: {live(Path(name), seed, least).digest}", flush=True)
