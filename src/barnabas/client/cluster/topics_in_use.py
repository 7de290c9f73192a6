"""The topics that a producer sends to, so that metadata is kept for these alone (metadata_max_idle_ms).

Knows nothing of how metadata is asked for.
"""

from __future__ import annotations

from collections.abc import Container, Iterator


class TopicsInUse:
    """Moments are of `CLOCK.monotonic()`."""

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_seconds = max_idle_ms / 1000
        self._used_at: dict[str, float] = {}

    def __contains__(self, topic: str) -> bool:
        return topic in self._used_at

    def __iter__(self) -> Iterator[str]:
        return iter(self._used_at)

    def use(self, topic: str, now: float) -> None:
        self._used_at[topic] = now

    def forget_idle(self, now: float, waiting: Container[str]) -> list[str]:
        """Forgets the topics to which nothing was sent for too long and nothing is waiting; gives them."""
        idle = [
            topic
            for topic, used_at in self._used_at.items()
            if now - used_at > self._max_idle_seconds and topic not in waiting
        ]
        for topic in idle:
            del self._used_at[topic]
        return idle
