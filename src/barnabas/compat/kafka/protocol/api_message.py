"""What requests and responses of kafka-python 3 descend from."""

from barnabas.compat.kafka_engine.wire.api_messages import ApiMessage

__all__ = ["ApiMessage"]
