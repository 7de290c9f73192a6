"""Errors that a consumer's next polls raise: of partitions, and of no partition in particular.

Owns their order, and that one which happens over and over is told once. Knows nothing of what they mean.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from barnabas.errors import BarnabasError
from barnabas.types import TopicPartition
from barnabas.values import frozen


@frozen
class Failure:
    """An error that a take raises, and, if it concerns one, the partition with its position (-1: none)."""

    error: BarnabasError
    partition: TopicPartition | None = None
    position: int = -1


class Failures:
    """Thread safe."""

    def __init__(self, on_failure: Callable[[], None]) -> None:
        """`on_failure` is called when `raise_later` adds one."""
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self.waiting: deque[Failure] = deque()
        """In their order. Others only look whether there are any: each poll does, so without a call."""

    def raise_later(self, error: BarnabasError) -> None:
        """The next take raises an error that concerns no partition in particular. One that happens over and
        over while nobody takes is kept once."""
        with self._lock:
            known = [failure.error for failure in self.waiting]
            if any(type(other) is type(error) and str(other) == str(error) for other in known):
                return
            self.waiting.append(Failure(error))
        self._on_failure()

    def add(self, failure: Failure) -> None:
        with self._lock:
            self.waiting.append(failure)

    def add_once(self, failure: Failure) -> None:
        """One of a partition that happens over and over while nobody takes is kept once."""
        with self._lock:
            for known in self.waiting:
                if known.partition == failure.partition and type(known.error) is type(failure.error):
                    return
            self.waiting.append(failure)

    def drop(self, partition: TopicPartition) -> None:
        """They are of a position that it does not have any more."""
        if self.waiting:
            with self._lock:
                self.waiting = deque(each for each in self.waiting if each.partition != partition)

    def raise_next(self) -> None:
        """Raises what the next take would raise, if anything."""
        failure = self.take()
        if failure is not None:
            raise failure.error

    def take(self) -> Failure | None:
        """What the next take would raise, for someone who does not want it raised."""
        if not self.waiting:
            return None
        with self._lock:
            return self.waiting.popleft() if self.waiting else None
