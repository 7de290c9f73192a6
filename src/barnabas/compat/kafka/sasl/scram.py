"""SASL SCRAM."""

from barnabas.compat.kafka_python.network.sasl import SaslMechanismScram

__all__ = ["SaslMechanismScram"]
