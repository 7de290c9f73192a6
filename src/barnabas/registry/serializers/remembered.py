"""What serializers have found, for all threads. Owns the bound; knows nothing of what it holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """At most `capacity` entries; the one that was put first goes first.

    `get` is a dict's own, without a lock: it is called for each value. Only `put` and `clear` change the
    dict, under the lock.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: dict[K, V] = {}
        self._lock = threading.Lock()
        self.get: Callable[[K], V | None] = self._entries.get

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = value
            if len(self._entries) > self._capacity:
                del self._entries[next(iter(self._entries))]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
