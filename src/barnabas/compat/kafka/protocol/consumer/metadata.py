"""What members of a group of consumers say of themselves, and what they are told."""

from barnabas.compat.kafka_engine.consume.membership import PROTOCOL_TYPE as ConsumerProtocolType
from barnabas.compat.kafka_engine.wire.member_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

__all__ = ["ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "ConsumerProtocolType"]
