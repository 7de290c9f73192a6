"""Tokens for OAUTHBEARER from an OpenID Connect endpoint, or one like it.

Owns what an answer means; what is asked is the grant's. Knows nothing of SASL.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

from barnabas.clock import now_ms
from barnabas.credentials import OAuthBearerToken
from barnabas.errors import CredentialsError, KafkaConnectionError
from barnabas.http.fetching import fetch
from barnabas.http.messages import NoAnswerError, TlsFailedError
from barnabas.net.addresses import in_thread
from barnabas.net.sasl.grants import Grant
from barnabas.values import frozen

SERVER_ERRORS = 500
TOO_MANY_REQUESTS = 429


@frozen
class OidcClient:
    """Asks `url` for a token. `timeout_ms` bounds one whole request."""

    url: str
    grant: Grant
    timeout_ms: int
    tls: ssl.SSLContext | None
    """None for a URL without TLS."""

    async def token(self) -> OAuthBearerToken:
        """Raises: CredentialsError (it refuses), KafkaConnectionError (it is away: to be tried again)."""
        try:
            async with asyncio.timeout(self.timeout_ms / 1000):
                return await in_thread(self._ask)
        except TimeoutError:
            raise KafkaConnectionError(f"{self.url} gave no token within {self.timeout_ms} ms") from None

    def _ask(self) -> OAuthBearerToken:
        request = self.grant.request(self.url)
        try:
            answer = fetch(request, timeout_seconds=self.timeout_ms / 1000, tls=self.tls)
        except TlsFailedError as error:
            raise CredentialsError(f"{self.url}: TLS failed: {error}") from None
        except NoAnswerError as error:
            raise KafkaConnectionError(f"{self.url} gave no token: {error}") from None
        if answer.is_success:
            return self._read(answer.body)
        status = answer.status
        text = f"{self.url} gave no token to {self.grant.who}: HTTP {status}{_reason(answer.body)}"
        if status >= SERVER_ERRORS or status == TOO_MANY_REQUESTS:
            raise KafkaConnectionError(text)
        raise CredentialsError(f"{text}; check {self.grant.settings}")

    def _read(self, body: bytes) -> OAuthBearerToken:
        try:
            answer: dict[str, Any] = json.loads(body)
            value = answer["access_token"]
            seconds = answer.get("expires_in")
            expires_at_ms = None if seconds is None else int((now_ms() / 1000 + float(seconds)) * 1000)
        except (ValueError, KeyError, TypeError):
            value, expires_at_ms = None, None
        if not isinstance(value, str):
            raise CredentialsError(f"{self.url} answered without an access_token: is it the token endpoint?")
        return OAuthBearerToken(value, expires_at_ms)


def _reason(body: bytes) -> str:
    """`error` and `error_description` of RFC 6749, 5.2."""
    try:
        answer: dict[str, Any] = json.loads(body)
        words = [answer[name] for name in ("error", "error_description") if answer.get(name)]
    except (ValueError, AttributeError, TypeError):
        return ""
    return f" ({': '.join(map(str, words))})" if words else ""
