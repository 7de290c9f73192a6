"""Whether a listener can go over to other keys and authorities while it is open.

Owns the words of Kafka's refusal. What the settings mean is in `listeners`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from barnabas.broker.configs.broker_rules import not_in_force
from barnabas.broker.configs.broker_settings import KEYS_AND_TRUST
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.login.listeners import BrokerListener, configured_listeners, tls_context
from barnabas.broker_errors import InvalidConfigError, InvalidRequestError

_ERRORS = "org.apache.kafka.common.errors"


def check_keys(settings: BrokerSettings, names: Collection[str]) -> None:
    """`settings`: of a node as they would be. `names`: those that were set of the node alone.

    Raises: InvalidRequestError.
    """
    for listener in configured_listeners(settings, "", 0):
        prefix = f"listener.name.{listener.name.lower()}."
        if listener.has_tls and any(prefix + name in names for name in KEYS_AND_TRUST):
            _check_files(settings, listener)
            try:
                tls_context(settings, listener)
            except InvalidConfigError as error:
                raise _invalid(error.context) from None


def _check_files(settings: BrokerSettings, listener: BrokerListener) -> None:
    for store in ("ssl.keystore", "ssl.truststore"):
        file, kind = (settings.of_listener(f"{store}.{name}", listener.name) for name in ("location", "type"))
        if file and not Path(file).is_file():
            what = "PEM SSL keystore" if kind == "PEM" else "SSL keystore"
            raise _invalid(f"Failed to load {what} {file}" + ("" if kind == "PEM" else f" of type {kind}"))


def _invalid(reason: str) -> InvalidRequestError:
    return not_in_force(
        "Validation of dynamic config update of SSLFactory failed: "
        f"{_ERRORS}.InvalidConfigurationException: {reason}"
    )
