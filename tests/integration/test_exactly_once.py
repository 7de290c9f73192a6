from __future__ import annotations

import asyncio

import pytest
from tests.integration.clusters import HarmedCluster
from tests.integration.exactly_once import run


@pytest.mark.parametrize(("protocol", "harm", "seed"), [("classic", False, 1), ("consumer", True, 2)])
def test_each_record_is_copied_exactly_once_while_copiers_are_killed(
    harmed_cluster: HarmedCluster, protocol: str, harm: bool, seed: int
) -> None:
    each_record_is_copied_once(harmed_cluster, protocol, harm, seed, 12)


@pytest.mark.chaos
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_each_record_is_copied_exactly_once_while_copiers_and_brokers_are_killed_for_long(
    harmed_cluster: HarmedCluster, protocol: str, chaos_seconds: float, soak_seed: int
) -> None:
    each_record_is_copied_once(harmed_cluster, protocol, True, soak_seed, chaos_seconds)


def each_record_is_copied_once(
    cluster: HarmedCluster, protocol: str, harm: bool, seed: int, seconds: float
) -> None:
    outcome = asyncio.run(
        run(cluster, seed=seed, seconds=seconds, protocol=protocol, harm=harm, records=round(seconds * 208))
    )
    print(outcome)
    assert outcome.faults == []
    assert outcome.kills > 2
    assert outcome.aborts > 2
