"""How far a batch that was fetched may unpack: a few kilobytes may hold gigabytes."""

from __future__ import annotations

from barnabas.settings.table import ConsumerConfig, ShareConsumerConfig

# About what librdkafka allows by default (receive.message.max.bytes).
LEAST_BYTES = 100 << 20


def most_unpacked_bytes(config: ConsumerConfig | ShareConsumerConfig) -> int:
    """A batch that unpacks to more is refused, as corrupt: 100 MiB, or twice fetch_max_bytes where that is
    more."""
    return max(LEAST_BYTES, 2 * config.fetch_max_bytes)
