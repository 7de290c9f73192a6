"""SASL OAUTHBEARER."""

from barnabas.compat.kafka_python.network.sasl import AbstractTokenProvider, SaslMechanismOAuth

__all__ = ["AbstractTokenProvider", "SaslMechanismOAuth"]
