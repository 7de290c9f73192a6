"""Whose turn it is with a consumer that several threads use: one reads, and any other may cut in.

Knows no consumer. Protocol: whoever reads looks for claims before it begins, and is woken by a claim that
comes later; a thread that has its turn has it again at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator


class Turns:
    """`wake` has whoever reads return. Any thread, at any time."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._changed = threading.Condition()
        self._claims = 0
        self._owner: int | None = None
        self._depth = 0

    @property
    def is_taken(self) -> bool:
        """By another thread."""
        return self._owner not in (None, threading.get_ident())

    @contextlib.contextmanager
    def reading(self) -> Generator[None]:
        """Waits until nobody else has the turn, and nobody claims it."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._owner == me or (self._owner is None and not self._claims))
            self._enter(me)
        try:
            yield
        finally:
            self._leave()

    @contextlib.contextmanager
    def claimed(self) -> Generator[None]:
        """Has whoever reads return, and goes before all that would read."""
        me = threading.get_ident()
        with self._changed:
            self._claims += 1
            is_anothers = self._owner not in (None, me)
        try:
            if is_anothers:
                self._wake()
            with self._changed:
                self._changed.wait_for(lambda: self._owner in (None, me))
                self._enter(me)
            try:
                yield
            finally:
                self._leave()
        finally:
            with self._changed:
                self._claims -= 1
                self._changed.notify_all()

    def claim_for_good(self, timeout: float) -> bool:
        """Has whoever reads return, and nobody read any more. Waits for `timeout` seconds at most, and says
        whether the caller has the turn."""
        me = threading.get_ident()
        with self._changed:
            self._claims += 1
        self._wake()
        with self._changed:
            has_turn = self._changed.wait_for(lambda: self._owner in (None, me), timeout)
            if has_turn:
                self._enter(me)
        return has_turn

    def _enter(self, me: int) -> None:
        self._owner = me
        self._depth += 1

    def _leave(self) -> None:
        with self._changed:
            self._depth -= 1
            if self._depth == 0:
                self._owner = None
                self._changed.notify_all()
