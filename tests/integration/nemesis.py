"""What is done to a cluster under load: brokers killed, paused, restarted and parted, one after the other.

Owns the choice, which follows from a seed alone, and that every broker runs again in the end.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tests.integration.clusters import HARMS, HarmedCluster


@dataclass(frozen=True, slots=True)
class Step:
    """One harm: to which node, for how long, and how long the cluster is left alone after it."""

    harm: str
    node_id: int
    away_seconds: float
    calm_seconds: float

    def __str__(self) -> str:
        return f"{self.harm} node {self.node_id} for {self.away_seconds:.1f} s"


def plan(seed: int, node_ids: Sequence[int], harms: Collection[str] = HARMS) -> Iterator[Step]:
    """Steps without end, the same for the same seed."""
    chance = random.Random(seed)
    while True:
        yield Step(
            chance.choice(list(harms)),
            chance.choice(node_ids),
            # Past the broker's session timeout of 3 s on most occasions, and short of it on some.
            chance.uniform(0.5, 6.0),
            chance.uniform(0.0, 1.5),
        )


async def harass(cluster: HarmedCluster, seed: int, seconds: float) -> list[Step]:
    """Works through the plan for `seconds`, then waits until the cluster is whole; what was done."""
    deadline = time.monotonic() + seconds
    done: list[Step] = []
    for step in plan(seed, cluster.node_ids, cluster.harms):
        if time.monotonic() >= deadline:
            break
        await _take(cluster, step)
        done.append(step)
        await asyncio.sleep(step.calm_seconds)
    await asyncio.to_thread(cluster.wait_until_whole)
    return done


async def _take(cluster: HarmedCluster, step: Step) -> None:
    node = cluster.node(step.node_id)
    begin, end = cluster.harms[step.harm]
    await asyncio.to_thread(getattr(node, begin))
    try:
        await asyncio.sleep(step.away_seconds)
    finally:
        await asyncio.to_thread(getattr(node, end))
