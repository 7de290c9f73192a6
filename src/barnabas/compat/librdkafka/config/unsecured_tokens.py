"""Tokens for OAUTHBEARER that nobody signs, for tests: `enable.sasl.oauthbearer.unsecure.jwt`.

Owns what `sasl.oauthbearer.config` says of them, with librdkafka's complaints. Knows nothing of connections.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.credentials import OAuthBearerToken
from barnabas.errors import CredentialsError

CONFIG = "sasl.oauthbearer.config"
_EXTENSION = "extension_"
_NAMES = ("principalClaimName", "principal", "scopeClaimName", "scope", "lifeSeconds")
_INTEGER = re.compile("[+-]?[0-9]+")
_LONGEST_LIFE_SECONDS = 2**31 - 1


def unsecured(config: str | None) -> Callable[[], OAuthBearerToken]:
    """A source of tokens. `config` says what is in them, separated by blanks: principal, principalClaimName,
    scope (separated by commas), scopeClaimName, lifeSeconds, and extension_NAME.

    Raises: CredentialsError, when it is asked.
    """
    return lambda: _Claims.parse(config or "").token()


@dataclass(slots=True)
class _Claims:
    said: dict[str, str] = field(default_factory=dict[str, str])
    extensions: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def parse(cls, config: str) -> _Claims:
        """Raises: CredentialsError."""
        if not config:
            raise _invalid("must not be empty")
        claims = cls()
        rest = config.lstrip(" ")
        while rest:
            name, equals, _ = rest.partition("=")
            word, _, after = rest.partition(" ")
            if equals and name in _NAMES:
                claims._take(name, word.removeprefix(f"{name}="))
            elif rest.startswith(_EXTENSION):
                claims._take_extension(word)
            else:
                raise CredentialsError(f"Unrecognized {CONFIG} beginning at: {rest}")
            rest = after.lstrip(" ")
        if "principal" not in claims.said:
            raise _invalid("no principal=<value>")
        for name in ("scopeClaimName", "principalClaimName", "principal", "scope"):
            if '"' in (value := claims.said.get(name, "")):
                raise _invalid(f"'\"' cannot appear in {name}: {value}")
        return claims

    def _take(self, name: str, value: str) -> None:
        if not value:
            raise _invalid(f"empty '{name}='")
        if name == "lifeSeconds":
            _check_life(value)
        elif name in self.said:
            raise _invalid(f"multiple '{name}=' entries")
        self.said[name] = value

    def _take_extension(self, word: str) -> None:
        name, _, value = word.removeprefix(_EXTENSION).partition("=")
        if not name:
            raise _invalid(f"empty '{_EXTENSION}' key")
        self.extensions[name] = value

    def token(self) -> OAuthBearerToken:
        now = time.time()
        expiry = now + int(self.said.get("lifeSeconds", 3600))
        claims: dict[str, Any] = {
            self.said.get("principalClaimName", "sub"): self.said["principal"],
            "iat": now,
            "exp": expiry,
        }
        if "scope" in self.said:
            claims[self.said.get("scopeClaimName", "scope")] = self.said["scope"].split(",")
        text = f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."
        return OAuthBearerToken(text, int(expiry * 1000), dict(self.extensions))


def _check_life(value: str) -> None:
    if not _INTEGER.fullmatch(value):
        raise _invalid(f"non-integral 'lifeSeconds=': {value}")
    if not 0 < int(value) <= _LONGEST_LIFE_SECONDS:
        raise _invalid(f"value out of range of positive int 'lifeSeconds=': {value}")


def _invalid(what: str) -> CredentialsError:
    return CredentialsError(f"Invalid {CONFIG}: {what}")


def _encoded(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
