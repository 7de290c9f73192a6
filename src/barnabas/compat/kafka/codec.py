"""Compressing and decompressing as Kafka does, by the kernel: nothing has to be installed for it."""

from __future__ import annotations

import gzip
import struct

from barnabas._kernel import compress, decompress
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


def lz4_encode(payload: bytes, compression_level: int | None = None) -> bytes:
    return compress("lz4", payload, compression_level)


def lz4_decode(payload: bytes) -> bytes:
    return _decompressed("lz4", payload)


def lz4f_decode(payload: bytes) -> bytes:
    return _decompressed("lz4", payload)


def lz4_encode_old_kafka(payload: bytes) -> bytes:
    """As Kafka before 0.10 wants it: the checksum of the frame's descriptor is taken with the frame's magic
    number before it."""
    data = bytearray(lz4_encode(payload))
    end = _end_of_descriptor(data)
    data[end] = _xxh32(bytes(data[:end])) >> 8 & 0xFF
    return bytes(data)


def lz4_decode_old_kafka(payload: bytes) -> bytes:
    data = bytearray(payload)
    end = _end_of_descriptor(data)
    data[end] = _xxh32(bytes(data[4:end])) >> 8 & 0xFF
    return _decompressed("lz4", bytes(data))


def _end_of_descriptor(frame: bytearray) -> int:
    """Where the checksum of a frame's descriptor is."""
    return 14 if frame[4] >> 3 & 1 else 6


def zstd_encode(payload: bytes) -> bytes:
    return compress("zstd", payload)


def zstd_decode(payload: bytes) -> bytes:
    return _decompressed("zstd", payload)


def _decompressed(codec: str, payload: bytes) -> bytes:
    try:
        return decompress(codec, payload, _MOST_BYTES)
    except CorruptBatchError as error:
        raise RuntimeError(str(error)) from None


_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
_WORD = 0xFFFFFFFF


def _rotated(value: int, bits: int) -> int:
    value &= _WORD
    return (value << bits | value >> (32 - bits)) & _WORD


def _xxh32(data: bytes) -> int:
    """xxHash of fewer than 16 bytes, with the seed 0."""
    first, second, third, fourth, fifth = _PRIMES
    value = fifth + len(data)
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        value = _rotated(value + word * third, 17) * fourth
    for byte in data[whole:]:
        value = _rotated(value + byte * fifth, 11) * first
    value &= _WORD
    value = ((value ^ value >> 15) * second) & _WORD
    value = ((value ^ value >> 13) * third) & _WORD
    return value ^ value >> 16
