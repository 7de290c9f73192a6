"""Requests for offsets, as kafka-python 1.2 names them."""

from barnabas.compat.kafka.protocol.consumer.offsets import OffsetResetStrategy as OffsetResetStrategy
from barnabas.compat.kafka_engine.wire.message_modules import message_module

__getattr__ = message_module(__name__, "OffsetResetStrategy")
