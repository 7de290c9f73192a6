"""Access control lists: one entry, what it may consist of, and filters that match entries.

Owns Kafka's numbers and the rules for a new entry. Must not know requests, nor where entries are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from barnabas.broker_errors import InvalidRequestError

CLUSTER_NAME = "kafka-cluster"
ANY = 1
"""In a filter, whatever number it is for."""
ANYTHING = "*"
"""As a resource's name, a host, and a user's name in a principal."""


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceKind(IntEnum):
    """What there is access to."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class NamePattern(IntEnum):
    """How a resource's name is meant; ANY and MATCH are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


def _is_known(kind: type[IntEnum], number: int) -> bool:
    return 0 < number <= max(kind)


@dataclass(frozen=True, slots=True)
class AccessControlEntry:
    """One entry, as it is kept, with Kafka's numbers."""

    resource: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    @property
    def has_unknown_parts(self) -> bool:
        """Whether it says itself that part of it is unknown."""
        return 0 in (self.resource, self.pattern, self.operation, self.permission)

    @property
    def is_for_filters(self) -> bool:
        """Whether part of it is what only filters may say."""
        is_any = ANY in (self.resource, self.operation, self.permission)
        return is_any or self.pattern in (NamePattern.ANY, NamePattern.MATCH)

    def check(self) -> None:
        """Raises: InvalidRequestError."""
        if self.resource == ResourceKind.CLUSTER and self.name != CLUSTER_NAME:
            raise InvalidRequestError(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
        if not self.name:
            raise InvalidRequestError("Invalid empty resource name")
        if not _is_known(ResourceKind, self.resource):
            raise InvalidRequestError("Invalid resourceType UNKNOWN")
        if not _is_known(NamePattern, self.pattern):
            raise InvalidRequestError("Invalid patternType UNKNOWN")
        if not _is_known(Operation, self.operation):
            raise InvalidRequestError("Invalid operation UNKNOWN")
        if not _is_known(Permission, self.permission):
            raise InvalidRequestError("Invalid permissionType UNKNOWN")


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Matches entries; what is ANY or None matches all."""

    resource: int
    name: str | None
    pattern: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    def check(self) -> None:
        """Raises: InvalidRequestError where part of it is nothing that this release knows."""
        if not (_is_known(ResourceKind, self.resource) and _is_known(NamePattern, self.pattern)):
            raise InvalidRequestError("Unknown patternFilter.")
        if not (_is_known(Operation, self.operation) and _is_known(Permission, self.permission)):
            raise InvalidRequestError("Unknown entryFilter.")

    @property
    def has_unknown_parts(self) -> bool:
        """Whether it says itself that part of it is unknown."""
        return 0 in (self.resource, self.pattern, self.operation, self.permission)

    def matches(self, entry: AccessControlEntry) -> bool:
        return (
            self.resource in (ResourceKind.ANY, entry.resource)
            and self._matches_name(entry)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (Operation.ANY, entry.operation)
            and self.permission in (Permission.ANY, entry.permission)
        )

    def _matches_name(self, entry: AccessControlEntry) -> bool:
        if self.pattern not in (NamePattern.ANY, NamePattern.MATCH, entry.pattern):
            return False
        if self.name is None or self.name == entry.name:
            return True
        if self.pattern != NamePattern.MATCH:
            return False
        if entry.pattern == NamePattern.LITERAL:
            return entry.name == ANYTHING
        return self.name.startswith(entry.name)
