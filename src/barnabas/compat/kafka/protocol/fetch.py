"""Requests that read records, as structs of fixed versions."""

from __future__ import annotations

from typing import Any, NamedTuple

from barnabas.compat.kafka_engine.wire.message_modules import message_module


class AbortedTransaction(NamedTuple):
    """A transaction whose records are not to be read."""

    producer_id: Any
    first_offset: Any


__getattr__ = message_module(__name__, "AbortedTransaction")
