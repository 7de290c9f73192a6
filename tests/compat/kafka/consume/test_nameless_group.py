"""A group without a name: as in kafka-python, the broker refuses it, in the first poll."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.compat import kafka


@pytest.mark.integration
def test_a_group_without_a_name_is_left_to_the_broker_to_refuse(embedded_broker: Any) -> None:
    consumer = kafka.KafkaConsumer("nameless", bootstrap_servers=embedded_broker.bootstrap, group_id="")
    try:
        with pytest.raises(kafka.errors.InvalidGroupIdError):
            consumer.poll(timeout_ms=30_000)
    finally:
        consumer.close()
