"""What is done to a cluster under load: brokers killed, paused and restarted, one after the other.

Owns the choice, which follows from a seed alone, and that every broker runs again in the end.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from barnabas.testing import ApacheKafkaCluster

Harm = Literal["kill", "pause", "restart"]


@dataclass(frozen=True, slots=True)
class Step:
    """One harm: to which node, for how long, and how long the cluster is left alone after it."""

    harm: Harm
    node_id: int
    away_seconds: float
    calm_seconds: float

    def __str__(self) -> str:
        return f"{self.harm} node {self.node_id} for {self.away_seconds:.1f} s"


def plan(seed: int, nodes: int) -> Iterator[Step]:
    """Steps without end, the same for the same seed."""
    chance = random.Random(seed)
    harms: tuple[Harm, ...] = ("kill", "pause", "restart")
    while True:
        yield Step(
            chance.choice(harms),
            chance.randint(1, nodes),
            # Past the broker's session timeout of 3 s on most occasions, and short of it on some.
            chance.uniform(0.5, 6.0),
            chance.uniform(0.0, 1.5),
        )


async def harass(cluster: ApacheKafkaCluster, seed: int, seconds: float) -> list[Step]:
    """Works through the plan for `seconds`, then waits until the cluster is whole; what was done."""
    deadline = time.monotonic() + seconds
    done: list[Step] = []
    for step in plan(seed, len(cluster.nodes)):
        if time.monotonic() >= deadline:
            break
        await _take(cluster, step)
        done.append(step)
        await asyncio.sleep(step.calm_seconds)
    await asyncio.to_thread(cluster.wait_until_whole)
    return done


async def _take(cluster: ApacheKafkaCluster, step: Step) -> None:
    node = cluster.node(step.node_id)
    if step.harm == "pause":
        node.pause()
        try:
            await asyncio.sleep(step.away_seconds)
        finally:
            node.resume()
        return
    await asyncio.to_thread(node.kill if step.harm == "kill" else node.stop)
    try:
        await asyncio.sleep(step.away_seconds)
    finally:
        await asyncio.to_thread(node.start)
