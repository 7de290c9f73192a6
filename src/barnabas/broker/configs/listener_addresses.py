"""A change of `listeners` and `listener.security.protocol.map` while a broker runs, in the words of Kafka's
refusals.

Owns the rules. What they mean to a broker that starts is in `login.listeners`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.broker.configs.broker_settings import BROKER_SETTINGS, LISTENERS, PROTOCOL_MAP
from barnabas.broker.configs.setting_forms import words_of
from barnabas.broker_errors import InvalidRequestError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_ADDRESS = re.compile(r"(?P<name>[^:/]+)://(?P<host>\[[^\]]*\]|[^:]*):(?P<port>-?\d+)")


def check_addresses(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raises: InvalidRequestError."""
    protocols = _protocols(after)
    names = _names(after, protocols)
    advertised = [word.partition("://")[0] for word in words_of(after.get("advertised.listeners", ""))]
    if not set(advertised) <= set(names):
        raise InvalidRequestError(
            "requirement failed: advertised.listeners listener names must be equal to or a subset of the "
            f"ones defined in listeners. Found {','.join(advertised)}. The valid options based on the "
            f"current configuration are {','.join(names)}"
        )
    known = _protocols(before)
    for name in _names(before, known):
        if name in names and protocols[name] != known[name]:
            raise InvalidRequestError(
                "Invalid value org.apache.kafka.common.config.ConfigException: Security protocol cannot be "
                f"updated for existing listener ListenerName({name.upper()}) for configuration Invalid "
                "dynamic configuration"
            )


def _protocols(values: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in filter(None, words_of(values.get(PROTOCOL_MAP, BROKER_SETTINGS[PROTOCOL_MAP].default))):
        name, colon, protocol = word.rpartition(":")
        if not colon:
            raise unparsed(PROTOCOL_MAP, word)
        if not name:
            raise InvalidRequestError("The provided listener name is null or empty string")
        if protocol not in PROTOCOLS:
            raise InvalidRequestError(f"Invalid security protocol `{protocol}` defined in {PROTOCOL_MAP}")
        found[name] = protocol
    return found


def _names(values: Mapping[str, str], protocols: Mapping[str, str]) -> list[str]:
    words = list(dict.fromkeys(words_of(values.get(LISTENERS, BROKER_SETTINGS[LISTENERS].default))))
    refusal = f"Error creating broker listeners from '[{', '.join(words)}]': "
    found: list[str] = []
    for word in words:
        matched = _ADDRESS.fullmatch(word)
        if matched is None:
            raise InvalidRequestError(f"{refusal}Unable to parse {word} to a broker endpoint")
        if matched["name"] not in protocols:
            raise InvalidRequestError(f"{refusal}No security protocol defined for listener {matched['name']}")
        found.append(matched["name"])
    return found


def unparsed(name: str, word: str) -> InvalidRequestError:
    """Of a word in which a colon is missing, as Java complains."""
    return InvalidRequestError(
        f"Error parsing configuration property '{name}': begin 0, end -1, length {len(word)}"
    )
