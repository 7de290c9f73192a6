"""What parts of messages of kafka-python 3 descend from."""

from barnabas.compat.kafka_python.wire.data_containers import DataContainer

__all__ = ["DataContainer"]
