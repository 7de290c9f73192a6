"""Users' SCRAM credentials as they are kept (KIP-554): what of a password is enough to check it.

Owns their shape, the rules on a change and the change. Must not know requests, nor where they are kept.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.broker.metadata_part import MetadataPart
from barnabas.broker_errors import (
    ResourceNotFoundError,
    UnacceptableCredentialError,
    UnsupportedSaslMechanismError,
)

# Kafka's numbers of the mechanisms.
MECHANISMS: Mapping[int, str] = {1: "sha256", 2: "sha512"}
FEWEST_ITERATIONS, MOST_ITERATIONS = 4096, 16384

UserAndMechanism = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The bytes in base64, as they are kept. Not the salted password, from which a client could log in."""

    user: str
    mechanism: int
    iterations: int
    salt: str
    stored_key: str
    server_key: str

    @classmethod
    def of(
        cls, user: str, mechanism: int, iterations: int, salt: bytes, salted_password: bytes
    ) -> ScramCredential:
        digest = MECHANISMS[mechanism]
        client_key = hmac.digest(salted_password, b"Client Key", digest)
        server_key = hmac.digest(salted_password, b"Server Key", digest)
        stored_key = hashlib.new(digest, client_key).digest()
        return cls(user, mechanism, iterations, _text(salt), _text(stored_key), _text(server_key))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def check_user(user: str, mechanism: int) -> None:
    """Raises: UnacceptableCredentialError, UnsupportedSaslMechanismError."""
    if not user:
        raise UnacceptableCredentialError("Username must not be empty")
    if mechanism not in MECHANISMS:
        raise UnsupportedSaslMechanismError("Unknown SCRAM mechanism")


def check_iterations(iterations: int) -> None:
    """Raises: UnacceptableCredentialError."""
    if iterations < FEWEST_ITERATIONS:
        raise UnacceptableCredentialError("Too few iterations")
    if iterations > MOST_ITERATIONS:
        raise UnacceptableCredentialError("Too many iterations")


def check_deletion(kept: Mapping[UserAndMechanism, ScramCredential], user: str, mechanism: int) -> None:
    """Raises: ResourceNotFoundError."""
    if (user, mechanism) not in kept:
        raise ResourceNotFoundError("Attempt to delete a user credential that does not exist")


class ScramUsers:
    def __init__(self, kept: MetadataPart[list[ScramCredential]]) -> None:
        self._kept = kept

    @property
    def credentials(self) -> dict[UserAndMechanism, ScramCredential]:
        return {(kept.user, kept.mechanism): kept for kept in self._kept.value}

    def change(self, changes: Mapping[UserAndMechanism, ScramCredential | None]) -> None:
        """Sets checked credentials, or takes them away. Raises: KafkaStorageError."""
        if changes:
            after = {**self.credentials, **changes}
            self._kept.change([credential for credential in after.values() if credential is not None])
