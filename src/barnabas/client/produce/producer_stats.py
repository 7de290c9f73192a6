"""How a producer's `stats()` shows what its sender counts. Decides nothing."""

from __future__ import annotations

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.produce.batches.partition_queue import PartitionQueue, PendingBatch
from barnabas.client.produce.sender import Sender
from barnabas.stats import ProducerPartitionStats, ProducerStats


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
