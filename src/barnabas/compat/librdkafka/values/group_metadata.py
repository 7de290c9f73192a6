"""What `consumer_group_metadata()` gives and `send_offsets_to_transaction()` takes: a member of a group, as
bytes.

The format is librdkafka's own. Knows nothing of clients.
"""

from __future__ import annotations

import struct

from barnabas.types import GroupIdentity

_MAGIC = b"CGMDv2:"
_GENERATION = struct.Struct("=i")
_HAS_INSTANCE_ID = b"\0"
_NO_INSTANCE_ID = b"\1"
# Both ids empty, and none of an instance.
_SHORTEST_REST = len(b"\0\0\1")


def group_metadata_to_bytes(identity: GroupIdentity) -> bytes:
    """The identity as the opaque value that programs pass on."""
    parts = [
        _MAGIC,
        _GENERATION.pack(identity.generation),
        identity.group_id.encode() + b"\0",
        identity.member_id.encode() + b"\0",
    ]
    if identity.group_instance_id is None:
        parts.append(_NO_INSTANCE_ID)
    else:
        parts += [_HAS_INSTANCE_ID, identity.group_instance_id.encode() + b"\0"]
    return b"".join(parts)


def group_metadata_from_bytes(data: bytes) -> GroupIdentity:
    """Raises: ValueError, in librdkafka's words, for bytes that are no such value."""
    head = len(_MAGIC) + _GENERATION.size
    if len(data) < head + _SHORTEST_REST:
        raise ValueError("Input buffer is too short")
    if not data.startswith(_MAGIC):
        raise ValueError("Input buffer is not a serialized consumer group metadata object")
    (generation,) = _GENERATION.unpack_from(data, len(_MAGIC))
    group_id, found, rest = data[head:].partition(b"\0")
    member_id, found_member, rest = rest.partition(b"\0")
    instance_id, found_instance, end = rest[1:].partition(b"\0")
    is_whole = found and found_member and not end
    if is_whole and rest[:1] == _NO_INSTANCE_ID and len(rest) == 1:
        return GroupIdentity(group_id.decode(), generation, member_id.decode())
    if is_whole and rest[:1] == _HAS_INSTANCE_ID and found_instance:
        return GroupIdentity(group_id.decode(), generation, member_id.decode(), instance_id.decode())
    raise ValueError("Input buffer bad length")
