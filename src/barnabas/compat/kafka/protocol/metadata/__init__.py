"""Which brokers and topics there are: structs of fixed versions, or in 3 messages with a version."""

from __future__ import annotations

from barnabas.compat.kafka.protocol.metadata.find_coordinator import CoordinatorType as CoordinatorType
from barnabas.compat.kafka_python.wire.message_modules import MessageModule

_messages = MessageModule(__name__, "CoordinatorType")
__all__ = _messages.names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
__getattr__ = _messages.find
__dir__ = _messages.listed
