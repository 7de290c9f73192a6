"""Which SASL mechanism is meant, as structs of fixed versions."""

from barnabas.compat.kafka_engine.wire.message_modules import message_module

__getattr__ = message_module(__name__)
