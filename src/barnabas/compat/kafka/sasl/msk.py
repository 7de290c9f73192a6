"""SASL AWS_MSK_IAM."""

from barnabas.compat.kafka_python.network.sasl import SaslMechanismAwsMskIam

__all__ = ["SaslMechanismAwsMskIam"]
