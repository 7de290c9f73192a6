"""What a program for kafka-python 1.2.1 keeps through the deaths of its broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compat.kafka.soak import Soak, simple_clients

from barnabas.testing import ApacheKafka, EmbeddedBroker

SECONDS = 12.0


@pytest.mark.chaos
@pytest.mark.timeout(400)
def test_what_was_acknowledged_is_read_although_the_broker_dies(
    own_broker: ApacheKafka | EmbeddedBroker, tmp_path: Path
) -> None:
    soak = Soak(simple_clients(), own_broker, tmp_path, seed=7)
    soak.run(SECONDS)
    assert soak.harms > 0
    assert not soak.lost()
