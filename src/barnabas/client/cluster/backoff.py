"""How long to wait before trying again."""

from __future__ import annotations

import asyncio

from barnabas.chance import chance
from barnabas.values import frozen

MULTIPLIER = 2
JITTER = 0.2


@frozen
class Backoff:
    """Exponential back-off with jitter (KIP-580): `first_ms`, twice as long each time, at most `max_ms`,
    each by up to a fifth longer or shorter, so that many clients do not come back at the same moment."""

    first_ms: float
    max_ms: float

    def delay_ms(self, failures: int) -> float:
        """Milliseconds to wait after this many failures in a row; 0 after none."""
        if failures <= 0:
            return 0
        longest = max(self.first_ms, self.max_ms)
        delay = min(self.first_ms * MULTIPLIER ** min(failures - 1, 32), longest)
        return min(delay * chance.uniform(1 - JITTER, 1 + JITTER), longest)

    async def pause(self, failures: int, at_most_seconds: float) -> float:
        """Sleeps before the next try; gives the seconds slept."""
        seconds = max(0.0, min(self.delay_ms(failures) / 1000, at_most_seconds))
        await asyncio.sleep(seconds)
        return seconds
