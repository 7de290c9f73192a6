"""Reading of buffers by the formats of `struct`, with Kafka's strings, byte arrays and arrays."""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["unpack_from"]

_LENGTHS = {"S": struct.Struct("!h"), "Y": struct.Struct("!i")}
_COUNT = struct.Struct("!i")


def unpack_from(fmt: str, buff: Any, offset: int = 0) -> Any:
    """The values in a buffer, as a tuple. In the format `S` is a string, `Y` a byte array, either of which
    may be None, and `[...]` an array; spaces mean nothing, and bytes are always in the network's order.

    A format that is one array gives that array alone, and an array of one kind of values those by themselves.
    """
    fmt = fmt.replace(" ", "")
    if fmt[0] in "!><":
        fmt = fmt[1:]
    values, _ = _values(fmt, buff, offset)
    return values[0] if fmt[0] == "[" and len(values) == 1 else values


def _values(fmt: str, buff: Any, offset: int) -> tuple[tuple[Any, ...], int]:
    found: list[Any] = []
    at = 0
    while at < len(fmt):
        char = fmt[at]
        if char == "[":
            end = _end_of_array(fmt, at)
            array, offset = _array(fmt[at + 1 : end], buff, offset)
            found.append(array)
            at = end
        elif char in _LENGTHS:
            (length,) = _LENGTHS[char].unpack_from(buff, offset)
            offset += _LENGTHS[char].size
            if length == -1:
                found.append(None)
            else:
                found.extend(struct.unpack_from(f"!{length}s", buff, offset))
                offset += length
        else:
            found.extend(struct.unpack_from(f"!{char}", buff, offset))
            offset += struct.calcsize(f"!{char}")
        at += 1
    return tuple(found), offset


def _end_of_array(fmt: str, start: int) -> int:
    depth = 0
    for at in range(start, len(fmt)):
        depth += {"[": 1, "]": -1}.get(fmt[at], 0)
        if not depth:
            return at
    raise struct.error(f"an array of {fmt!r} has no end")


def _array(fmt: str, buff: Any, offset: int) -> tuple[list[Any], int]:
    (count,) = _COUNT.unpack_from(buff, offset)
    offset += _COUNT.size
    found: list[Any] = []
    for _ in range(count):
        values, offset = _values(fmt, buff, offset)
        found.append(values)
    if len(fmt) == 1:
        found = [value for values in found for value in values]
    return found, offset
