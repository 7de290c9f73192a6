"""Which broker coordinates a group or transactions."""

from __future__ import annotations

from enum import IntEnum

from barnabas.compat.kafka.util import EnumHelper
from barnabas.compat.kafka_python.wire.message_modules import MessageModule


class CoordinatorType(EnumHelper, IntEnum):
    """What is coordinated."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


_messages = MessageModule(__name__, "CoordinatorType")
__all__ = _messages.names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
__getattr__ = _messages.find
__dir__ = _messages.listed
