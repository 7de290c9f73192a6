"""Whether a producer's steps came to their ends.

The handler of a signal may raise at any line of a callback of the event loop. asyncio then goes on, or ends
the loop, without the rest of that callback. A step that changes what is on its way is counted before its
first change, and no more counted after its last. What is counted when a cycle begins has not ended: sequences
and the order of batches may be wrong, and nothing more may be sent by them.
"""

from __future__ import annotations


class UnendedSteps:
    """Belongs to one event loop. Steps may be within others; none waits."""

    def __init__(self) -> None:
        self.count = 0
