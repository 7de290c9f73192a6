"""SASL OAUTHBEARER (RFC 7628, KIP-255): a token in place of a password, and where tokens come from.

Owns the token that is shared by a client's connections, and when it is replaced.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

from barnabas.clock import now_ms
from barnabas.credentials import OAuthBearerToken
from barnabas.errors import BarnabasError, CredentialsError, InvalidSettingError, SaslAuthenticationError
from barnabas.net.sasl.mechanism import Conversation
from barnabas.net.sasl.user_callback import call

SEPARATOR = "\x01"
# The answer to the broker's reasons for refusing, after which it ends the conversation (RFC 7628, 3.2.3).
REFUSAL_SEEN = SEPARATOR.encode()
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7E \t\r\n]+")
_NO_EXTENSION = "extension {!r} of OAUTHBEARER is not name=value: the name takes letters and is not 'auth'"
_TOKEN = re.compile(r"[-._~+/A-Za-z0-9]+=*")

TokenSource = Callable[[], str | OAuthBearerToken | Awaitable[str | OAuthBearerToken]]


class OAuthBearer:
    """The mechanism OAUTHBEARER. `refresh_factor`: the part of a token's life after which a new one is asked
    for, where one is needed."""

    name = "OAUTHBEARER"
    # Whom a token stands for is the broker's to read.
    identity = None

    def __init__(self, source: TokenSource, extensions: Sequence[str], refresh_factor: float) -> None:
        self._source = source
        self._extensions = dict(_extension(text) for text in extensions)
        self._refresh_factor = refresh_factor
        self._token: OAuthBearerToken | None = None
        self._fresh_until = 0.0
        self._expires_at = 0.0
        self._lock = asyncio.Lock()

    def converse(self, host: str) -> OAuthBearerConversation:
        return OAuthBearerConversation(self.get_token, self._extensions)

    @property
    def fresh_seconds(self) -> float | None:
        """For how long no new token is needed. None: there is none, or it is not known when it ends."""
        return None if self._token is None else max(0.0, self._fresh_until - now_ms() / 1000)

    async def get_token(self) -> OAuthBearerToken:
        """The token of all connections, or a new one where that is nearing its end. One that has not ended is
        good enough while a new one is asked for, or cannot be got. Raises: BarnabasError."""
        if self._lock.locked() and (token := self._valid_token()) is not None:
            return token
        try:
            return await self.renew()
        except BarnabasError:
            if (token := self._valid_token()) is None:
                raise
            return token

    def _valid_token(self) -> OAuthBearerToken | None:
        return self._token if now_ms() / 1000 < self._expires_at else None

    async def renew(self) -> OAuthBearerToken:
        """As get_token, but it raises what keeps a new token from being had."""
        async with self._lock:
            if self._token is not None and now_ms() / 1000 < self._fresh_until:
                return self._token
            token = await self._new_token()
            if not _TOKEN.fullmatch(token.value):
                raise CredentialsError("the token for OAUTHBEARER has characters that a token cannot have")
            for name, value in token.extensions.items():
                if not _is_extension(name, value):
                    raise CredentialsError(_NO_EXTENSION.format(name))
            now = now_ms() / 1000
            expires_at_ms = _expiry_ms(token)
            if expires_at_ms is None:
                self._token = None
                return token
            lifetime = expires_at_ms / 1000 - now
            if lifetime <= 0:
                raise CredentialsError("the token for OAUTHBEARER has expired already: check what issues it")
            self._token, self._expires_at = token, expires_at_ms / 1000
            self._fresh_until = now + lifetime * self._refresh_factor
            return token

    async def _new_token(self) -> OAuthBearerToken:
        given = await call("sasl_oauthbearer_token_callback", self._source)
        if isinstance(given, str):
            return OAuthBearerToken(given)
        if not isinstance(given, OAuthBearerToken):
            raise CredentialsError(
                f"sasl_oauthbearer_token_callback gave a {type(given).__name__}, not an OAuthBearerToken"
            )
        return given


class OAuthBearerConversation(Conversation):
    """One message, which the broker answers with an empty one, or with its reasons."""

    def __init__(
        self, get_token: Callable[[], Awaitable[OAuthBearerToken]], extensions: Mapping[str, str]
    ) -> None:
        self._get_token = get_token
        self._extensions = extensions
        self._refusal = ""
        self._expires_at_ms: int | None = None

    async def first(self) -> bytes:
        token = await self._get_token()
        self._expires_at_ms = _expiry_ms(token)
        extensions = {**self._extensions, **token.extensions}
        pairs = "".join(f"{name}={value}{SEPARATOR}" for name, value in extensions.items())
        return f"n,,{SEPARATOR}auth=Bearer {token.value}{SEPARATOR}{pairs}{SEPARATOR}".encode()

    async def reply(self, challenge: bytes) -> bytes | None:
        if self._refusal:
            raise SaslAuthenticationError(f"the broker refuses the token: {self._refusal}")
        if not challenge:
            return None
        self._refusal = _reasons(challenge)
        return REFUSAL_SEEN

    def has_expired(self) -> bool:
        return self._expires_at_ms is not None and now_ms() >= self._expires_at_ms


def _reasons(challenge: bytes) -> str:
    try:
        answer = json.loads(challenge)
        return ", ".join(f"{name} {value}" for name, value in answer.items())
    except (ValueError, AttributeError):
        return "for a reason that cannot be read"


def _expiry_ms(token: OAuthBearerToken) -> int | None:
    """When a token expires, in milliseconds since 1970: as its source says, or a JSON Web Token itself."""
    if token.expires_at_ms is not None:
        return token.expires_at_ms
    parts = token.value.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return int(float(claims["exp"]) * 1000)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError):
        return None


def _extension(text: str) -> tuple[str, str]:
    """Raises: InvalidSettingError."""
    name, _, value = text.partition("=")
    if not _is_extension(name, value):
        raise InvalidSettingError(_NO_EXTENSION.format(name))
    return name, value


def _is_extension(name: str, value: str) -> bool:
    return (
        bool(_EXTENSION_NAME.fullmatch(name)) and name != "auth" and bool(_EXTENSION_VALUE.fullmatch(value))
    )
