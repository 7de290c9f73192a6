"""SASL SCRAM."""

from barnabas.compat.kafka_engine.network.sasl import SaslMechanismScram

__all__ = ["SaslMechanismScram"]
