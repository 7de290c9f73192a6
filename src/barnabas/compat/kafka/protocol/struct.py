"""What structs of fixed versions descend from."""

from barnabas.compat.kafka_engine.wire.structs import Struct

__all__ = ["Struct"]
