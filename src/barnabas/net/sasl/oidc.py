"""Tokens for OAUTHBEARER from an OpenID Connect endpoint, or one like it.

Owns the HTTP connection and what an answer means; what is asked is the grant's. Knows nothing of SASL.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import IO, Any

from barnabas.credentials import OAuthBearerToken
from barnabas.errors import CredentialsError, KafkaConnectionError
from barnabas.net.addresses import in_thread
from barnabas.net.sasl.grants import Grant
from barnabas.values import frozen

MAX_ANSWER_BYTES = 1 << 20
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
            return await asyncio.wait_for(in_thread(self._ask), self.timeout_ms / 1000)
        except TimeoutError:
            raise KafkaConnectionError(f"{self.url} gave no token within {self.timeout_ms} ms") from None

    def _ask(self) -> OAuthBearerToken:
        request = self.grant.request(self.url)
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if self.tls is not None:
            handlers.append(urllib.request.HTTPSHandler(context=self.tls))
        opener = urllib.request.build_opener(*handlers)
        try:
            with opener.open(request, timeout=self.timeout_ms / 1000) as answer:
                body = answer.read(MAX_ANSWER_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                reason = _reason(error.read(MAX_ANSWER_BYTES))
            text = f"{self.url} gave no token to {self.grant.who}: HTTP {error.code}{reason}"
            if error.code >= SERVER_ERRORS or error.code == TOO_MANY_REQUESTS:
                raise KafkaConnectionError(text) from None
            raise CredentialsError(f"{text}; check {self.grant.settings}") from None
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.URLError) and isinstance(error.reason, ssl.SSLError):
                raise CredentialsError(f"{self.url}: TLS failed: {error.reason}") from None
            raise KafkaConnectionError(f"{self.url} gave no token: {error}") from None
        return self._read(body)

    def _read(self, body: bytes) -> OAuthBearerToken:
        try:
            answer: dict[str, Any] = json.loads(body)
            value = answer["access_token"]
            seconds = answer.get("expires_in")
            expires_at_ms = None if seconds is None else int((time.time() + float(seconds)) * 1000)
        except (ValueError, KeyError, TypeError):
            value, expires_at_ms = None, None
        if not isinstance(value, str):
            raise CredentialsError(f"{self.url} answered without an access_token: is it the token endpoint?")
        return OAuthBearerToken(value, expires_at_ms)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the client's secret to another address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


def _reason(body: bytes) -> str:
    """`error` and `error_description` of RFC 6749, 5.2."""
    try:
        answer: dict[str, Any] = json.loads(body)
        words = [answer[name] for name in ("error", "error_description") if answer.get(name)]
    except (ValueError, AttributeError, TypeError):
        return ""
    return f" ({': '.join(map(str, words))})" if words else ""
