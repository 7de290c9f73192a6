"""What the members of a group tell each other, as kafka-python 3 has it."""

from __future__ import annotations

from typing import Any

from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.compat.kafka_engine.wire.api_data import ApiData
from barnabas.protocol.messages import consumer_protocol_assignment, consumer_protocol_subscription

__all__ = ["ConsumerProtocolAssignment", "ConsumerProtocolSubscription"]

_HOME = "barnabas.compat.kafka.protocol.consumer.metadata"


class ConsumerProtocolSubscription(ApiData):
    """What a member wants to read."""

    __module__ = _HOME
    _core = _top = consumer_protocol_subscription.ConsumerProtocolSubscription


class ConsumerProtocolAssignment(ApiData):
    """What a member is to read."""

    __module__ = _HOME
    _core = _top = consumer_protocol_assignment.ConsumerProtocolAssignment

    @property
    def assignment(self) -> Any:
        return self.assigned_partitions

    @assignment.setter
    def assignment(self, value: Any) -> None:
        self.assigned_partitions = value

    def partitions(self) -> list[Any]:
        """Each of the partitions."""
        struct = STRUCTS["TopicPartition"]
        return [struct(topic, each) for topic, numbers in self.assigned_partitions for each in numbers]
