"""Numbers of variable length (zigzag, seven bits a byte), and checksums, as record batches have them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from barnabas._kernel import crc32c

__all__ = ["calc_crc32", "calc_crc32c", "decode_varint", "encode_varint", "size_of_varint"]

_MOST_BITS = 64


def encode_varint(value: int, write: Callable[[int], object]) -> int:
    """Calls `write` with each byte; the number of them."""
    rest = value << 1 ^ value >> 63
    count = 1
    while rest > 0x7F:
        write(0x80 | rest & 0x7F)
        rest >>= 7
        count += 1
    write(rest)
    return count


def size_of_varint(value: int) -> int:
    """How many bytes it takes."""
    rest = value << 1 ^ value >> 63
    return max(1, -(-rest.bit_length() // 7))


def decode_varint(buffer: Any, pos: int = 0) -> tuple[int, int]:
    """The number at a place, and the place behind it. Raises: ValueError beyond 64 bits, IndexError."""
    result = shift = 0
    while True:
        byte = buffer[pos]
        pos += 1
        result |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return result >> 1 ^ -(result & 1), pos
        shift += 7
        if shift >= _MOST_BITS:
            raise ValueError("Out of int64 range")


def calc_crc32c(memview: Any) -> int:
    return crc32c(memview)


def calc_crc32(memview: Any) -> int:
    return zlib.crc32(memview)
