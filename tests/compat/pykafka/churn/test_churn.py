"""A short churn of a group of which half is the genuine pykafka; scripts/churn_pykafka.py runs a long one."""

import pytest
from tests.compat.pykafka.churn.drive import Churn, kafka_to_churn
from tests.compat.pykafka.packages import genuine


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_group_half_of_which_is_the_genuine_package_loses_nothing_and_leaves_nothing_unowned(tmp_path):
    with kafka_to_churn(tmp_path) as kafka:
        figures = Churn(kafka, tmp_path, genuine(), seed=23).run(25, every_seconds=3)
    assert figures.events["ZooKeeper restarted"] == 1
    assert figures.produced > 0
    assert figures.complaints() == []
