"""Who may use the consumer inside a balanced one: the program, a message at a time, or one rebalance.

Owns the lock between the two, and the rule that rebalances go first: a program that waits for a message lets
go as soon as a rebalance is wanted, and does not come back before all of them are done. Knows neither groups
nor brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from barnabas.compat.pykafka._balance.shapes import WorkerHandler

__all__ = ["RebalanceGate"]


HURRY_SECONDS = 0.1


def _nothing() -> None:
    """Nobody waits who would have to be woken."""


class RebalanceGate:
    """Open while there is something to consume that is surely this member's."""

    def __init__(self, handler: WorkerHandler) -> None:
        self.lock = handler.RLock()
        self.is_wanted = handler.Event()
        """Set while the program is to stop waiting for a message."""
        self._is_open = handler.Event()
        self._count_lock = handler.RLock()
        self._rebalances = 0
        self._has_partitions = False
        self._is_in_doubt = False
        self.doubts = 0
        """How often `doubt` was called."""

    @contextmanager
    def rebalance(
        self, let_go: Callable[[], None] = _nothing, hurry: Callable[[], None] = _nothing
    ) -> Generator[None]:
        """No message is handed out inside; programs that wait for one let go. `let_go`: wakes them. `hurry`:
        called again and again while another rebalance goes on, to end what that waits for."""
        with self._count_lock:
            self._rebalances += 1
            self._tell()
        try:
            let_go()
            while not self.lock.acquire(timeout=HURRY_SECONDS):
                hurry()
            try:
                yield
            finally:
                self.lock.release()
        finally:
            with self._count_lock:
                self._rebalances -= 1
                self._tell()

    def doubt(self) -> None:
        """Partitions may be another's by now: nothing is handed out until `trust`."""
        with self._count_lock:
            self._is_in_doubt = True
            self.doubts += 1
            self._tell()

    def trust(self, doubts: int) -> None:
        """Ends what was in doubt, unless there were more doubts than these."""
        with self._count_lock:
            if self.doubts == doubts:
                self._is_in_doubt = False
                self._tell()

    @property
    def is_in_doubt(self) -> bool:
        return self._is_in_doubt

    def set_occupied(self, has_consumer: bool) -> None:
        """Whether there is a consumer inside that runs."""
        with self._count_lock:
            self._has_partitions = has_consumer
            self._tell()

    @property
    def is_open(self) -> bool:
        return self._is_open.is_set()

    def wait_open(self, timeout_seconds: float) -> bool:
        return self._is_open.wait(timeout_seconds)

    def _tell(self) -> None:
        must_let_go = self._rebalances > 0 or self._is_in_doubt
        if must_let_go:
            self.is_wanted.set()
        else:
            self.is_wanted.clear()
        if must_let_go or not self._has_partitions:
            self._is_open.clear()
        else:
            self._is_open.set()
