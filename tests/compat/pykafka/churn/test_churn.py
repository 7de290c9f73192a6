"""A short churn of a group of which half is the genuine pykafka; scripts/churn_pykafka.py runs a long one."""

import pytest
from tests.compat.pykafka.churn.drive import (
    PARTITIONS,
    SESSION_TIMEOUT_MS,
    TOTAL_BACKOFF_SECONDS,
    Churn,
)
from tests.compat.pykafka.packages import genuine

from barnabas.testing import ApacheKafka

LOOK_SECONDS = 2.0
"""What machines under load take between an event and that it is seen."""


@pytest.mark.timeout(240)
def test_a_group_half_of_which_is_the_genuine_package_loses_nothing_and_leaves_nothing_unowned(tmp_path):
    with ApacheKafka("2.8.2", config={"num.partitions": str(PARTITIONS)}) as kafka:
        figures = Churn(kafka, tmp_path, genuine(), seed=23).run(25, every_seconds=3)
    assert figures.events["ZooKeeper restarted"] == 1
    assert figures.produced > 0
    assert figures.lost == []
    assert figures.owned_twice == 0
    assert figures.ours_given_of_others == []
    limit = SESSION_TIMEOUT_MS / 1000 + TOTAL_BACKOFF_SECONDS + LOOK_SECONDS
    assert figures.longest_without_node_seconds < limit
