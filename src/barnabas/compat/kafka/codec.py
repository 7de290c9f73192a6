"""Compressing and decompressing as Kafka does, by the kernel: nothing has to be installed for it."""

from __future__ import annotations

import gzip
import struct
from typing import Any

from barnabas._kernel import compress, decompress
from barnabas.compat.kafka_python.wire.lz4_of_old import as_of_old, as_of_today
from barnabas.compat.kafka_python.wire.types import UnsignedVarInt32
from barnabas.errors import CorruptBatchError

_XERIAL_HEADER = struct.pack("!bccccccBii", -126, *(bytes((each,)) for each in b"SNAPPY"), 0, 1, 1)
_MOST_BYTES = 2**31 - 1


def has_gzip() -> bool:
    return True


def has_snappy() -> bool:
    return True


def has_lz4() -> bool:
    return True


def has_zstd() -> bool:
    return True


def gzip_encode(payload: bytes, compresslevel: int | None = None) -> bytes:
    return compress("gzip", payload, compresslevel or 9)


def gzip_decode(payload: bytes) -> bytes:
    return gzip.decompress(payload)


def snappy_encode(payload: bytes, xerial_compatible: bool = True, xerial_blocksize: int = 32 * 1024) -> bytes:
    """In the framing of xerial's snappy-java, in blocks of so many bytes, or as one bare block."""
    if not xerial_compatible:
        return _snappy_block(payload)
    out = [_XERIAL_HEADER]
    for start in range(0, len(payload), xerial_blocksize):
        block = _snappy_block(payload[start : start + xerial_blocksize])
        out += [struct.pack("!i", len(block)), block]
    return b"".join(out)


def _snappy_block(payload: bytes) -> bytes:
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


def snappy_decode(payload: bytes) -> bytes:
    return _decompressed("snappy", payload)


_LZ4_LAYOUT = {
    *("block_size", "block_linked", "block_checksum", "block_mode", "content_checksum", "auto_flush"),
    *("store_size", "source_size"),
}
"""What lz4's frames may be told besides, which every reader finds out by itself."""


def lz4_encode(payload: bytes, compression_level: int | None = None, **kwargs: Any) -> Any:
    """`kwargs`: of lz4.frame.compress. Of those, only `return_bytearray` changes anything: the kernel chooses
    how a frame is laid out."""
    unknown = kwargs.keys() - _LZ4_LAYOUT - {"return_bytearray"}
    if unknown:
        raise TypeError(f"lz4_encode() got an unexpected keyword argument {min(unknown)!r}")
    frame = compress("lz4", payload, compression_level)
    return bytearray(frame) if kwargs.get("return_bytearray") else frame


def lz4_decode(payload: bytes) -> bytes:
    return _decompressed("lz4", payload)


def lz4f_decode(payload: bytes) -> bytes:
    return _decompressed("lz4", payload)


def lz4_encode_old_kafka(payload: bytes) -> bytes:
    """As Kafka before 0.10 wants it."""
    return as_of_old(lz4_encode(payload))


def lz4_decode_old_kafka(payload: bytes) -> bytes:
    return _decompressed("lz4", as_of_today(payload))


def zstd_encode(payload: bytes) -> bytes:
    return compress("zstd", payload)


def zstd_decode(payload: bytes) -> bytes:
    return _decompressed("zstd", payload)


def _decompressed(codec: str, payload: bytes) -> bytes:
    try:
        return decompress(codec, payload, _MOST_BYTES)
    except CorruptBatchError as error:
        raise RuntimeError(str(error)) from None
