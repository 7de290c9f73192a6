"""The messages about access control lists."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from barnabas.compat.kafka_engine.generations import generation
from barnabas.compat.kafka_engine.wire.message_modules import message_module


class ACLPermissionType(IntEnum):
    """Whether an ACL lets somebody or keeps them from it. ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ACLResourcePatternType(IntEnum):
    """How the name of a resource is meant (KIP-290). ANY and MATCH are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


ACLResourceType: Any = IntEnum("ResourceType", generation().acl_resource_types, module=__name__)
"""What an ACL is of. ANY is for filters."""
ACLOperation: Any = IntEnum("ACLOperation", generation().acl_operations, module=__name__)
"""What an ACL is about. ANY is for filters."""

__getattr__ = message_module(
    __name__, *("ACLResourceType", "ACLResourcePatternType", "ACLOperation", "ACLPermissionType")
)
