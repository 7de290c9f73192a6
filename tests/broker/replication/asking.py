"""Asking whichever node is the one to ask, while nodes come and go; and having them do so."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from barnabas import _kernel
from barnabas.protocol.messages.fetch import FetchRequest

from .cluster_of_three import ClusterOfThree

NODES = (1, 2, 3)
READ_COMMITTED = 1
ELSEWHERE = (1, 3, 5, 6, 14, 15, 16)
"""Another node is to be asked, which may have more, or the same one later."""


class RefusedError(Exception):
    """It was answered that something is not done: `code`, or None where nobody is there to do it."""

    def __init__(self, code: int | None = None) -> None:
        super().__init__(code)
        self.code = code


class Asker:
    """Asks by connections of its own, so that it waits for no other."""

    def __init__(self, cluster: ClusterOfThree, chance: random.Random) -> None:
        self._cluster = ClusterOfThree(cluster.broker, cluster.directory)
        self._chance = chance

    async def ask(
        self, request: Any, version: int | None, code_of: Callable[[Any], int], *, tries: int = 6
    ) -> Any:
        """From whichever node takes it. Raises: RefusedError; BarnabasError where no answer came."""
        for _ in range(tries):
            nodes = self._cluster.broker.nodes
            running = [node for node in NODES if nodes[node].is_running and not nodes[node].is_paused]
            for node in self._chance.sample(running, len(running)):
                if not nodes[node].is_running:
                    continue
                answer = await self._cluster.ask(node, request, version)
                code = code_of(answer)
                if code == 0:
                    return answer
                if code not in ELSEWHERE:
                    raise RefusedError(code)
            await asyncio.sleep(0.02)
        raise RefusedError

    def close(self) -> None:
        self._cluster.close()


async def committed_records(asker: Asker, topic: str, partition: int) -> list[tuple[int, str]]:
    """Offsets and values that who reads what is committed finds in a partition. Raises: as `Asker.ask`."""
    found: list[tuple[int, str]] = []
    offset = 0
    while True:
        wanted = FetchRequest.FetchPartition(partition, fetch_offset=offset, partition_max_bytes=1 << 22)
        request = FetchRequest(
            isolation_level=READ_COMMITTED,
            session_epoch=-1,
            max_bytes=1 << 22,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
        )
        answer = await asker.ask(request, 12, lambda answer: answer.responses[0].partitions[0].error_code)
        data = answer.responses[0].partitions[0]
        batches = _kernel.scan_batches(data.records or b"")
        if not batches:
            return found
        aborted = [(span.producer_id, span.first_offset) for span in data.aborted_transactions or ()]
        records = _kernel.RecordReader(topic, partition, data.records or b"", aborted=aborted)
        found.extend((record.offset, (record.value or b"").decode()) for record in records)
        offset = batches[-1].last_offset + 1


async def upset(cluster: ClusterOfThree, chance: random.Random) -> None:
    """Stops, kills or pauses a node, but not the last one; or has one that is away return."""
    nodes = cluster.broker.nodes
    running = [node for node in NODES if nodes[node].is_running and not nodes[node].is_paused]
    others = [node for node in NODES if node not in running]
    act = chance.choices(("end", "pause", "return"), weights=(3, 2, 6))[0]
    if act == "end" and len(running) > 1:
        await chance.choice((cluster.stop, cluster.kill))(chance.choice(running))
    elif act == "pause" and len(running) > 1:
        nodes[chance.choice(running)].pause()
    elif act == "return" and others:
        node = chance.choice(others)
        nodes[node].resume()
        await cluster.start(node)


def part_or_join(cluster: ClusterOfThree, chance: random.Random) -> None:
    """Parts a node from the others, which clients still reach; or joins the one that is parted."""
    nodes = cluster.broker.nodes
    parted = [node for node in NODES if nodes[node].is_parted]
    if parted:
        nodes[parted[0]].join()
        return
    running = [node for node in NODES if nodes[node].is_running and not nodes[node].is_paused]
    if running:
        nodes[chance.choice(running)].part()


async def settle(cluster: ClusterOfThree) -> None:
    """All nodes run."""
    for node in NODES:
        cluster.broker.nodes[node].resume()
        cluster.broker.nodes[node].join()
        await cluster.start(node)
