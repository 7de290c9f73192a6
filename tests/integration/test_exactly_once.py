from __future__ import annotations

import asyncio

import pytest
from tests.integration.clusters import HarmedCluster
from tests.integration.exactly_once import run


@pytest.mark.parametrize(("protocol", "harm", "seed"), [("classic", False, 1), ("consumer", True, 2)])
def test_each_record_is_copied_exactly_once_while_copiers_are_killed(
    harmed_cluster: HarmedCluster, protocol: str, harm: bool, seed: int
) -> None:
    outcome = asyncio.run(
        run(harmed_cluster, seed=seed, seconds=12, protocol=protocol, harm=harm, records=2_500)
    )
    print(outcome)
    assert outcome.faults == []
    assert outcome.kills > 2
    assert outcome.aborts > 2
