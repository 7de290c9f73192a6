"""How much of its time a caller spends in polls."""

from __future__ import annotations

from barnabas.clock import CLOCK


class PollClock:
    """How much of its time a caller spends in polls."""

    def __init__(self) -> None:
        self._first_began_at = 0.0
        self._began_at = 0.0
        self._seconds = 0.0

    def began(self) -> None:
        self._began_at = CLOCK.monotonic()
        if not self._first_began_at:
            self._first_began_at = self._began_at

    def ended(self) -> None:
        self._seconds += CLOCK.monotonic() - self._began_at

    @property
    def idle_ratio(self) -> float:
        """Share of the time since the first poll began that was spent in polls; 0 before."""
        elapsed = CLOCK.monotonic() - self._first_began_at
        return min(1.0, self._seconds / elapsed) if self._first_began_at and elapsed else 0.0
