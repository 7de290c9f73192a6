from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.clusters import HarmedCluster, cluster_of


@pytest.fixture(scope="package", params=[pytest.param("apache", marks=pytest.mark.chaos), "embedded-3"])
def harmed_cluster(request: pytest.FixtureRequest) -> Iterator[HarmedCluster]:
    """Three brokers of each kind in turn, which the tests of this folder may stop, kill and pause, and leave
    running."""
    with cluster_of(request.param) as cluster:
        yield cluster
