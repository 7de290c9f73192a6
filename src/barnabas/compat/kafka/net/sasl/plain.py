"""SASL PLAIN."""

from barnabas.compat.kafka_engine.network.sasl import SaslMechanismPlain

__all__ = ["SaslMechanismPlain"]
