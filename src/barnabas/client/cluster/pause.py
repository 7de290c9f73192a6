"""Waiting on the event loop before something is tried again."""

from __future__ import annotations

import asyncio

from barnabas.backoff import Backoff


async def pause(backoff: Backoff, failures: int, at_most_seconds: float) -> float:
    """Sleeps before the next try; gives the seconds slept."""
    seconds = max(0.0, min(backoff.delay_ms(failures) / 1000, at_most_seconds))
    await asyncio.sleep(seconds)
    return seconds
