"""How long to wait before trying again. Knows nothing of who waits, nor how."""

from __future__ import annotations

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
