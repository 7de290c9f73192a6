"""SASL OAUTHBEARER (RFC 7628, KIP-255) on the server's side, and Kafka's check for development, which takes
tokens that nobody has signed.

A client that is refused is told so in an answer first, and has to say something more before it ends.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from barnabas.clock import now_ms
from barnabas.net.sasl_server.conversation import NotProvedError, Proof, RefusedError

INVALID_TOKEN = "invalid_token"
INSUFFICIENT_SCOPE = "insufficient_scope"
_FIRST = re.compile(
    r"n,(?:a=(?P<authorization>(?:[\x02-+\--<>-\x7f]|=2C|=3D)+))?,"
    r"\x01(?P<pairs>(?:[A-Za-z]+=[!-~ \t\r\n]*\x01)*)\x01"
)
_BEARER = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")
_PARTS = 3
LATEST_SECONDS = 253_402_300_799.0
"""The end of the year 9999: later times of tokens are taken for it."""


class InvalidTokenError(Exception):
    """`status`: what the client is told; `scope`: what its token lacks."""

    def __init__(self, status: str, scope: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.scope = scope


@dataclass(frozen=True, slots=True)
class CheckedToken:
    principal: str
    expires_at_ms: int


TokenCheck = Callable[[str], Awaitable[CheckedToken]]
"""Raises: InvalidTokenError."""


class OAuthBearerServer:
    """One message, or two where the first is refused."""

    def __init__(self, check: TokenCheck) -> None:
        self._check = check
        self._refusal: str | None = None
        self.proof: Proof | None = None

    async def answer(self, message: bytes) -> bytes | None:
        if self._refusal is not None:
            raise RefusedError(self._refusal)
        found = _FIRST.fullmatch(message.decode("utf-8", "replace"))
        if found is None:
            raise NotProvedError("Invalid OAUTHBEARER client first message")
        pairs: list[str] = found["pairs"].split("\x01")
        said = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
        bearer = _BEARER.fullmatch(said.get("auth", ""))
        if bearer is None or bearer["scheme"].lower() != "bearer":
            raise NotProvedError("Invalid OAUTHBEARER client first message: 'auth' not specified")
        try:
            token = await self._check(bearer["token"])
        except InvalidTokenError as error:
            self._refusal = _refusal(error)
            return self._refusal.encode()
        authorization = (found["authorization"] or "").replace("=2C", ",").replace("=3D", "=")
        if authorization not in ("", token.principal):
            raise RefusedError(
                "Authentication failed: Client requested an authorization id "
                f"({authorization}) that is different from the token's principal name ({token.principal})"
            )
        self.proof = Proof(token.principal, token.expires_at_ms)
        return b""


def _refusal(error: InvalidTokenError) -> str:
    scope = f',"scope":"{error.scope}"' if error.scope else ""
    return f'{{"status":"{error.status}"{scope}}}'


def claims_of(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the claims of a JSON Web Token, unchecked. Raises: InvalidTokenError."""
    parts = token.split(".")
    if len(parts) != _PARTS:
        raise InvalidTokenError(INVALID_TOKEN)
    return _json_of(parts[0]), _json_of(parts[1])


def _json_of(part: str) -> dict[str, Any]:
    try:
        content = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        raise InvalidTokenError(INVALID_TOKEN) from None
    if not isinstance(content, dict):
        raise InvalidTokenError(INVALID_TOKEN)
    return content  # pyright: ignore[reportUnknownVariableType]


def unsecured_check(options: Mapping[str, str]) -> TokenCheck:
    """`options`: those of the OAuthBearerLoginModule that begin with unsecuredValidator."""
    name_claim = options.get("unsecuredValidatorPrincipalClaimName", "sub")
    scope_claim = options.get("unsecuredValidatorScopeClaimName", "scope")
    required_scope = options.get("unsecuredValidatorRequiredScope", "").split()
    skew_seconds = int(options.get("unsecuredValidatorAllowableClockSkewMs") or 0) / 1000

    async def check(token: str) -> CheckedToken:
        header, claims = claims_of(token)
        is_signed = not token.endswith(".")
        if header.get("alg") != "none" or is_signed:
            raise InvalidTokenError(INVALID_TOKEN)
        return checked_claims(claims, name_claim, scope_claim, required_scope, skew_seconds)

    return check


def checked_claims(
    claims: Mapping[str, Any],
    name_claim: str,
    scope_claim: str,
    required_scope: list[str],
    skew_seconds: float,
) -> CheckedToken:
    """What a token's claims say. Raises: InvalidTokenError."""
    principal = claims.get(name_claim)
    issued, expires = _seconds(claims.get("iat")), _seconds(claims.get("exp"))
    now = now_ms() / 1000
    if (
        not isinstance(principal, str)
        or not principal.strip()
        or not _is_text(principal)
        or expires is None
        or expires <= now - skew_seconds
        or (issued is not None and (issued > now + skew_seconds or expires <= issued))
    ):
        raise InvalidTokenError(INVALID_TOKEN)
    scopes: Any = claims.get(scope_claim) or ()
    if isinstance(scopes, str):
        scopes = scopes.split()
    if not isinstance(scopes, list | tuple):
        raise InvalidTokenError(INVALID_TOKEN)
    if any(wanted not in scopes for wanted in required_scope):
        raise InvalidTokenError(INSUFFICIENT_SCOPE, " ".join(required_scope))
    return CheckedToken(principal, int(min(expires, LATEST_SECONDS) * 1000))


def _seconds(claim: object) -> float | None:
    """A time in a token, None for none. Raises: InvalidTokenError."""
    if claim is None:
        return None
    if isinstance(claim, bool) or not isinstance(claim, (int, float)):
        raise InvalidTokenError(INVALID_TOKEN)
    try:
        seconds = float(claim)
    except OverflowError:
        seconds = math.inf if claim > 0 else -math.inf
    if math.isnan(seconds):
        raise InvalidTokenError(INVALID_TOKEN)
    return seconds


def _is_text(value: str) -> bool:
    """Whether it is without halves of a surrogate, which JSON may have."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
