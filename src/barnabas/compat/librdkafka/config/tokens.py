"""Tokens for OAUTHBEARER as programs for librdkafka give them: by a callback, or made up without a signature.

Knows nothing of connections.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from barnabas.credentials import OAuthBearerToken

_DEFAULT_LIFE_SECONDS = 3600


def token_of(given: Any) -> OAuthBearerToken:
    """The token in what an `oauth_cb` returns: (token, expiry in seconds since 1970), maybe with a principal
    and extensions behind. Raises: TypeError."""
    parts: Any = given
    if not isinstance(given, tuple) or not 2 <= len(parts) <= 4:
        raise TypeError("expect (token_str, expiry_time) or (token_str, expiry_time, principal, extensions)")
    token, expiry_seconds = parts[0], float(parts[1])
    if not isinstance(token, str):
        raise TypeError(f"expect the token as str, not {type(token).__name__}")
    extensions: Mapping[str, str] = parts[3] if len(parts) == 4 and parts[3] else {}
    return OAuthBearerToken(token, int(expiry_seconds * 1000), dict(extensions))


def from_callback(
    oauth_cb: Callable[[str | None], Any], config: str | None
) -> Callable[[], OAuthBearerToken]:
    """A source of tokens that asks an `oauth_cb`, which gets `sasl.oauthbearer.config`."""

    def token() -> OAuthBearerToken:
        return token_of(oauth_cb(config))

    return token


def unsecured(config: str | None) -> Callable[[], OAuthBearerToken]:
    """A source of tokens that nobody signs, for tests: `enable.sasl.oauthbearer.unsecure.jwt`.

    `config` says what is in them, separated by blanks: principal, principalClaimName, scope (separated by
    commas), scopeClaimName, lifeSeconds, and extension_NAME.
    """
    words = [word.partition("=") for word in (config or "").split()]
    said = {name: value for name, _, value in words}

    def token() -> OAuthBearerToken:
        now = time.time()
        life_seconds = int(said.get("lifeSeconds", _DEFAULT_LIFE_SECONDS))
        claims: dict[str, Any] = {
            said.get("principalClaimName", "sub"): said.get("principal", ""),
            "iat": now,
            "exp": now + life_seconds,
        }
        if "scope" in said:
            claims[said.get("scopeClaimName", "scope")] = said["scope"].split(",")
        prefix = "extension_"
        extensions = {name[len(prefix) :]: v for name, v in said.items() if name.startswith(prefix)}
        text = f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."
        return OAuthBearerToken(text, int((now + life_seconds) * 1000), extensions)

    return token


def _encoded(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
