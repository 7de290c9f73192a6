"""Which brokers and topics there are: structs of fixed versions, or in 3 messages with a version."""

from barnabas.compat.kafka.protocol.metadata.find_coordinator import CoordinatorType as CoordinatorType
from barnabas.compat.kafka_engine.wire.message_modules import message_module

__getattr__ = message_module(__name__, "CoordinatorType")
