"""What programs see of the messages about topics."""

from __future__ import annotations

from enum import IntEnum

from barnabas.compat.kafka_python.wire.message_modules import MessageModule


class ElectionType(IntEnum):
    """Which leader a partition gets: the preferred one, or any replica that is there, which may lose
    records."""

    PREFERRED = 0
    UNCLEAN = 1


_messages = MessageModule(__name__, "ElectionType")
__all__ = _messages.names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
__getattr__ = _messages.find
__dir__ = _messages.listed
