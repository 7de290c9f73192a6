"""What programs see of the messages for administration."""

from barnabas.compat.kafka.protocol.admin.topics import ElectionType

__all__ = ["ElectionType"]
