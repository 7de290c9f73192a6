"""SASL SCRAM (RFC 5802, RFC 7677) on the server's side.

What is kept of a password is enough to check it, and no client could log in with it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.net.sasl.scram import HASHES
from barnabas.net.sasl_server.conversation import NotProvedError, Proof, RefusedError

_FIRST = re.compile(
    r"n,(?:a=(?P<authorization>(?:[^\x00=,]|=2C|=3D)+))?,"
    r"(?P<bare>(?:m=[^\x00,]*,)?n=(?P<user>(?:[^\x00=,]|=2C|=3D)+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    r"(?P<extensions>(?:,[A-Za-z]\w*=[^,]*)*))",
    re.DOTALL,
)
_FINAL = re.compile(
    r"(?P<without_proof>c=(?P<binding>[A-Za-z0-9/+=]+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    r"(?:,[A-Za-z]\w*=[^,]*)*),p=(?P<proof>[A-Za-z0-9/+=]+)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ScramSecret:
    """What is kept of a password."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(cls, digest: str, password: bytes, salt: bytes, iterations: int) -> ScramSecret:
        """Of a password itself. `digest`: of `barnabas.net.sasl.scram.HASHES`."""
        salted = hashlib.pbkdf2_hmac(digest, password, salt, iterations)
        stored_key = hashlib.new(digest, hmac.digest(salted, b"Client Key", digest)).digest()
        server_key = hmac.digest(salted, b"Server Key", digest)
        return cls(salt, iterations, stored_key, server_key)


FindSecret = Callable[[str, bool], tuple[ScramSecret, Proof] | None]
"""Of a user, or the id of a delegation token, as the second argument tells, and what it proves; None if
there is none."""


class ScramServer:
    """Four messages, two of them the client's."""

    def __init__(self, mechanism: str, find: FindSecret, nonce: str | None = None) -> None:
        self._digest = HASHES[mechanism]
        self._find = find
        self._server_nonce = nonce or secrets.token_urlsafe(24)
        self._secret: ScramSecret | None = None
        self._promised: Proof | None = None
        self._nonce = ""
        self._exchanged = ""
        self.proof: Proof | None = None

    async def answer(self, message: bytes) -> bytes | None:
        try:
            text = message.decode()
        except UnicodeDecodeError:
            raise NotProvedError("the message is no text") from None
        if self._promised is None:
            return self._first(text)
        return self._last(text, self._promised)

    def _first(self, text: str) -> bytes:
        found = _FIRST.fullmatch(text)
        if found is None:
            raise NotProvedError("Invalid SCRAM client first message format")
        user = found["user"].replace("=2C", ",").replace("=3D", "=")
        is_token = "tokenauth=true" in found["extensions"].lower().split(",")
        known = self._find(user, is_token)
        if known is None:
            raise NotProvedError("Authentication failed: Invalid user credentials")
        authorization = found["authorization"]
        if authorization is not None and authorization.replace("=2C", ",").replace("=3D", "=") != user:
            raise RefusedError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        secret, self._promised = known
        self._secret = secret
        self._nonce = found["nonce"] + self._server_nonce
        salt = base64.b64encode(secret.salt).decode()
        answer = f"r={self._nonce},s={salt},i={secret.iterations}"
        self._exchanged = f"{found['bare']},{answer}"
        return answer.encode()

    def _last(self, text: str, promised: Proof) -> bytes:
        found = _FINAL.fullmatch(text)
        secret = self._secret
        if found is None or secret is None:
            raise NotProvedError("Invalid SCRAM client final message format")
        if found["nonce"] != self._nonce:
            raise NotProvedError("Invalid client nonce in the final client message.")
        try:
            proof = base64.b64decode(found["proof"], validate=True)
        except (binascii.Error, ValueError):
            raise NotProvedError("the proof is not in base 64") from None
        exchanged = f"{self._exchanged},{found['without_proof']}".encode()
        signature = hmac.digest(secret.stored_key, exchanged, self._digest)
        if len(proof) != len(signature):
            raise NotProvedError("Invalid client credentials")
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        stored_key = hashlib.new(self._digest, client_key).digest()
        if not hmac.compare_digest(stored_key, secret.stored_key):
            raise NotProvedError("Invalid client credentials")
        self.proof = promised
        server_signature = hmac.digest(secret.server_key, exchanged, self._digest)
        return f"v={base64.b64encode(server_signature).decode()}".encode()
