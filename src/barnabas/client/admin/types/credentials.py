"""SCRAM credentials, delegation tokens and quotas: what Admin takes and gives. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum

from barnabas.client.admin.types.openness import OpenEnum
from barnabas.values import frozen


class ScramMechanism(OpenEnum):
    """The numbers are Kafka's (KIP-554)."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


@frozen
class ScramCredentialInfo:
    """That a user has a password for a mechanism, and how many times it is hashed."""

    mechanism: ScramMechanism
    iterations: int


@frozen
class ScramUpsertion:
    """Gives a user a password. It is hashed here: the broker never sees it. `salt`: None takes a random one.
    Brokers take 4,096 to 16,384 iterations."""

    user: str
    mechanism: ScramMechanism
    password: str | bytes = field(repr=False)
    iterations: int = 4096
    salt: bytes | None = field(default=None, repr=False)


@frozen
class ScramDeletion:
    """Takes a user's password for a mechanism away."""

    user: str
    mechanism: ScramMechanism


@frozen
class DelegationToken:
    """A token (KIP-48): who logs in by SASL SCRAM with `token_id` as the user, the base64 text of `hmac` as
    the password and the extension tokenauth=true is `owner`. Times are in milliseconds since 1970. Principals
    are "User:alice"; the requester is "" from brokers before 3.3."""

    token_id: str
    hmac: bytes = field(repr=False)
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int


@frozen
class ClientQuotaEntity:
    """Whom a quota is for: names by entity type ("user", "client-id", "ip"). None in place of a name is the
    default, for all that have no quota of their own."""

    names: Mapping[str, str | None]

    def __hash__(self) -> int:
        return hash(frozenset(self.names.items()))

    def __str__(self) -> str:
        return " and ".join(
            f"{kind} {'<default>' if name is None else repr(name)}" for kind, name in self.names.items()
        )


class QuotaMatch(IntEnum):
    """EXACT: that name. DEFAULT: the default alone. ANY: all names, and the default."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


@frozen
class ClientQuotaFilter:
    """One condition on the entities of quotas. `name` is for EXACT."""

    entity_type: str
    match: QuotaMatch = QuotaMatch.ANY
    name: str | None = None
