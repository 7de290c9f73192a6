from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.chaos import CLUSTER_CONFIG

from barnabas.testing import ApacheKafkaCluster


@pytest.fixture(scope="package")
def harmed_cluster() -> Iterator[ApacheKafkaCluster]:
    """Three brokers, which the tests of this folder may stop, kill and pause, and leave running."""
    with ApacheKafkaCluster(config=CLUSTER_CONFIG) as cluster:
        yield cluster
