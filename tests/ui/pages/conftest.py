"""Pages that any Kafka has are asked for on both brokers."""

from __future__ import annotations

import pytest

from barnabas.testing import ApacheKafka, EmbeddedBroker


@pytest.fixture
def shown_broker(broker: ApacheKafka | EmbeddedBroker) -> ApacheKafka | EmbeddedBroker:
    return broker
