"""Tokens of OAUTHBEARER that an issuer has signed (KIP-768), by its JSON Web Key Set, through the `jwt`
package (PyJWT), which is an extra.

Owns the keys, and when they are fetched again. Must not know the conversation.
"""

from __future__ import annotations

import asyncio
import importlib
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barnabas.clock import CLOCK
from barnabas.errors import InvalidSettingError, MissingExtraError
from barnabas.http.fetching import fetch
from barnabas.http.messages import HttpRequest, NoAnswerError
from barnabas.net.addresses import in_thread
from barnabas.net.sasl_server.conversation import NotProvedError
from barnabas.net.sasl_server.oauthbearer import (
    INVALID_TOKEN,
    CheckedToken,
    InvalidTokenError,
    TokenCheck,
    checked_claims,
)

# No secret that the broker would share with the issuer: those who could check tokens could make them.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA"),
)


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What Kafka's settings `sasl.oauthbearer.*` ask of tokens. An empty `audience`, or `issuer` None, takes
    any. Times in the settings' own units."""

    jwks_endpoint_url: str
    jwks_endpoint_refresh_ms: int = 3_600_000
    jwks_endpoint_retry_backoff_ms: int = 100
    audience: Sequence[str] = ()
    issuer: str | None = None
    clock_skew_seconds: int = 30
    scope_claim_name: str = "scope"
    sub_claim_name: str = "sub"
    timeout_seconds: float = 10.0


def signed_check(rules: TokenRules) -> TokenCheck:
    """Raises: MissingExtraError, InvalidSettingError."""
    try:
        jwt: Any = importlib.import_module("jwt")
    except ImportError as error:
        raise MissingExtraError("sasl.oauthbearer.jwks.endpoint.url", "testing") from error
    keys = KeySet(rules, jwt)

    async def check(token: str) -> CheckedToken:
        try:
            key = await keys.find(jwt.get_unverified_header(token).get("kid"))
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=list(rules.audience) or None,
                issuer=rules.issuer,
                leeway=rules.clock_skew_seconds,
                options={
                    "require": ["exp", "iat", rules.sub_claim_name],
                    "verify_aud": bool(rules.audience),
                    "verify_sub": False,
                },
            )
        # PyJWT lets Python's own errors through, of claims and nesting that nobody expects.
        except (
            *(jwt.exceptions.PyJWTError, UnknownKeyError),
            *(ArithmeticError, RecursionError, TypeError, ValueError),
        ):
            raise InvalidTokenError(INVALID_TOKEN) from None
        return checked_claims(
            claims, rules.sub_claim_name, rules.scope_claim_name, [], rules.clock_skew_seconds
        )

    return check


class UnknownKeyError(Exception):
    """The issuer has no such key."""


class KeySet:
    """The issuer's keys, fetched when first needed, when they are old, and when a token names one that is not
    known, since issuers change them. One event loop's."""

    def __init__(self, rules: TokenRules, jwt: Any) -> None:
        scheme = urllib.parse.urlsplit(rules.jwks_endpoint_url).scheme
        if scheme not in ("http", "https", "file"):
            raise InvalidSettingError(
                f"sasl.oauthbearer.jwks.endpoint.url: {rules.jwks_endpoint_url!r} is neither https: nor file:"
            )
        self._rules = rules
        self._jwt = jwt
        self._keys: list[Any] = []
        self._fetched_at: float | None = None
        self._fetching = asyncio.Lock()

    async def find(self, key_id: str | None) -> Any:
        """Without an id, the only key there is. Raises: UnknownKeyError, NotProvedError."""
        async with self._fetching:
            age_ms = self._age_ms()
            if age_ms > self._rules.jwks_endpoint_refresh_ms or (
                self._known(key_id) is None and age_ms > self._rules.jwks_endpoint_retry_backoff_ms
            ):
                await self._fetch()
        key = self._known(key_id)
        if key is None:
            raise UnknownKeyError
        return key

    def _known(self, key_id: str | None) -> Any:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == key_id), None)

    def _age_ms(self) -> float:
        if self._fetched_at is None:
            return float("inf")
        return (CLOCK.monotonic() - self._fetched_at) * 1000

    async def _fetch(self) -> None:
        """What fails leaves the keys that there are. Raises: NotProvedError where there are none."""
        url = self._rules.jwks_endpoint_url
        try:
            content = await in_thread(lambda: self._content(url))
            self._keys = self._jwt.PyJWKSet.from_json(content.decode()).keys
        except (NoAnswerError, OSError, ValueError, self._jwt.exceptions.PyJWTError) as error:
            if not self._keys:
                raise NotProvedError(
                    f"no keys by sasl.oauthbearer.jwks.endpoint.url {url}: {error}"
                ) from None
        self._fetched_at = CLOCK.monotonic()

    def _content(self, url: str) -> bytes:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme == "file":
            return Path(urllib.request.url2pathname(parts.path)).read_bytes()
        answer = fetch(
            HttpRequest(url, {"Accept": "application/json"}),
            timeout_seconds=self._rules.timeout_seconds,
            follows_redirects=True,
        )
        if not answer.is_success:
            raise NoAnswerError(f"HTTP {answer.status}")
        return answer.body
