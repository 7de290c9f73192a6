"""The example of serializers."""

from __future__ import annotations

import uuid

from examples.orders import made_up, read, send

from barnabas import Registry
from barnabas.testing import EmbeddedBroker, EmbeddedRegistry


def test_orders_are_read_as_they_were_sent(embedded_broker: EmbeddedBroker) -> None:
    topic, orders = f"orders-{uuid.uuid4().hex[:8]}", made_up(3)
    with EmbeddedRegistry() as embedded, Registry(embedded.url) as registry:
        send(embedded_broker.bootstrap, registry, topic, orders)
        found = read(embedded_broker.bootstrap, registry, topic, len(orders))
        assert sorted(found, key=lambda order: order.id) == sorted(orders, key=lambda order: order.id)
