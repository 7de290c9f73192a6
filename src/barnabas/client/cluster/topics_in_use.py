"""The topics that a producer sends to, so that metadata is kept for these alone (metadata_max_idle_ms).

Knows nothing of how metadata is asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterator


class TopicsInUse:
    """Moments are of `CLOCK.monotonic()`."""

    def __init__(self, max_idle_ms: int) -> None:
        self._max_idle_seconds = max_idle_ms / 1000
        # The topic that was used last is the last one, so that what is idle is found without looking at all.
        self._used_at: OrderedDict[str, float] = OrderedDict()

    def __contains__(self, topic: str) -> bool:
        return topic in self._used_at

    def __iter__(self) -> Iterator[str]:
        return iter(self._used_at)

    def use(self, topic: str, now: float) -> None:
        self._used_at[topic] = now
        self._used_at.move_to_end(topic)

    def forget_idle(self, now: float, waiting: Callable[[], Container[str]]) -> list[str]:
        """Forgets the topics to which nothing was sent for too long and that are not in `waiting()`, which is
        called if there are any; gives them."""
        unused: list[str] = []
        for topic, used_at in self._used_at.items():
            if now - used_at <= self._max_idle_seconds:
                break
            unused.append(topic)
        if not unused:
            return []
        kept = waiting()
        idle = [topic for topic in unused if topic not in kept]
        for topic in idle:
            del self._used_at[topic]
        return idle
