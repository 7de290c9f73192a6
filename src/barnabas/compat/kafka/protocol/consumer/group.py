"""Groups and the offsets that they commit."""

from __future__ import annotations

from barnabas.compat.kafka_engine.wire.message_modules import message_module

DEFAULT_GENERATION_ID = -1
UNKNOWN_MEMBER_ID = ""

__getattr__ = message_module(__name__, "DEFAULT_GENERATION_ID", "UNKNOWN_MEMBER_ID")
