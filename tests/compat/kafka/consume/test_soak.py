"""What programs with KafkaConsumer and KafkaProducer keep through the deaths of their broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.kafka.soak import Soak, group_clients

from barnabas.testing import ApacheKafka, EmbeddedBroker

SECONDS = 20.0


@pytest.mark.timeout(400)
@pytest.mark.parametrize("generation", [pytest.param("1.2", marks=pytest.mark.long), "3"])
def test_what_was_acknowledged_is_read_although_the_broker_dies(
    generation: str, own_broker: ApacheKafka | EmbeddedBroker, tmp_path: Path
) -> None:
    soak = Soak(group_clients(generation), own_broker, tmp_path, seed=7)
    soak.run(SECONDS)
    assert soak.harms > 0
    assert "aborted" not in soak.read()
    assert not soak.lost()
