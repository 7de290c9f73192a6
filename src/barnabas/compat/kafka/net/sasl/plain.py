"""SASL PLAIN."""

from barnabas.compat.kafka_python.network.sasl import SaslMechanismPlain

__all__ = ["SaslMechanismPlain"]
