"""What parts of messages of kafka-python 3 descend from."""

from barnabas.compat.kafka_engine.wire.data_containers import DataContainer

__all__ = ["DataContainer"]
