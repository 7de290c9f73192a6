"""Users: the calls of KafkaAdminClient about their credentials, as kafka-python 3 answers, and what they
take."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from barnabas.compat.kafka import errors as Errors
from barnabas.compat.kafka_engine.admin import users as requests
from barnabas.compat.kafka_engine.admin.session import BrokerSession

_SALT_BYTES = 24


class ScramMechanism(IntEnum):
    """How a user's password is kept and proved."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def hash_name(self) -> str:
        """As hashlib has it."""
        return {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}[self]


def _mechanism(given: Any) -> ScramMechanism:
    if isinstance(given, str):
        return ScramMechanism[given.upper().replace("-", "_")]
    return ScramMechanism(given)


class UserScramCredentialDeletion:
    """A user's credential that is to go. `mechanism`: a ScramMechanism, its name or number."""

    def __init__(self, user: str, mechanism: Any) -> None:
        self.user = user
        self.mechanism = _mechanism(mechanism)

    def __repr__(self) -> str:
        return f"UserScramCredentialDeletion({self.user}, {self.mechanism.name})"


class UserScramCredentialUpsertion:
    """A user's credential that is to be. The brokers get no password but what PBKDF2 makes of it.

    `mechanism`: a ScramMechanism, its name or number. `iterations`: 4096 if None; `salt`: 24 bytes by chance
    if None. Raises: IllegalArgumentError for the mechanism UNKNOWN.
    """

    DEFAULT_ITERATIONS = 4096

    def __init__(
        self,
        user: str,
        mechanism: Any,
        password: str | bytes,
        iterations: int | None = None,
        salt: bytes | None = None,
    ) -> None:
        self.mechanism = _mechanism(mechanism)
        if self.mechanism == ScramMechanism.UNKNOWN:
            raise Errors.IllegalArgumentError("SCRAM mechanism must not be UNKNOWN")
        self.user = user
        self.iterations = self.DEFAULT_ITERATIONS if iterations is None else iterations
        self.salt = os.urandom(_SALT_BYTES) if salt is None else salt
        secret = password.encode() if isinstance(password, str) else password
        self.salted_password = hashlib.pbkdf2_hmac(
            self.mechanism.hash_name, secret, self.salt, self.iterations
        )

    def __repr__(self) -> str:
        return (
            f"UserScramCredentialUpsertion({self.user}, {self.mechanism.name}, iterations={self.iterations})"
        )


class UserAdminMixin:
    """Calls about credentials of users."""

    _session: BrokerSession

    def alter_user_scram_credentials(self, alterations: Iterable[Any]) -> dict[str, str | None]:
        """Makes, changes and deletes credentials. Gives by user the brokers' text of an error, or None.
        Raises: IllegalArgumentError for what is neither a deletion nor an upsertion."""
        deletions: list[tuple[str, int]] = []
        upsertions: list[tuple[str, int, int, bytes, bytes]] = []
        for each in alterations:
            if isinstance(each, UserScramCredentialDeletion):
                deletions.append((each.user, int(each.mechanism)))
            elif isinstance(each, UserScramCredentialUpsertion):
                upsertions.append(
                    (each.user, int(each.mechanism), each.iterations, each.salt, each.salted_password)
                )
            else:
                raise Errors.IllegalArgumentError(
                    "alterations must be UserScramCredentialDeletion or UserScramCredentialUpsertion, got "
                    f"{type(each).__name__}"
                )
        message = self._session.run(requests.alter_credentials(self._session, deletions, upsertions)).message
        return {
            result.user: result.error_message if result.error_code else None for result in message.results
        }

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """By user, of all for None: "credential_infos", the mechanisms and iterations of credentials, and
        "error", the brokers' text or None."""
        message = self._session.run(requests.describe_credentials(self._session, users)).message
        if message.error_code:
            raise Errors.for_code(message.error_code)(
                f"DescribeUserScramCredentialsRequest failed: {message.error_message}"
            )
        return {
            result.user: {
                "error": result.error_message if result.error_code else None,
                "credential_infos": [
                    {"mechanism": ScramMechanism(each.mechanism), "iterations": each.iterations}
                    for each in result.credential_infos
                    if not result.error_code
                ],
            }
            for result in message.results
        }
