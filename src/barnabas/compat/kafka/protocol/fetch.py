"""Requests that read records, as structs of fixed versions."""

from __future__ import annotations

from typing import Any, NamedTuple

from barnabas.compat.kafka_python.wire.message_modules import MessageModule


class AbortedTransaction(NamedTuple):
    """A transaction whose records are not to be read."""

    producer_id: Any
    first_offset: Any


_messages = MessageModule(__name__, "AbortedTransaction")
__all__ = _messages.names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
__getattr__ = _messages.find
__dir__ = _messages.listed
