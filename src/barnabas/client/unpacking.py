"""How far a batch that was fetched may unpack: a few kilobytes may hold gigabytes."""

from __future__ import annotations

# About what librdkafka allows by default (receive.message.max.bytes).
LEAST_BYTES = 100 << 20


def most_unpacked_bytes(fetch_max_bytes: int) -> int:
    """A batch that unpacks to more is refused, as corrupt: 100 MiB, or twice what is fetched at once where
    that is more."""
    return max(LEAST_BYTES, 2 * fetch_max_bytes)
