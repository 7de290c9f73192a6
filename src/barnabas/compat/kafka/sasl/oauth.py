"""SASL OAUTHBEARER."""

from barnabas.compat.kafka_engine.network.sasl import AbstractTokenProvider, SaslMechanismOAuth

__all__ = ["AbstractTokenProvider", "SaslMechanismOAuth"]
