"""Which fields of messages hold a secret, and how they look in the text of a message.

Knows the fields by their names alone: the drop-in modules have classes of their own for messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

HIDDEN = "***"
"""In the place of a secret."""

_SECRETS = frozenset({"auth_bytes", "sasl_auth_bytes", "salted_password", "hmac"})
_NAMES_OF_SECRETS = ("auth", "hmac", "password", "secret", "token")
_VALUES = frozenset({"value", "config_value"})
_NAMES = ("name", "config_name", "config_key")
# Brokers tell which settings are secret only when they describe them.
_OF_SECRET_SETTINGS = ("password", "passphrase", "secret", "jaas", "keystore.key", "private.key")


def shown_field(name: str, fields: Mapping[str, Any], show: Callable[[Any], str] = repr) -> str:
    """The value of the field `name`, one of the `fields` of a message or a part of it, as a text."""
    value = fields[name]
    return HIDDEN if _is_secret(name, fields) and value else show(value)


def shown_unknown_field(name: str, value: Any) -> str:
    """The value of a field that no message has, whose name may be that of a secret with an error in it."""
    return HIDDEN if any(part in name.lower() for part in _NAMES_OF_SECRETS) else repr(value)


def _is_secret(name: str, fields: Mapping[str, Any]) -> bool:
    if name in _SECRETS:
        return True
    if name not in _VALUES:
        return False
    setting = next((str(fields[each]) for each in _NAMES if each in fields), "").lower()
    return any(part in setting for part in _OF_SECRET_SETTINGS)
