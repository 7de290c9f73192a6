"""Messages and message sets in the formats of old."""

from __future__ import annotations

from barnabas.compat.kafka_engine.wire.message_sets import Message as Message
from barnabas.compat.kafka_engine.wire.message_sets import MessageSet as MessageSet
from barnabas.compat.kafka_engine.wire.message_sets import PartialMessage as PartialMessage

__all__ = ["Message", "MessageSet", "PartialMessage"]
