"""What programs see of the messages about topics."""

from __future__ import annotations

from enum import IntEnum

from barnabas.compat.kafka_engine.wire.message_modules import message_module


class ElectionType(IntEnum):
    """Which leader a partition gets: the preferred one, or any replica that is there, which may lose
    records."""

    PREFERRED = 0
    UNCLEAN = 1


__getattr__ = message_module(__name__, "ElectionType")
