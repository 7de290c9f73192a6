"""Groups and the offsets that they commit."""

from __future__ import annotations

from barnabas.compat.kafka_python.wire.message_modules import MessageModule

DEFAULT_GENERATION_ID = -1
UNKNOWN_MEMBER_ID = ""

_messages = MessageModule(__name__, "DEFAULT_GENERATION_ID", "UNKNOWN_MEMBER_ID")
__all__ = _messages.names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
__getattr__ = _messages.find
__dir__ = _messages.listed
