"""How the parts of requests are written: numbers, strings, arrays. Knows no request."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from barnabas.compat.pykafka.utils.compat import get_bytes

__all__ = ["array", "numbers", "sized", "string", "topics"]

T = TypeVar("T")


def numbers(fmt: str, *values: Any) -> bytes:
    """By a format of `struct`, in the network's order."""
    return struct.pack(f"!{fmt}", *values)


def string(text: Any) -> bytes:
    """With its length before it, as an int16. A text is written in UTF-8."""
    data = get_bytes(text)
    return struct.pack(f"!h{len(data)}s", len(data), data)


def sized(data: Any) -> bytes:
    """Bytes with their length before them, as an int32."""
    return struct.pack("!i", len(data)) + bytes(data)


def array(items: Collection[T], write: Callable[[T], bytes]) -> bytes:
    return struct.pack("!i", len(items)) + b"".join(map(write, items))


def topics(by_name: Any, write: Callable[[Any], bytes]) -> bytes:
    """An array of topics, each an array of partitions: `write` gives the bytes of one of those."""
    return array(by_name.items(), lambda topic: string(topic[0]) + array(_items(topic[1]), write))


def _items(partitions: dict[int, Any] | list[int]) -> Collection[Any]:
    return partitions.items() if isinstance(partitions, dict) else partitions
