"""One poll of a consumer, on the caller's thread: takes in what arrives, looks whether that is what the
caller waits for, and waits.

Owns the order of these and the deadline. Every consumer for plain calls, and every facade of one, polls by
it. Knows nothing of what is looked for, or of callbacks.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Literal, TypeVar

from barnabas.client.consume.consumer_core import ConsumerCore
from barnabas.clock import CLOCK
from barnabas.sync.waiting import PollWaiting

T = TypeVar("T")


class Look(enum.Enum):
    """What a look may give in place of what was looked for."""

    WAIT = enum.auto()
    AGAIN = enum.auto()


def run_poll(
    core: ConsumerCore,
    waiting: PollWaiting,
    look: Callable[[], T | Literal[Look.WAIT, Look.AGAIN]],
    *,
    timeout: float | None,
    longest_wait: float = math.inf,
) -> T | None:
    """What `look` gives; None after `timeout` seconds (None: never). After `longest_wait` seconds it looks
    again though nobody woke it. Raises: what `look` raises, ClosedError."""
    deadline = math.inf if timeout is None else CLOCK.monotonic() + timeout
    core.poll_began()
    try:
        if timeout is not None and timeout <= 0 and waiting.is_lent:
            # Nobody else looks whether anything has come.
            waiting.wait(0)
            core.take_in()
        while True:
            waiting.clear()
            if waiting.has_arrived:
                core.take_in()
            found = look()
            if found is Look.AGAIN:
                continue
            if found is not Look.WAIT:
                return found
            core.check_open()
            remaining = deadline - CLOCK.monotonic()
            if remaining <= 0:
                return None
            waiting.wait(min(remaining, longest_wait))
            core.take_in()
    finally:
        core.poll_ended()
