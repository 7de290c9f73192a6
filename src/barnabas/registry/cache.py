"""What a registry answered before, with bounds: by number, and by age where it can change. For all threads.

Knows nothing of what is asked.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """The `capacity` entries that were used last. `seconds`: how long one holds, None for ever."""

    def __init__(
        self, capacity: int, seconds: float | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._capacity = capacity
        self._seconds = seconds
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            value, put_at = entry
            if self._seconds is not None and self._clock() - put_at >= self._seconds:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._entries[key] = value, self._clock()
            self._entries.move_to_end(key)
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)

    def drop(self, is_due: Callable[[K, V], bool]) -> None:
        """Those of which that holds."""
        with self._lock:
            for key in [key for key, (value, _) in self._entries.items() if is_due(key, value)]:
                del self._entries[key]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
