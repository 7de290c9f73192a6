"""Has partitions that stopped after an error go on, at the pace of back-off.

They stop at a batch that is corrupt, at an offset that is out of range, or because they are not there. What
was wrong may be over; if it is not, the next poll raises again, as with Java's consumer. Owns how often each
has failed where it stands. Facades, whose originals stop for longer, do without it.
"""

from __future__ import annotations

import asyncio
import contextlib

from barnabas.backoff import Backoff
from barnabas.client.consume.subscription_state import SubscriptionState
from barnabas.types import TopicPartition


class StoppedPartitions:
    """Of one consumer. Made on its event loop."""

    def __init__(self, subscription: SubscriptionState, backoff: Backoff) -> None:
        self._subscription = subscription
        self._backoff = backoff
        self._loop = asyncio.get_running_loop()
        self._failures: dict[TopicPartition, tuple[int, int]] = {}
        """Where each stopped last, and how often in a row it did so there."""
        subscription.on_stopped = self._on_stopped

    def _on_stopped(self, partition: TopicPartition, position: int) -> None:
        """On any thread."""
        # The loop has ended where the consumer is closed.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._go_on_later, partition, position)

    def _go_on_later(self, partition: TopicPartition, position: int) -> None:
        before, failures = self._failures.get(partition, (position, 0))
        failures = failures + 1 if before == position else 1
        self._failures[partition] = (position, failures)
        seconds = self._backoff.delay_ms(failures) / 1000
        self._loop.call_later(seconds, self._subscription.try_again, partition)
