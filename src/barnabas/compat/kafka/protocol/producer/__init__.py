"""The messages of producers."""

from __future__ import annotations

from barnabas.compat.kafka_python.wire.message_modules import MessageModule

_messages = MessageModule(__name__)
__all__ = _messages.names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
__getattr__ = _messages.find
__dir__ = _messages.listed
