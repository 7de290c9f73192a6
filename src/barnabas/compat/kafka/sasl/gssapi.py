"""SASL GSSAPI."""

from barnabas.compat.kafka_engine.network.sasl import SaslMechanismGSSAPI

__all__ = ["SaslMechanismGSSAPI"]
