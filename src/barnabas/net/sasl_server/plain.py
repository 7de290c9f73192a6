"""SASL PLAIN (RFC 4616) on the server's side, in Kafka's words."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from barnabas.net.sasl_server.conversation import NotProvedError, Proof, RefusedError

PARTS = 3


class PlainServer:
    """One message. `passwords`: of each user."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.proof: Proof | None = None

    async def answer(self, message: bytes) -> bytes | None:
        try:
            parts = message.decode().split("\0")
        except UnicodeDecodeError:
            raise NotProvedError("the message is no text") from None
        if len(parts) != PARTS:
            raise NotProvedError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, user, password = parts
        if not user:
            raise RefusedError("Authentication failed: username not specified")
        if not password:
            raise RefusedError("Authentication failed: password not specified")
        # As long for a user who is not there.
        expected = self._passwords.get(user)
        if not hmac.compare_digest((expected or "").encode(), password.encode()) or expected is None:
            raise RefusedError("Authentication failed: Invalid username or password")
        if authorization_id not in ("", user):
            raise RefusedError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.proof = Proof(user)
        return b""
