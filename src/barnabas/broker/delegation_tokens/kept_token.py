"""A delegation token as it is kept (KIP-48): whose it is, who may renew it, and until when.

Owns what a token's times mean. Its HMAC, which is its password, is made of the broker's key and the token's
id, and kept nowhere. Must not know requests, nor where tokens are kept.
"""

from __future__ import annotations

import base64
import hmac
import uuid
from dataclasses import dataclass

from barnabas.broker.principal import Principal


@dataclass(frozen=True, slots=True)
class KeptToken:
    """Principals are written as `User:alice`; times in milliseconds since 1970. `requester`: who asked for
    it, maybe for another `owner` (KIP-373)."""

    token_id: str
    owner: str
    requester: str
    renewers: list[str]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int

    def is_expired(self, now_ms: int) -> bool:
        return min(self.expiry_timestamp_ms, self.max_timestamp_ms) < now_ms

    def may_be_renewed_by(self, principal: Principal) -> bool:
        return str(principal) in (self.owner, *self.renewers)

    def concerns(self, principal: str) -> bool:
        return principal in (self.owner, self.requester, *self.renewers)


def new_token_id() -> str:
    """In Kafka's form. One that begins with "-" would be read as an option of its tools."""
    while True:
        token_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not token_id.startswith("-"):
            return token_id


def token_hmac(secret_key: str, token_id: str) -> bytes:
    return hmac.digest(secret_key.encode(), token_id.encode(), "sha512")
