"""Who wants to hear of one client's events, or of its steps. Owns calling them; knows nothing of what they
mean.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

logger = logging.getLogger("barnabas.client")

ToldT = TypeVar("ToldT")


class EventListeners(Generic[ToldT]):
    """Listeners may come and go on any thread; they are called on the event loop's."""

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[ToldT], object], ...] = ()
        self.are_logged = False
        """Whether a listener logs what it hears, in words of its own: the client itself does not then."""

    def __bool__(self) -> bool:
        """Whether anyone listens: whoever emits costly events asks first."""
        return bool(self._listeners)

    def add(self, listener: Callable[[ToldT], object], *, logs: bool = False) -> None:
        """`logs`: it logs failures that it hears of, of connections, of commits in the background, and of
        polls that come late."""
        self.are_logged = self.are_logged or logs
        self._listeners = (*self._listeners, listener)

    def remove(self, listener: Callable[[ToldT], object]) -> None:
        """Nothing happens if it was not added."""
        self._listeners = tuple(known for known in self._listeners if known != listener)

    def emit(self, event: ToldT) -> None:
        """Calls the listeners. What they raise is logged and goes no further."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("an event listener failed on %s", type(event).__name__)
