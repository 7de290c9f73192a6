"""librdkafka's hashes of keys as functions: which partition a key belongs to. Pure."""

from __future__ import annotations

import functools
import operator
import zlib
from collections.abc import Callable

from barnabas import _kernel


def _checked(function: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> tuple[bytes, int]:
    """The key and the number of partitions, with the complaints of a function in C."""
    if keywords:
        raise TypeError(f"{function}() takes no keyword arguments")
    if len(arguments) != 2:
        raise TypeError(f"function takes exactly 2 arguments ({len(arguments)} given)")
    key, partition_count = arguments
    if not isinstance(key, bytes):
        kind = type(key).__name__
        if kind in ("bytearray", "memoryview"):
            raise TypeError(f"argument 1 must be read-only bytes-like object, not {kind}")
        raise TypeError(f"a bytes-like object is required, not '{kind}'")
    count = operator.index(partition_count)  # type: ignore[arg-type]
    if count >= 1 << 31:
        raise OverflowError("signed integer is greater than maximum")
    if count <= 0:
        raise ValueError(f"partition_count must be > 0, got {count}")
    return key, count


def _partitioner(function: Callable[[bytes, int], int]) -> Callable[[bytes, int], int]:
    @functools.wraps(function)
    def partition(*arguments: object, **keywords: object) -> int:
        return function(*_checked(function.__name__, arguments, keywords))

    return partition


@_partitioner
def murmur2(key: bytes, partition_count: int) -> int:
    """The partition of a key as Java's clients choose it."""
    return (_kernel.murmur2(key) & 0x7FFFFFFF) % partition_count


@_partitioner
def consistent(key: bytes, partition_count: int) -> int:
    """The partition of a key by its CRC-32, as librdkafka chooses it."""
    return zlib.crc32(key) % partition_count


@_partitioner
def fnv1a(key: bytes, partition_count: int) -> int:
    """The partition of a key by FNV-1a, as Sarama and librdkafka choose it."""
    signed = _kernel.fnv1a(key)
    if signed >= 1 << 31:
        signed -= 1 << 32
    return abs(signed) % partition_count
