"""What time it is for a broker: the machine's, moved by as much as a test has it.

Owns the one clock of this process. Knows nothing of who asks.
"""

from __future__ import annotations

import time


class MovedClock:
    """`moved_by_ms`: how far this process's time is ahead of the machine's."""

    def __init__(self) -> None:
        self.moved_by_ms = 0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.moved_by_ms


CLOCK = MovedClock()

now_ms = CLOCK.now_ms
