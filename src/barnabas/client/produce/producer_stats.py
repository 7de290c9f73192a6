"""A producer's figures: what its sender counts, and how `stats()` shows it. Decides nothing."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.net.monitor import RollingWindow
from barnabas.stats import ProducerPartitionStats, ProducerStats

if TYPE_CHECKING:
    from barnabas.client.cluster.kafka_client import KafkaClient
    from barnabas.client.produce.partition_queue import PartitionQueue, PendingBatch
    from barnabas.client.produce.sender import Sender


# There may be thousands of partitions.
PARTITION_SAMPLES = 256


@dataclass(slots=True)
class TopicBatches:
    """The batches that were delivered to one topic. Counted since the producer was made."""

    batches: int = 0
    records: int = 0
    size_bytes: int = 0
    latest_records: RollingWindow = field(default_factory=RollingWindow)
    latest_bytes: RollingWindow = field(default_factory=RollingWindow)

    def add(self, records: int, size_bytes: int, now: float, batches: int = 1) -> None:
        """`now`: on the clock of `time.monotonic()`. Several batches count as alike."""
        self.batches += batches
        self.records += records
        self.size_bytes += size_bytes
        self.latest_records.add(now, records / batches)
        self.latest_bytes.add(now, size_bytes / batches)


@dataclass(slots=True)
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
        """`now`: on the clock of `time.monotonic()`. Several batches count as alike."""
        self.records_delivered += records
        self.bytes_delivered += size_bytes
        self.delivered[topic].add(records, size_bytes, now, batches)

    def batch_sent_at_once(self, now: float, batches: int = 1) -> None:
        """In a request of its own, as soon as its first record was there."""
        self.requests += batches
        self.batches += batches
        self.queue_time_ms.add(now, 0)


@dataclass(slots=True)
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
        """`now`: on the clock of `time.monotonic()`. Several batches count as alike."""
        self.records_delivered += records
        self.bytes_delivered += size_bytes
        self.batches_delivered += batches
        self.delivery_latency_ms.add(now, latency_ms)


def producer_stats(client: KafkaClient, sender: Sender, window_seconds: float) -> ProducerStats:
    """May be called on any thread."""
    counts = sender.stats
    queues = sender.queues()
    return ProducerStats(
        client=client.stats(window_seconds),
        buffered_records=sender.accumulator.buffered_records,
        buffered_bytes=sender.accumulator.buffered_bytes,
        batches_in_flight=sum(len(queue.in_flight) for queue in queues),
        requests_sent=counts.requests,
        batches_sent=counts.batches,
        batch_retries=counts.batch_retries,
        batch_splits=counts.batch_splits,
        records_delivered=counts.records_delivered,
        records_failed=counts.records_failed,
        bytes_delivered=counts.bytes_delivered,
        queue_time_ms=counts.queue_time_ms.stats(window_seconds),
        partitions={queue.partition: _partition_stats(client, queue, window_seconds) for queue in queues},
    )


def _partition_stats(
    client: KafkaClient, queue: PartitionQueue, window_seconds: float
) -> ProducerPartitionStats:
    # The sender may change the lists meanwhile; a copy is made in one step.
    waiting, in_flight = list(queue.waiting), list(queue.in_flight)
    counters = queue.counters
    return ProducerPartitionStats(
        leader=client.metadata.leader(queue.partition),
        batches_queued=len(waiting),
        records_queued=_records(waiting),
        bytes_queued=_bytes(waiting),
        batches_in_flight=len(in_flight),
        records_in_flight=_records(in_flight),
        bytes_in_flight=_bytes(in_flight),
        records_delivered=counters.records_delivered,
        bytes_delivered=counters.bytes_delivered,
        batches_delivered=counters.batches_delivered,
        records_failed=counters.records_failed,
        batch_retries=counters.batch_retries,
        delivery_latency_ms=counters.delivery_latency_ms.stats(window_seconds),
    )


def _records(batches: list[PendingBatch]) -> int:
    return sum(pending.record_count for pending in batches)


def _bytes(batches: list[PendingBatch]) -> int:
    return sum(pending.size for pending in batches)
