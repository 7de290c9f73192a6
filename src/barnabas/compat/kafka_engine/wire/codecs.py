"""Compressing and decompressing by the kernel, in all forms that the packages of old have for it."""

from __future__ import annotations

import struct

from barnabas._kernel import compress, decompress
from barnabas.compat.kafka_engine.wire.types import UnsignedVarInt32
from barnabas.errors import CorruptBatchError

__all__ = ["decompressed", "snappy_block", "snappy_frames"]

_XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack("!ii", 1, 1)
_MOST_BYTES = 2**31 - 1


def snappy_frames(payload: bytes, block_bytes: int) -> bytes:
    """In the framing of xerial's snappy-java, in blocks of so many bytes."""
    parts = [_XERIAL_HEADER]
    for start in range(0, len(payload), block_bytes):
        block = snappy_block(payload[start : start + block_bytes])
        parts += [struct.pack("!i", len(block)), block]
    return b"".join(parts)


def snappy_block(payload: bytes) -> bytes:
    """One block of any size. The kernel's blocks are small, but what they are made of may stand one after the
    other: it refers to no byte outside of its block."""
    framed = compress("snappy", payload)
    position = len(_XERIAL_HEADER)
    parts: list[bytes] = []
    while position < len(framed):
        (size,) = struct.unpack_from("!i", framed, position)
        block = framed[position + 4 : position + 4 + size]
        position += 4 + size
        parts.append(block[_length_of_varint(block) :])
    return b"".join([UnsignedVarInt32.encode(len(payload)), *parts])


def _length_of_varint(block: bytes) -> int:
    return next(place for place, byte in enumerate(block, 1) if byte < 0x80)


def decompressed(codec: str, payload: bytes) -> bytes:
    """Raises: RuntimeError."""
    try:
        return decompress(codec, payload, _MOST_BYTES)
    except CorruptBatchError as error:
        raise RuntimeError(str(error)) from None
