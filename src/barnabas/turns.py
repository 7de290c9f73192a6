"""Long lists are gone through in turns, so that who asks for much holds nobody up.

Owns how long a turn is. Knows nothing of what is in the lists.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

from barnabas.clock import CLOCK

T = TypeVar("T")

TURN_SECONDS = 0.005
ITEMS_BETWEEN_LOOKS = 32


async def in_turns(items: Iterable[T], items_between_looks: int = ITEMS_BETWEEN_LOOKS) -> AsyncIterator[T]:
    """Each of them; whenever a turn has taken its time, others are let in first. What can change meanwhile
    may be another when the next item comes. A few items are always of one turn; where each of them takes
    long, `items_between_looks` says how few."""
    ends_at = CLOCK.monotonic() + TURN_SECONDS
    for place, item in enumerate(items, 1):
        yield item
        if place % items_between_looks == 0 and CLOCK.monotonic() >= ends_at:
            await asyncio.sleep(0)
            ends_at = CLOCK.monotonic() + TURN_SECONDS
