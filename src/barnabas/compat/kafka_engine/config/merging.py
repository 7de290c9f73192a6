"""A program's settings over the defaults of a class, with those refused that the class does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.compat.kafka_engine.generations.settings import UNKNOWN_SETTING_ERRORS, column
from barnabas.protocol.secrets import HIDDEN

_BUILTIN = {"AssertionError": AssertionError, "ValueError": ValueError}
_SECRETS = frozenset(
    {"sasl_plain_password", "ssl_password", "sasl_oauth_token_provider", "proxy_url", "socks5_proxy"}
)


class Settings(dict[str, Any]):
    """Settings by their names. Its text shows no secrets: programs log the `config` of a client."""

    def __repr__(self) -> str:
        return repr({name: HIDDEN if name in _SECRETS and value else value for name, value in self.items()})


def merged(
    client: str,
    defaults: Mapping[str, Any],
    given: Mapping[str, Any],
    configuration_error: type[Exception],
) -> Settings:
    """The configuration of a `client`, the name of its class, which refuses what is not in `defaults`.

    Raises: AssertionError, ValueError or `configuration_error`, whichever the original raises.
    """
    unknown = set(given) - set(defaults)
    if unknown:
        # Their names alone, where some originals show values: a name may be that of a password, misspelt.
        text = f"Unrecognized configs: {unknown}"
        kind = UNKNOWN_SETTING_ERRORS[client][column()]
        raise _BUILTIN[kind](text) if kind in _BUILTIN else configuration_error(text)
    return Settings({**defaults, **given})


def known(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> Settings:
    """The configuration of a class that ignores what it does not know."""
    return Settings({name: given.get(name, default) for name, default in defaults.items()})
