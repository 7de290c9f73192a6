"""What a thread waits with in a poll: until it is woken, or until it has fetched something itself.

Knows nothing of what there is to see then.
"""

from __future__ import annotations

import sys
import threading

if sys.platform == "win32":

    class PollWaiting:
        """Only waits: sockets are the event loop's here."""

        is_lent = False
        has_arrived = False

        def __init__(self) -> None:
            self._is_woken = threading.Event()
            self.wake = self._is_woken.set
            self.clear = self._is_woken.clear

        def wait(self, timeout: float) -> None:
            self._is_woken.wait(timeout)

    def direct_fetches(waiting: PollWaiting) -> None:
        return None

else:
    from barnabas._kernel import DirectFetches as PollWaiting

    def direct_fetches(waiting: PollWaiting) -> PollWaiting | None:
        """What the fetcher needs to have the waiting thread fetch, where that can be."""
        return waiting
