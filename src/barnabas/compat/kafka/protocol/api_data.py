"""What kafka-python 3's contents of other messages descend from."""

from barnabas.compat.kafka_engine.wire.api_data import ApiData

__all__ = ["ApiData"]
