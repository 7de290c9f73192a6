"""SASL mechanisms by their names."""

from barnabas.compat.kafka_engine.network.sasl import (
    SASL_MECHANISMS,
    SaslMechanismAwsMskIam,
    SaslMechanismGSSAPI,
    SaslMechanismOAuth,
    SaslMechanismPlain,
    SaslMechanismScram,
    get_sasl_mechanism,
    register_sasl_mechanism,
)

__all__ = [
    "SASL_MECHANISMS",
    "SaslMechanismAwsMskIam",
    "SaslMechanismGSSAPI",
    "SaslMechanismOAuth",
    "SaslMechanismPlain",
    "SaslMechanismScram",
    "get_sasl_mechanism",
    "register_sasl_mechanism",
]
