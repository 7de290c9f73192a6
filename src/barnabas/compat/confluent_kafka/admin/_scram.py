"""Passwords for SASL/SCRAM: what brokers tell of them, and how they change."""

from __future__ import annotations

from barnabas.compat.confluent_kafka import cimpl
from barnabas.compat.librdkafka.values.models import OrderedEnum


class ScramMechanism(OrderedEnum):
    """How passwords are hashed."""

    UNKNOWN = cimpl.SCRAM_MECHANISM_UNKNOWN
    SCRAM_SHA_256 = cimpl.SCRAM_MECHANISM_SHA_256
    SCRAM_SHA_512 = cimpl.SCRAM_MECHANISM_SHA_512


class ScramCredentialInfo:
    """That there is a password for a `mechanism`, which is hashed `iterations` times."""

    def __init__(self, mechanism: ScramMechanism, iterations: int) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


class UserScramCredentialsDescription:
    """A `user`, and a ScramCredentialInfo for each password as `scram_credential_infos`."""

    def __init__(self, user: str, scram_credential_infos: list[ScramCredentialInfo]) -> None:
        self.user = user
        self.scram_credential_infos = scram_credential_infos


class UserScramCredentialAlteration:
    """What is to be done for a `user`: one of the subclasses."""

    def __init__(self, user: str) -> None:
        self.user = user


class UserScramCredentialUpsertion(UserScramCredentialAlteration):
    """Gives a user a password (bytes), which is hashed before it leaves this process, with `salt` or with a
    random one."""

    def __init__(
        self,
        user: str,
        scram_credential_info: ScramCredentialInfo,
        password: bytes,
        salt: bytes | None = None,
    ) -> None:
        super().__init__(user)
        self.scram_credential_info = scram_credential_info
        self.password = password
        self.salt = salt


class UserScramCredentialDeletion(UserScramCredentialAlteration):
    """Takes a user's password for a `mechanism` away."""

    def __init__(self, user: str, mechanism: ScramMechanism) -> None:
        super().__init__(user)
        self.mechanism = mechanism
