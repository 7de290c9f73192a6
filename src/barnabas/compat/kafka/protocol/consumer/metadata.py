"""What the members of a group tell each other, as classes of kafka-python 3."""

from barnabas.compat.kafka_python.consume.membership import PROTOCOL_TYPE as ConsumerProtocolType
from barnabas.compat.kafka_python.consume.membership import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

__all__ = ["ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "ConsumerProtocolType"]
