"""Access control lists: what Admin takes and gives about who may do what. Plain data."""

from __future__ import annotations

from barnabas.client.admin.types.openness import OpenEnum
from barnabas.values import frozen

OPERATIONS_NOT_ASKED_FOR = -(2**31)


class AclOperation(OpenEnum):
    """What is allowed or denied. ANY is for filters."""

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


class AclPermissionType(OpenEnum):
    """ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class AclResourceType(OpenEnum):
    """What access is controlled to. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class ResourcePatternType(OpenEnum):
    """How a resource's name is meant. For filters there are ANY, and MATCH: all that apply to the name, the
    literal one, `*` and prefixes."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


@frozen
class AclBinding:
    """One rule: whether `principal` ("User:alice") may do `operation` on a resource from `host` ("*": any).
    The cluster's resource name is "kafka-cluster"."""

    resource_type: AclResourceType
    resource_name: str
    principal: str
    operation: AclOperation
    permission_type: AclPermissionType = AclPermissionType.ALLOW
    host: str = "*"
    pattern_type: ResourcePatternType = ResourcePatternType.LITERAL

    def __str__(self) -> str:
        pattern = "" if self.pattern_type is ResourcePatternType.LITERAL else f"{_words(self.pattern_type)} "
        return (
            f"the rule to {_words(self.permission_type)} {self.principal} {_words(self.operation)} on "
            f"{pattern}{_words(self.resource_type)} {self.resource_name!r} from {self.host}"
        )


@frozen
class AclBindingFilter:
    """Matches rules; what is left at ANY or None matches all."""

    resource_type: AclResourceType = AclResourceType.ANY
    resource_name: str | None = None
    principal: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY
    host: str | None = None
    pattern_type: ResourcePatternType = ResourcePatternType.ANY


def _words(member: OpenEnum) -> str:
    return member.name.lower().replace("_", " ")


def authorized_operations(bits: int) -> frozenset[AclOperation] | None:
    """The operations that a broker packs into an integer; None if they were not asked for."""
    if bits == OPERATIONS_NOT_ASKED_FOR:
        return None
    known = (operation for operation in AclOperation if operation > AclOperation.ANY)
    return frozenset(operation for operation in known if bits >> operation & 1)
