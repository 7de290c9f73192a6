"""The messages for administration: structs of fixed versions, or in 3 messages with a version."""

from __future__ import annotations

from barnabas.compat.kafka.protocol.admin.acl import ACLOperation as ACLOperation
from barnabas.compat.kafka.protocol.admin.acl import ACLPermissionType as ACLPermissionType
from barnabas.compat.kafka.protocol.admin.acl import ACLResourcePatternType as ACLResourcePatternType
from barnabas.compat.kafka.protocol.admin.acl import ACLResourceType as ACLResourceType
from barnabas.compat.kafka.protocol.admin.topics import ElectionType as ElectionType
from barnabas.compat.kafka_engine.wire.message_modules import message_module

__getattr__ = message_module(
    __name__,
    *("ACLOperation", "ACLPermissionType", "ACLResourcePatternType", "ACLResourceType", "ElectionType"),
)
