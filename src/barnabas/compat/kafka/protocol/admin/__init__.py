"""The messages for administration: structs of fixed versions, or in 3 messages with a version."""

from __future__ import annotations

from barnabas.compat.kafka.protocol.admin.acl import ACLOperation as ACLOperation
from barnabas.compat.kafka.protocol.admin.acl import ACLPermissionType as ACLPermissionType
from barnabas.compat.kafka.protocol.admin.acl import ACLResourcePatternType as ACLResourcePatternType
from barnabas.compat.kafka.protocol.admin.acl import ACLResourceType as ACLResourceType
from barnabas.compat.kafka.protocol.admin.topics import ElectionType as ElectionType
from barnabas.compat.kafka_python.wire.message_modules import MessageModule

_messages = MessageModule(
    __name__,
    *("ACLOperation", "ACLPermissionType", "ACLResourcePatternType", "ACLResourceType", "ElectionType"),
)
__all__ = _messages.names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
__getattr__ = _messages.find
__dir__ = _messages.listed
