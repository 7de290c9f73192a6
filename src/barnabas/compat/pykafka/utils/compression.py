"""Compressing and decompressing messages, by the kernel: nothing has to be installed for it."""

from __future__ import annotations

import gzip
import struct
from typing import Any

from barnabas._kernel import compress, decompress
from barnabas.compat.kafka_python.wire.lz4_of_old import as_of_old, as_of_today
from barnabas.errors import CorruptBatchError

__all__ = [
    "decode_gzip",
    "decode_lz4",
    "decode_lz4_old_kafka",
    "decode_lz4f",
    "decode_snappy",
    "encode_gzip",
    "encode_lz4",
    "encode_lz4_old_kafka",
    "encode_snappy",
]

_XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack("!ii", 1, 1)
_MOST_BYTES = 2**31 - 1
_CONTENT_SIZE_FLAG = 1 << 3
_DESCRIPTOR_BYTES = 6
_CONTENT_SIZE_BYTES = 8


def encode_gzip(buff: Any) -> bytes:
    return compress("gzip", bytes(buff))


def decode_gzip(buff: Any) -> bytes:
    return gzip.decompress(buff)


def encode_snappy(buff: Any, xerial_compatible: bool = False, xerial_blocksize: int = 32 * 1024) -> bytes:
    """As one bare block, or in the framing of xerial's snappy-java, in blocks of so many bytes."""
    buff = bytes(buff)
    if not xerial_compatible:
        return _snappy_block(buff)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(buff), xerial_blocksize):
        block = _snappy_block(buff[start : start + xerial_blocksize])
        parts += [struct.pack("!i", len(block)), block]
    return b"".join(parts)


def _snappy_block(payload: bytes) -> bytes:
    """One block of any size. The kernel's blocks are small and refer to no byte outside of them, so that what
    they are made of may stand one after the other."""
    framed = compress("snappy", payload)
    parts = [_varint(len(payload))]
    at = len(_XERIAL_HEADER)
    while at < len(framed):
        (size,) = struct.unpack_from("!i", framed, at)
        at += 4
        block = framed[at : at + size]
        at += size
        parts.append(block[next(place for place, byte in enumerate(block, 1) if byte < 0x80) :])
    return b"".join(parts)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def decode_snappy(buff: Any) -> bytes:
    """In either form."""
    return _decompressed("snappy", buff)


def encode_lz4(buff: Any) -> bytes:
    return compress("lz4", bytes(buff))


def decode_lz4(buff: Any) -> bytes:
    return _decompressed("lz4", buff)


decode_lz4f = decode_lz4


def encode_lz4_old_kafka(buff: Any) -> bytes:
    """As Kafka before 0.10 wants it: another checksum of the frame's descriptor, and no size in that."""
    frame = encode_lz4(buff)
    if frame[4] & _CONTENT_SIZE_FLAG:
        rest = frame[_DESCRIPTOR_BYTES + _CONTENT_SIZE_BYTES :]
        frame = frame[:4] + bytes((frame[4] & ~_CONTENT_SIZE_FLAG,)) + frame[5:_DESCRIPTOR_BYTES] + rest
    return as_of_old(frame)


def decode_lz4_old_kafka(buff: Any) -> bytes:
    return _decompressed("lz4", as_of_today(bytes(buff)))


def _decompressed(codec: str, buff: Any) -> bytes:
    try:
        return decompress(codec, bytes(buff), _MOST_BYTES)
    except CorruptBatchError as error:
        raise RuntimeError(str(error)) from None
