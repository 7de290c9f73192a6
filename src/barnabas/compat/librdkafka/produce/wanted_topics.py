"""Finds the partitions of topics that messages already wait for, since produce() does not wait.

Owns how long a topic may be unknown, and what becomes of its messages then. Runs on the event loop, but for
`want`. Knows nothing of who produces.
"""

from __future__ import annotations

import asyncio
import logging
import math

from barnabas import background
from barnabas._kernel import ParkedMessages
from barnabas.client.produce.producer import Producer
from barnabas.clock import CLOCK
from barnabas.errors import BarnabasError, BrokerError, KafkaTimeoutError
from barnabas.loop_thread import LoopThread

logger = logging.getLogger("barnabas.compat")

# librdkafka too looks for messages whose time is up once a second.
LOOK_SECONDS = 1.0


class WantedTopics:
    """`propagation_ms`: how long a topic may be unknown to brokers that answer. `message_timeout_ms`: how
    long a message may wait for anything."""

    def __init__(
        self,
        core: Producer,
        parked: ParkedMessages,
        thread: LoopThread,
        *,
        propagation_ms: int,
        message_timeout_ms: int,
    ) -> None:
        self._core = core
        self._parked = parked
        self._thread = thread
        self._propagation_seconds = propagation_ms / 1000
        self._message_timeout_ms = message_timeout_ms
        self.failures = 0
        """Messages that failed while they waited."""
        self._missing: set[str] = set()
        self._looked_for: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def want(self, topic: str) -> bool:
        """Begins to look for a topic. Whether messages may wait for it: not for one that was not there when
        it was last looked for. To be called before a message is parked, and again after that: it may have
        been looked for in between. On any thread."""
        may_wait = topic not in self._missing
        if topic not in self._looked_for:
            self._looked_for.add(topic)
            self._thread.call(lambda: self._look(topic))
        return may_wait

    def fail(self, topic: str | None, error: BarnabasError, *, until_ms: float = math.inf) -> None:
        """Fails what waits for a topic, or for any, and was produced until then; and their transaction."""
        failures = self._parked.fail(topic, error, until_ms=until_ms)
        self.failures += failures
        if failures and self._core.transactions is not None:
            self._core.transactions.failed(error)

    def close(self) -> None:
        """Ends all looking."""
        for task in self._tasks.values():
            task.cancel()

    def _look(self, topic: str) -> None:
        self._tasks[topic] = background.start(self._find(topic), what=f"looking for topic {topic}")

    async def _find(self, topic: str) -> None:
        unknown_since: float | None = None
        try:
            while not self._core.is_closed:
                try:
                    await self._core.find_topic(topic, CLOCK.monotonic() + self._seconds(unknown_since))
                    self._missing.discard(topic)
                    self._parked.unpark(topic)
                    return
                except BrokerError as error:
                    now = CLOCK.monotonic()
                    unknown_since = unknown_since or now
                    is_over = now - unknown_since >= self._propagation_seconds or topic in self._missing
                    if not error.retriable or is_over:
                        self._missing.add(topic)
                        self.fail(topic, error)
                        return
                except BarnabasError as error:
                    # No broker can be asked at present.
                    logger.debug("topic %s is not found yet: %s", topic, error)
                    await asyncio.sleep(self._core.config.retry_backoff_ms / 1000)
                self._expire(topic)
                if topic not in self._parked.topics():
                    return
        finally:
            # What is parked by now is looked for by the next message, or here.
            self._looked_for.discard(topic)
            del self._tasks[topic]
            if topic in self._parked.topics() and not self._core.is_closed:
                self.want(topic)

    def _seconds(self, unknown_since: float | None) -> float:
        left = self._propagation_seconds
        if unknown_since is not None:
            left -= CLOCK.monotonic() - unknown_since
        return max(0.001, min(LOOK_SECONDS, left, self._message_timeout_ms / 1000))

    def _expire(self, topic: str) -> None:
        error = KafkaTimeoutError(
            f"messages for topic {topic!r} waited for its partitions for message.timeout.ms="
            f"{self._message_timeout_ms}"
        )
        self.fail(topic, error, until_ms=CLOCK.monotonic() * 1000 - self._message_timeout_ms)
