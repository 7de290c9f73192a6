"""Where kafka-python 2.0 had its providers of tokens."""

from barnabas.compat.kafka_engine.network.sasl import AbstractTokenProvider

__all__ = ["AbstractTokenProvider"]
