"""What all SASL mechanisms are."""

from barnabas.compat.kafka_python.network.sasl import SaslMechanism

__all__ = ["SaslMechanism"]
