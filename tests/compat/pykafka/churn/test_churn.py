"""A churn of a group of which half is the genuine pykafka; scripts/churn_pykafka.py prints one's figures."""

import pytest
from tests.compat.pykafka.churn.drive import Churn, kafka_to_churn
from tests.compat.pykafka.packages import genuine


@pytest.mark.chaos
def test_a_group_half_of_which_is_the_genuine_package_loses_nothing_and_leaves_nothing_unowned(
    tmp_path, chaos_seconds, soak_seed
):
    with kafka_to_churn(tmp_path) as kafka:
        figures = Churn(kafka, tmp_path, genuine(), seed=soak_seed).run(chaos_seconds, every_seconds=3)
    assert figures.events["ZooKeeper restarted"] > 0
    assert figures.produced > 0
    assert figures.complaints() == []
