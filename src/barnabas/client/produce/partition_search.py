"""Waiting for a partition that a record names and that nobody here has heard of: it may be a new one.

Knows nothing of records and buffers.
"""

from __future__ import annotations

from barnabas.backoff import Backoff
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.pause import pause
from barnabas.clock import CLOCK
from barnabas.errors import NoSuchPartitionError
from barnabas.settings.table import ProducerConfig

# Brokers hear of new partitions within moments of each other. Java's producer goes on asking until
# max_block_ms, a minute, which is long for what mostly is a mistake.
NEW_PARTITION_SECONDS = 5.0


class PartitionSearch:
    """For one call of `send`."""

    def __init__(self, config: ProducerConfig, client: KafkaClient, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._max_block_ms = config.max_block_ms
        self._misses = 0
        self._until = 0.0

    async def ask_again(self, error: NoSuchPartitionError, deadline: float) -> None:
        """Returns when there is news of the topic. Raises `error` after NEW_PARTITION_SECONDS of that, or at
        `deadline` (of `CLOCK.monotonic()`), but asks once in any case; as `KafkaClient.refresh_metadata`."""
        now = CLOCK.monotonic()
        if not self._misses:
            self._until = min(deadline, now + NEW_PARTITION_SECONDS)
        elif now >= self._until:
            raise error
        await pause(self._backoff, self._misses, self._until - now)
        remaining = deadline - CLOCK.monotonic()
        if self._misses and remaining <= 0:
            raise error
        self._misses += 1
        await self._client.refresh_metadata(
            [self._topic], timeout_ms=remaining * 1000, limit=f"max_block_ms={self._max_block_ms}"
        )
