"""Whether all brokers have been away for as long as pykafka tries before it gives up.

Owns how long that is. What is given up then is for producers and consumers to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.errors import BootstrapError
from barnabas.events import AllBrokersDown, Event

__all__ = ["PATIENCE_SECONDS", "Outage"]

PATIENCE_SECONDS = 2.5
"""What the original's three attempts take where nobody listens any more."""

_LOOK_SECONDS = 0.25


class Outage:
    """Of one of the core's clients, on whose loop it is made. `lasts(error)` is called there, again and again
    while no broker answers."""

    def __init__(
        self, client: KafkaClient, lasts: Callable[[BootstrapError], object] = lambda _: None
    ) -> None:
        self._client = client
        self._lasts = lasts
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._error: BootstrapError | None = None
        client.events.add(self._hear)

    @property
    def error(self) -> BootstrapError | None:
        """Why nobody answers, if that has lasted. Any thread."""
        return self._error if self._client.is_cut_off else None

    def _hear(self, event: Event) -> None:
        if isinstance(event, AllBrokersDown):
            if self._timer is not None:
                self._timer.cancel()
            self._look_after(PATIENCE_SECONDS, BootstrapError(str(event.error)))

    def _look_after(self, seconds: float, error: BootstrapError) -> None:
        self._timer = self._loop.call_later(seconds, self._look, error)

    def _look(self, error: BootstrapError) -> None:
        self._timer = None
        self._error = None
        if self._client.is_cut_off:
            self._error = error
            self._lasts(error)
            self._look_after(_LOOK_SECONDS, error)
