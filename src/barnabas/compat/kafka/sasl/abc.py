"""What all SASL mechanisms are."""

from barnabas.compat.kafka_engine.network.sasl import SaslMechanism

__all__ = ["SaslMechanism"]
