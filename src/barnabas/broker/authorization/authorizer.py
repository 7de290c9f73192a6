"""Kafka's StandardAuthorizer (KIP-801): what the entries allow whom.

Owns the index of entries by resource and the order in which they count: a superuser may do everything, what
one entry denies no other allows, and without any entry for a resource `allow.everyone.if.no.acl.found`
decides. Must not know requests, nor how entries are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from barnabas.broker.authorization.acls import (
    ANYTHING,
    CLUSTER_NAME,
    AccessControlEntry,
    NamePattern,
    Operation,
    Permission,
    ResourceKind,
)
from barnabas.broker.principal import Principal
from barnabas.broker_errors import (
    ClusterAuthorizationFailedError,
    DelegationTokenAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidConfigError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)
from barnabas.errors import BrokerError

ANYBODY = "User:*"

# What an entry that allows one operation allows besides; one that denies it denies nothing else.
_IMPLYING: Mapping[Operation, frozenset[int]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}

# Which operations there are on a kind of resource, as KIP-430 tells them.
SUPPORTED: Mapping[ResourceKind, tuple[Operation, ...]] = {
    ResourceKind.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DESCRIBE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceKind.GROUP: (
        Operation.READ,
        Operation.DESCRIBE,
        Operation.DELETE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceKind.CLUSTER: (
        Operation.CREATE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
        Operation.ALTER,
        Operation.DESCRIBE,
    ),
}


REFUSALS: Mapping[ResourceKind, type[BrokerError]] = {
    ResourceKind.TOPIC: TopicAuthorizationFailedError,
    ResourceKind.GROUP: GroupAuthorizationFailedError,
    ResourceKind.CLUSTER: ClusterAuthorizationFailedError,
    ResourceKind.TRANSACTIONAL_ID: TransactionalIdAuthorizationFailedError,
    ResourceKind.DELEGATION_TOKEN: DelegationTokenAuthorizationFailedError,
}


class Asker(Protocol):
    """Who asks: a handler's `Call`."""

    @property
    def client_host(self) -> str: ...

    @property
    def principal(self) -> Principal: ...


class Authorizer:
    """`is_on` False: there is no authorizer, and everybody may do everything."""

    def __init__(
        self, *, is_on: bool, super_users: Iterable[str] = (), allows_by_default: bool = False
    ) -> None:
        self.is_on = is_on
        self._super_users = frozenset(super_users)
        self._allows_by_default = allows_by_default
        self._literal: dict[tuple[int, str], list[AccessControlEntry]] = {}
        self._prefixed: dict[int, dict[str, list[AccessControlEntry]]] = {}

    def load(self, entries: Iterable[AccessControlEntry]) -> None:
        """Puts entries in the place of all that were there."""
        self._literal.clear()
        self._prefixed.clear()
        for entry in entries:
            if entry.pattern == NamePattern.LITERAL:
                self._literal.setdefault((entry.resource, entry.name), []).append(entry)
            else:
                self._prefixed.setdefault(entry.resource, {}).setdefault(entry.name, []).append(entry)

    def authorize(self, asker: Asker, operation: Operation, resource: ResourceKind, name: str) -> bool:
        """Whether who asks may do that on the resource of this name."""
        if not self.is_on:
            return True
        principal = str(asker.principal)
        if principal in self._super_users:
            return True
        has_entries = is_allowed = False
        for entry in self._entries(resource, name):
            has_entries = True
            if entry.principal in (principal, ANYBODY) and entry.host in (ANYTHING, asker.client_host):
                if entry.permission == Permission.DENY:
                    if entry.operation in (Operation.ALL, operation):
                        return False
                elif entry.operation == Operation.ALL or _implies(entry.operation, operation):
                    is_allowed = True
        return is_allowed if has_entries else self._allows_by_default

    def authorize_any(self, asker: Asker, operation: Operation, resource: ResourceKind) -> bool:
        """Whether there may be a resource of the kind with which who asks may do that (KIP-679)."""
        if self.authorize(asker, operation, resource, "hardcode"):
            return True
        principals = str(asker.principal), ANYBODY
        entries = [
            entry
            for entry in self._all_for(resource)
            if entry.principal in principals
            and entry.host in (ANYTHING, asker.client_host)
            and entry.operation in (Operation.ALL, operation)
        ]
        denied = {(entry.pattern, entry.name) for entry in entries if entry.permission == Permission.DENY}
        prefixes = tuple(name for pattern, name in denied if pattern == NamePattern.PREFIXED)
        if (NamePattern.LITERAL, ANYTHING) in denied:
            return False
        return any(
            (entry.pattern, entry.name) not in denied and not entry.name.startswith(prefixes)
            for entry in entries
            if entry.permission == Permission.ALLOW
        )

    def _all_for(self, resource: ResourceKind) -> Iterator[AccessControlEntry]:
        for (kind, _), entries in self._literal.items():
            if kind == resource:
                yield from entries
        for entries in self._prefixed.get(resource, {}).values():
            yield from entries

    def require(self, asker: Asker, operation: Operation, resource: ResourceKind, name: str) -> None:
        """Raises: the error of the kind of resource unless who asks may do that with it."""
        if not self.authorize(asker, operation, resource, name):
            raise REFUSALS[resource]

    def require_cluster(self, asker: Asker, operation: Operation) -> None:
        """Raises: ClusterAuthorizationFailedError unless who asks may do that with the cluster."""
        if not self.authorize(asker, operation, ResourceKind.CLUSTER, CLUSTER_NAME):
            raise ClusterAuthorizationFailedError(f"Request needs {operation.name} permission.")

    def _entries(self, resource: ResourceKind, name: str) -> Iterator[AccessControlEntry]:
        """All that are for the resource of this name."""
        yield from self._literal.get((resource, name), ())
        if name != ANYTHING:
            yield from self._literal.get((resource, ANYTHING), ())
        for prefix, entries in self._prefixed.get(resource, {}).items():
            if name.startswith(prefix):
                yield from entries

    def authorized_operations(self, asker: Asker, resource: ResourceKind, name: str) -> int:
        """The operations that are allowed, one bit each (KIP-430)."""
        return sum(
            1 << operation
            for operation in SUPPORTED[resource]
            if self.authorize(asker, operation, resource, name)
        )

    def cluster_operations(self, asker: Asker) -> int:
        """Those on the cluster, none for who may not describe it."""
        if not self.authorize(asker, Operation.DESCRIBE, ResourceKind.CLUSTER, CLUSTER_NAME):
            return 0
        return self.authorized_operations(asker, ResourceKind.CLUSTER, CLUSTER_NAME)


def _implies(allowed: int, wanted: Operation) -> bool:
    implying = _IMPLYING.get(wanted)
    return allowed == wanted if implying is None else allowed in implying


def parse_super_users(text: str) -> list[str]:
    """The principals in `super.users`. Raises: InvalidConfigError."""
    principals = [word.strip() for word in text.split(";") if word.strip()]
    for principal in principals:
        kind, colon, name = principal.partition(":")
        if not kind or not colon or not name:
            raise InvalidConfigError(
                f"super.users: {principal!r} is no principal; write it as User:name, several with ';' between"
            )
    return principals
