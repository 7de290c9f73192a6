"""What programs with KafkaConsumer and KafkaProducer keep through the deaths of their broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.kafka.soak import Soak, group_clients

from barnabas.testing import ApacheKafka, EmbeddedBroker

SECONDS = 20.0


@pytest.mark.timeout(400)
def test_what_was_acknowledged_is_read_although_the_broker_dies(
    own_broker: ApacheKafka | EmbeddedBroker, tmp_path: Path
) -> None:
    nothing_is_lost("3", own_broker, tmp_path, 7, SECONDS)


@pytest.mark.chaos
@pytest.mark.parametrize("generation", ["1.2", "2", "3"])
def test_what_was_acknowledged_is_read_although_the_broker_dies_for_long(
    generation: str,
    own_broker: ApacheKafka | EmbeddedBroker,
    tmp_path: Path,
    chaos_seconds: float,
    soak_seed: int,
) -> None:
    nothing_is_lost(generation, own_broker, tmp_path, soak_seed, chaos_seconds)


def nothing_is_lost(
    generation: str, broker: ApacheKafka | EmbeddedBroker, folder: Path, seed: int, seconds: float
) -> None:
    soak = Soak(group_clients(generation), broker, folder, seed=seed)
    soak.run(seconds)
    assert soak.harms > 0
    assert "aborted" not in soak.read()
    assert not soak.lost()
