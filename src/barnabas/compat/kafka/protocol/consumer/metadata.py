"""What members of a group of consumers say of themselves, and what they are told."""

from barnabas.compat.kafka_python.consume.membership import PROTOCOL_TYPE as ConsumerProtocolType
from barnabas.compat.kafka_python.wire.member_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

__all__ = ["ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "ConsumerProtocolType"]
