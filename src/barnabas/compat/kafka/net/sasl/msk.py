"""SASL AWS_MSK_IAM."""

from barnabas.compat.kafka_engine.network.sasl import SaslMechanismAwsMskIam

__all__ = ["SaslMechanismAwsMskIam"]
