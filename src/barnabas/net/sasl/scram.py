"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): neither side shows the password to the other.

Also authenticates by a delegation token (KIP-48). Like Java's client it does without SASLprep and channel
bindings.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from barnabas.errors import SaslAuthenticationError
from barnabas.net.addresses import in_thread
from barnabas.net.sasl.mechanism import Conversation
from barnabas.net.sasl.user_password import CredentialsHolder, UserPassword

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS = 4096
# More would keep a thread busy for minutes: no broker asks for that in earnest.
MAX_ITERATIONS = 10_000_000
NO_CHANNEL_BINDING = "n,,"


class Scram:
    """One of the two mechanisms, by its name."""

    def __init__(self, name: str, credentials: CredentialsHolder) -> None:
        self.name = name
        self._credentials = credentials

    @property
    def identity(self) -> str | None:
        return self._credentials.current.username

    def converse(self, host: str) -> ScramConversation:
        return ScramConversation(self.name, self._credentials.current, secrets.token_urlsafe(24))


class ScramConversation(Conversation):
    """The four messages. `nonce`: what makes this conversation unlike any other."""

    def __init__(self, mechanism: str, user: UserPassword, nonce: str) -> None:
        self._mechanism = mechanism
        self._hash = HASHES[mechanism]
        self._user = user
        self._nonce = nonce
        self._first_bare = ""
        self._server_signature: bytes | None = None

    async def first(self) -> bytes:
        name = self._user.username.replace("=", "=3D").replace(",", "=2C")
        token = ",tokenauth=true" if self._user.is_token else ""
        self._first_bare = f"n={name},r={self._nonce}{token}"
        return (NO_CHANNEL_BINDING + self._first_bare).encode()

    async def reply(self, challenge: bytes) -> bytes | None:
        message = self._text(challenge)
        fields = self._fields(message)
        if self._server_signature is None:
            return await self._final(message, fields)
        self._check_server(fields)
        return None

    async def _final(self, server_first: str, fields: dict[str, str]) -> bytes:
        nonce = fields.get("r", "")
        salt = self._decoded(fields.get("s", ""))
        iterations = int(fields["i"]) if fields.get("i", "").isdecimal() else 0
        if not nonce.startswith(self._nonce) or nonce == self._nonce or not salt:
            raise self._broken("its first message does not fit the client's")
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise self._broken(f"it asks for {iterations} iterations, which is not safe")
        password = self._user.password.reveal().encode()
        salted = await in_thread(lambda: hashlib.pbkdf2_hmac(self._hash, password, salt, iterations))
        without_proof = f"c={base64.b64encode(NO_CHANNEL_BINDING.encode()).decode()},r={nonce}"
        exchanged = f"{self._first_bare},{server_first},{without_proof}".encode()
        client_key = self._hmac(salted, b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        signature = self._hmac(stored_key, exchanged)
        proof = bytes(key ^ sign for key, sign in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), exchanged)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _check_server(self, fields: dict[str, str]) -> None:
        if "e" in fields:
            raise SaslAuthenticationError(f"the broker refuses {self._user.username!r}: {fields['e']}")
        expected = self._server_signature or b""
        if not hmac.compare_digest(self._decoded(fields.get("v", "")), expected):
            raise self._broken("it does not know the password itself: this is not the broker that it claims")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)

    def _text(self, message: bytes) -> str:
        try:
            return message.decode()
        except UnicodeDecodeError:
            raise self._broken("its message is no text") from None

    def _fields(self, message: str) -> dict[str, str]:
        return {part[:1]: part[2:] for part in message.split(",") if part[1:2] == "="}

    def _decoded(self, text: str) -> bytes:
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise self._broken("its message is not in base 64") from None

    def _broken(self, reason: str) -> SaslAuthenticationError:
        return SaslAuthenticationError(f"the broker does not keep to {self._mechanism}: {reason}")
