"""How long a consumer may be sure that its session in ZooKeeper lasts, though it hears nothing.

Owns the clock of it: a process that was stopped, or a thread that was away for long, finds out before it
hands out another message, not when kazoo's own thread has got to it. Knows nothing of claims.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["SessionLease"]


class SessionLease:
    """`ask` makes a round trip to ZooKeeper and says whether the session is the one that claims were made in.

    An answered question means that the server heard of the session after it was asked, so the session lasts
    at least its time-out from then. Half of that is counted on, as a server may grant less than was wished.
    """

    def __init__(
        self,
        session_timeout_seconds: float,
        ask: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sure_seconds = session_timeout_seconds / 2
        self._ask = ask
        self._clock = clock
        self._renew_at = 0.0

    def is_sure(self) -> bool:
        """Whether the session lasts at this moment; asks when it has not asked for a while."""
        now = self._clock()
        if now < self._renew_at:
            return True
        if not self._ask():
            return False
        self._renew_at = now + self._sure_seconds / 2
        # The answer itself may have come after a pause that was longer than what it promises.
        return self._clock() < now + self._sure_seconds
