"""Who wants to hear of one client's events. Owns calling them; knows nothing of what the events mean."""

from __future__ import annotations

import logging

from barnabas.events import Event, EventListener

logger = logging.getLogger("barnabas.client")


class EventListeners:
    """Listeners may come and go on any thread; they are called on the event loop's."""

    def __init__(self) -> None:
        self._listeners: tuple[EventListener, ...] = ()

    def __bool__(self) -> bool:
        """Whether anyone listens: whoever emits costly events asks first."""
        return bool(self._listeners)

    def add(self, listener: EventListener) -> None:
        self._listeners = (*self._listeners, listener)

    def remove(self, listener: EventListener) -> None:
        """Nothing happens if it was not added."""
        self._listeners = tuple(known for known in self._listeners if known != listener)

    def emit(self, event: Event) -> None:
        """Calls the listeners. What they raise is logged and goes no further."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("an event listener failed on %s", type(event).__name__)
