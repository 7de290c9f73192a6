"""Requests for offsets, as kafka-python 2 names them."""

from __future__ import annotations

from barnabas.compat.kafka.protocol.consumer.offsets import UNKNOWN_OFFSET as UNKNOWN_OFFSET
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetResetStrategy as OffsetResetStrategy
from barnabas.compat.kafka_engine.wire.message_modules import message_module

__getattr__ = message_module(__name__, "UNKNOWN_OFFSET", "OffsetResetStrategy")
