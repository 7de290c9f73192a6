"""The names that the original has for what Python 2 and 3 call differently, as they are in Python 3."""

from __future__ import annotations

import platform
from builtins import range as range
from collections.abc import Iterator, Mapping
from queue import Empty, Queue
from threading import Semaphore
from typing import Any

__all__ = [
    "IS_PYPY",
    "PY3",
    "Empty",
    "Queue",
    "Semaphore",
    "buffer",
    "get_bytes",
    "get_string",
    "iteritems",
    "iterkeys",
    "itervalues",
    "range",
]

PY3 = True
IS_PYPY = platform.python_implementation().lower() == "pypy"
buffer = memoryview


def get_bytes(value: Any) -> Any:
    """A text as bytes; anything else as it is."""
    if hasattr(value, "encode"):
        try:
            return value.encode("utf-8")
        except UnicodeError:
            pass
    return value


def get_string(value: Any) -> Any:
    """Bytes as a text where they are one; of anything else, its text."""
    if not hasattr(value, "decode"):
        return str(value)
    try:
        return value.decode("utf-8")
    except UnicodeError:
        return value


def iteritems(d: Mapping[Any, Any], **kw: Any) -> Iterator[tuple[Any, Any]]:
    return iter(d.items(**kw))


def itervalues(d: Mapping[Any, Any], **kw: Any) -> Iterator[Any]:
    return iter(d.values(**kw))


def iterkeys(d: Mapping[Any, Any], **kw: Any) -> Iterator[Any]:
    return iter(d.keys(**kw))
