"""Tokens for OAUTHBEARER as programs for librdkafka give them: by an `oauth_cb`.

Owns what an `oauth_cb` may return, and what becomes of one that fails. Knows nothing of connections.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, cast

from barnabas.credentials import OAuthBearerToken
from barnabas.errors import CredentialsError

TokenSource = Callable[[], OAuthBearerToken | Awaitable[OAuthBearerToken]]

# What librdkafka says whatever is wrong, but for a return of another kind.
FAILED = "OAuth callback raised exception"
WRONG_KIND = "expect (token_str, expiry_time) or (token_str, expiry_time, principal, extensions)"

_NAME = re.compile("[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7E \t\r\n]*")
# A principal, which is shown to nobody, and extensions.
_WITHOUT_MORE: tuple[Any, ...] = ("", {})
# librdkafka counts microseconds in 64 bits.
_LATEST_MS = (2**63 - 1) // 1000


def from_callback(oauth_cb: Callable[[str | None], Any], config: str | None) -> TokenSource:
    """A source of tokens that asks an `oauth_cb`, which gets `sasl.oauthbearer.config`.

    The callback of a client for asyncio may return a future of what others return. Raises: CredentialsError.
    """

    def token() -> OAuthBearerToken | Awaitable[OAuthBearerToken]:
        try:
            given = oauth_cb(config)
        except BaseException as error:
            raise CredentialsError(FAILED) from error
        if isinstance(given, concurrent.futures.Future):
            return _TokenToCome(cast("concurrent.futures.Future[Any]", given))
        return token_of(given)

    return token


def nowhere() -> OAuthBearerToken:
    """Raises: CredentialsError."""
    raise CredentialsError("neither oauth_cb nor sasl.oauthbearer.method=oidc says where tokens come from")


class _TokenToCome:
    def __init__(self, given: concurrent.futures.Future[Any]) -> None:
        self._given = given

    def __await__(self) -> Generator[Any, None, OAuthBearerToken]:
        return self._token().__await__()

    async def _token(self) -> OAuthBearerToken:
        try:
            given = await asyncio.wrap_future(self._given)
        except Exception as error:
            raise CredentialsError(FAILED) from error
        return token_of(given)


def token_of(given: Any) -> OAuthBearerToken:
    """The token in what an `oauth_cb` returns: (token, expiry in seconds since 1970), maybe with a principal
    and extensions behind. Raises: CredentialsError."""
    parts = cast("tuple[Any, ...]", given)
    if not isinstance(given, tuple) or not 2 <= len(parts) <= 4:
        raise CredentialsError(WRONG_KIND)
    token, expiry, principal, extensions = (*parts, *_WITHOUT_MORE[len(parts) - 2 :])
    if not (
        isinstance(token, str)
        and (hasattr(expiry, "__float__") or hasattr(expiry, "__index__"))
        and isinstance(principal, str)
        and isinstance(extensions, dict)
        and all(
            isinstance(text, str) for pair in cast("Mapping[Any, Any]", extensions).items() for text in pair
        )
    ):
        raise CredentialsError(WRONG_KIND)
    try:
        _check_principal(principal)
        return _checked(token, float(expiry), cast("Mapping[str, str]", extensions))
    except (TypeError, ValueError, OverflowError) as error:
        raise CredentialsError(FAILED) from error


def _check_principal(principal: str) -> None:
    """Raises: ValueError for what is no text to a library in C."""
    principal.encode()
    if "\0" in principal:
        raise ValueError(f"no principal can be called {principal!r}")


def _checked(token: str, expiry: float, extensions: Mapping[str, str]) -> OAuthBearerToken:
    """Raises: ValueError, OverflowError."""
    expires_at_ms = int(expiry * 1000)
    now_ms = int(time.time() * 1000)
    if not now_ms < expires_at_ms <= _LATEST_MS:
        raise ValueError(f"Must supply an unexpired token: now={now_ms}ms, exp={expires_at_ms}ms")
    if not _VALUE.fullmatch(token):
        raise ValueError("the token has characters that a token cannot have")
    for name, value in extensions.items():
        if not _NAME.fullmatch(name) or name == "auth" or not _VALUE.fullmatch(value):
            raise ValueError(f"no extension of a token can be called {name!r}, or be {value!r}")
    return OAuthBearerToken(token, expires_at_ms, dict(extensions))
