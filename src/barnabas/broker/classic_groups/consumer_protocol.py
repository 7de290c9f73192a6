"""What members of the classic protocol that are consumers say of themselves, and are told, as bytes.

Owns their versions. Must not know groups.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TypeVar

from barnabas.errors import BrokenProtocolError
from barnabas.protocol.codec import decode_prefix, encode
from barnabas.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.protocol.schema import Message

_VERSION = struct.Struct(">h")

M = TypeVar("M", bound=Message)


def decoded_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Raises: BrokenProtocolError."""
    return _decoded(ConsumerProtocolSubscription, data)


def decoded_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Raises: BrokenProtocolError."""
    return _decoded(ConsumerProtocolAssignment, data)


def encoded_assignment(topics: Iterable[tuple[str, list[int]]], subscription: bytes) -> bytes:
    """For the member with this subscription, in its version."""
    version = min(_version(subscription), ConsumerProtocolAssignment.VERSIONS[1])
    message = ConsumerProtocolAssignment(
        assigned_partitions=[ConsumerProtocolAssignment.TopicPartition(*topic) for topic in topics]
    )
    return _VERSION.pack(version) + encode(message, version)


def _decoded(kind: type[M], data: bytes) -> M:
    version = min(_version(data), kind.VERSIONS[1])
    return decode_prefix(kind, version, data, _VERSION.size)[0]


def _version(data: bytes) -> int:
    try:
        return _VERSION.unpack_from(data)[0]
    except struct.error as error:
        raise BrokenProtocolError(f"these {len(data)} bytes have no version: {error}") from None
