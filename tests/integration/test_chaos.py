from __future__ import annotations

import asyncio

import pytest
from tests.integration.chaos import OWNED_AGAIN_SECONDS, run
from tests.integration.clusters import HarmedCluster
from tests.integration.nemesis import plan


@pytest.mark.parametrize(("protocol", "seed"), [("classic", 1), ("consumer", 2)])
def test_nothing_is_lost_doubled_or_reordered_while_brokers_are_killed_paused_and_restarted(
    harmed_cluster: HarmedCluster, protocol: str, seed: int
) -> None:
    nothing_is_lost(harmed_cluster, protocol, seed, 15)


@pytest.mark.chaos
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_nothing_is_lost_doubled_or_reordered_while_brokers_are_harmed_for_long(
    harmed_cluster: HarmedCluster, protocol: str, chaos_seconds: float, soak_seed: int
) -> None:
    nothing_is_lost(harmed_cluster, protocol, soak_seed, chaos_seconds)


def nothing_is_lost(cluster: HarmedCluster, protocol: str, seed: int, seconds: float) -> None:
    outcome = asyncio.run(run(cluster, seed=seed, seconds=seconds, protocol=protocol))
    print(outcome)
    assert outcome.faults == []
    assert outcome.failed == []
    assert outcome.acknowledged > 1_000
    assert outcome.steps
    assert outcome.owned_again_after < OWNED_AGAIN_SECONDS


def test_a_plan_follows_from_its_seed() -> None:
    def steps(seed: int) -> list[str]:
        return [str(step) for step, _ in zip(plan(seed, [1, 2, 3]), range(20), strict=False)]

    assert steps(7) == steps(7)
    assert steps(7) != steps(8)
