"""Which broker coordinates a group or transactions."""

from __future__ import annotations

from enum import IntEnum

from barnabas.compat.kafka.util import EnumHelper
from barnabas.compat.kafka_engine.wire.message_modules import message_module


class CoordinatorType(EnumHelper, IntEnum):
    """What is coordinated."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


__getattr__ = message_module(__name__, "CoordinatorType")
