"""What the sender counts of its batches: of all, by topic and by partition. Decides nothing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field

from barnabas.values import mutable
from barnabas.windows import RollingWindow

# There may be thousands of partitions.
PARTITION_SAMPLES = 256


@mutable
class TopicBatches:
    """The batches that were delivered to one topic. Counted since the producer was made."""

    batches: int = 0
    records: int = 0
    size_bytes: int = 0
    latest_records: RollingWindow = field(default_factory=RollingWindow)
    latest_bytes: RollingWindow = field(default_factory=RollingWindow)

    def add(self, records: int, size_bytes: int, now: float, batches: int = 1) -> None:
        """`now`: on the clock of `CLOCK.monotonic()`. Several batches count as alike."""
        self.batches += batches
        self.records += records
        self.size_bytes += size_bytes
        self.latest_records.add(now, records / batches)
        self.latest_bytes.add(now, size_bytes / batches)


@mutable
class SenderStats:
    """Counted since the producer was made."""

    requests: int = 0
    batches: int = 0
    records_delivered: int = 0
    records_failed: int = 0
    bytes_delivered: int = 0
    """After compression."""
    batch_retries: int = 0
    batch_splits: int = 0
    queue_time_ms: RollingWindow = field(default_factory=RollingWindow)
    """From a batch's first record to its first request."""
    delivered: defaultdict[str, TopicBatches] = field(default_factory=lambda: defaultdict(TopicBatches))
    """By topic."""

    def batch_delivered(
        self, topic: str, records: int, size_bytes: int, now: float, batches: int = 1
    ) -> None:
        """`now`: on the clock of `CLOCK.monotonic()`. Several batches count as alike."""
        self.records_delivered += records
        self.bytes_delivered += size_bytes
        self.delivered[topic].add(records, size_bytes, now, batches)

    def batch_sent_at_once(self, now: float, batches: int = 1) -> None:
        """In a request of its own, as soon as its first record was there."""
        self.requests += batches
        self.batches += batches
        self.queue_time_ms.add(now, 0)


@mutable
class PartitionCounters:
    """What happened to the batches of one partition."""

    records_delivered: int = 0
    bytes_delivered: int = 0
    batches_delivered: int = 0
    records_failed: int = 0
    batch_retries: int = 0
    delivery_latency_ms: RollingWindow = field(default_factory=lambda: RollingWindow(PARTITION_SAMPLES))

    def batch_delivered(
        self, records: int, size_bytes: int, now: float, latency_ms: float, batches: int = 1
    ) -> None:
        """`now`: on the clock of `CLOCK.monotonic()`. Several batches count as alike."""
        self.records_delivered += records
        self.bytes_delivered += size_bytes
        self.batches_delivered += batches
        self.delivery_latency_ms.add(now, latency_ms)
