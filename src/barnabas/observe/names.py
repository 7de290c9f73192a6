"""What tells clients apart in figures: several of them may have one `client_id`, as all have by default."""

from __future__ import annotations

import threading
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

_lock = threading.Lock()
_names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def name_of(client: object) -> str:
    """`producer-1`, `consumer-2`: of this client alone, in this process, while it lives. The lowest free
    number is taken, so that programs with clients that come and go have few names. May be called on any
    thread."""
    with _lock:
        name = _names.get(client)
        if name is None:
            taken = set(_names.values())
            kind = type(client).__name__.lower()
            name = next(name for number in count(1) if (name := f"{kind}-{number}") not in taken)
            _names[client] = name
        return name
