"""SASL GSSAPI."""

from barnabas.compat.kafka_python.network.sasl import SaslMechanismGSSAPI

__all__ = ["SaslMechanismGSSAPI"]
