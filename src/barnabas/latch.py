"""Something that one thread waits for and another does, so that Ctrl-C may end the wait at any step.

`threading.Event` and `concurrent.futures.Future` take a lock in Python code. A KeyboardInterrupt between the
lock and its `with` block leaves the lock held, and the thread that is to end the wait then hangs at it for
ever. Here a waiter has a lock of its own, which nobody else acquires.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque


class Latch:
    """Is set once, by any thread; any number of threads wait for that."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiters: deque[threading.Lock] = deque()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """Ends all waits, also those to come."""
        self._is_set = True
        while True:
            try:
                waiter = self._waiters.popleft()
            except IndexError:
                return
            waiter.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is set, within `timeout` seconds; None waits for as long as it takes."""
        if self._is_set:
            return True
        waiter = threading.Lock()
        waiter.acquire()
        self._waiters.append(waiter)
        # `set` may have looked at the waiters before this one was among them.
        if not self._is_set:
            waiter.acquire(timeout=-1 if timeout is None else min(max(timeout, 0), threading.TIMEOUT_MAX))
        if not self._is_set:
            with contextlib.suppress(ValueError):
                self._waiters.remove(waiter)
        return self._is_set
