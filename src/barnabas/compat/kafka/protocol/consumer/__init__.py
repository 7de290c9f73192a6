"""The messages of consumers."""

from __future__ import annotations

from barnabas.compat.kafka.protocol.consumer.group import DEFAULT_GENERATION_ID as DEFAULT_GENERATION_ID
from barnabas.compat.kafka.protocol.consumer.group import UNKNOWN_MEMBER_ID as UNKNOWN_MEMBER_ID
from barnabas.compat.kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment as ConsumerProtocolAssignment,
)
from barnabas.compat.kafka.protocol.consumer.metadata import (
    ConsumerProtocolSubscription as ConsumerProtocolSubscription,
)
from barnabas.compat.kafka.protocol.consumer.metadata import ConsumerProtocolType as ConsumerProtocolType
from barnabas.compat.kafka.protocol.consumer.offsets import UNKNOWN_OFFSET as UNKNOWN_OFFSET
from barnabas.compat.kafka.protocol.consumer.offsets import IsolationLevel as IsolationLevel
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetResetStrategy as OffsetResetStrategy
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetSpec as OffsetSpec
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetTimestamp as OffsetTimestamp
from barnabas.compat.kafka_engine.wire.message_modules import message_module

__getattr__ = message_module(
    __name__,
    *("ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "ConsumerProtocolType"),
    *("DEFAULT_GENERATION_ID", "UNKNOWN_MEMBER_ID"),
    *("UNKNOWN_OFFSET", "OffsetResetStrategy", "IsolationLevel", "OffsetSpec", "OffsetTimestamp"),
)
