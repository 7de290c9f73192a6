"""An event that greenlets wait for, and that the core's thread sets.

gevent's own ends a program that waits for nothing but another thread. gevent is imported when one is made.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["GreenletEvent"]


class GreenletEvent:
    """As threading.Event. `wait` lets other greenlets run; all threads may call the rest.

    Each wait has a watcher of gevent's, which may be woken by another thread only while it is open: whoever
    wakes or closes one holds the lock. It is there before the flag is looked at, and the flag is set before
    watchers are woken, so that no wait misses it.
    """

    def __init__(self) -> None:
        # The real one also where a program has gevent replace it: the core's thread is no greenlet.
        self._lock: Any = import_module("gevent.monkey").get_original("threading", "Lock")()
        self._watchers: set[Any] = set()
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        with self._lock:
            for each in self._watchers:
                each.send()

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """`timeout` in seconds. Whether it is set."""
        if self._is_set:
            return True
        woken = import_module("gevent.event").Event()
        watcher: Any = import_module("gevent").get_hub().loop.async_()
        watcher.start(woken.set)
        with self._lock:
            self._watchers.add(watcher)
        try:
            if not self._is_set:
                woken.wait(timeout)
        finally:
            with self._lock:
                self._watchers.discard(watcher)
                watcher.stop()
                watcher.close()
        return self._is_set
