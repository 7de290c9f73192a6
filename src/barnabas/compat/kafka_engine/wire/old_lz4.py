"""LZ4 as Kafka before 0.10 wants it: the checksum of a frame's descriptor is taken with the frame's magic
number before it."""

from __future__ import annotations

import struct

__all__ = ["as_of_old", "as_of_today"]

_MAGIC_BYTES = 4


def as_of_old(frame: bytes) -> bytes:
    """A frame of today for brokers of then."""
    return _with_checksum_from(frame, 0)


def as_of_today(frame: bytes) -> bytes:
    """The opposite."""
    return _with_checksum_from(frame, _MAGIC_BYTES)


def _with_checksum_from(frame: bytes, start: int) -> bytes:
    data = bytearray(frame)
    # There is a size before the checksum where a flag says so.
    end = 14 if data[4] >> 3 & 1 else 6
    data[end] = _xxh32(bytes(data[start:end])) >> 8 & 0xFF
    return bytes(data)


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
