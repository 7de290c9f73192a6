"""A client's figures under the names that KIP-714 gives them.

Pure functions from `stats()` to metrics. Knows nothing of brokers' subscriptions or of sending.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.client.cluster.otlp import Metric
from barnabas.stats import ClientStats, ConsumerStats, ProducerStats, WindowStats

PREFIX = "org.apache.kafka."
RATE_SUFFIX = ".rate"


def producer_metrics(stats: ProducerStats) -> list[Metric]:
    """The required metrics of a producer, and what `stats()` has beside them."""
    prefix = f"{PREFIX}producer."
    throttles = [broker.throttle_time_ms for broker in stats.client.brokers]
    return [
        *_client_metrics(prefix, stats.client),
        *_average_and_maximum(f"{prefix}record.queue.time", stats.queue_time_ms),
        *_average_and_maximum_of(f"{prefix}produce.throttle.time", throttles),
        Metric(f"{prefix}record.send.total", "counter", stats.records_delivered),
        Metric(f"{prefix}record.error.total", "counter", stats.records_failed),
        Metric(f"{prefix}record.retry.total", "counter", stats.batch_retries),
        Metric(f"{prefix}batch.split.total", "counter", stats.batch_splits),
        Metric(f"{prefix}buffered.bytes", "gauge", stats.buffered_bytes),
    ]


def consumer_metrics(stats: ConsumerStats) -> list[Metric]:
    """The required metrics of a consumer, and what `stats()` has beside them."""
    prefix = f"{PREFIX}consumer."
    throttles = [broker.throttle_time_ms for broker in stats.client.brokers]
    lags = [partition.lag for partition in stats.partitions.values()]
    partitions = stats.partitions.values()
    return [
        *_client_metrics(prefix, stats.client),
        Metric(f"{prefix}poll.idle.ratio.avg", "gauge", stats.poll_idle_ratio),
        *_average_and_maximum(f"{prefix}coordinator.commit.latency", stats.commit_latency_ms),
        Metric(f"{prefix}coordinator.assigned.partitions", "gauge", len(stats.partitions)),
        *_average_and_maximum(f"{prefix}coordinator.rebalance.latency", stats.rebalance_latency_ms),
        Metric(f"{prefix}coordinator.rebalance.latency.total", "counter", stats.rebalance_time_ms),
        *_average_and_maximum(f"{prefix}fetch.manager.fetch.latency", stats.fetch_latency_ms),
        *_average_and_maximum_of(f"{prefix}fetch.manager.fetch.throttle.time", throttles),
        Metric(f"{prefix}fetch.manager.records.lag.max", "gauge", max(lags, default=-1)),
        Metric(f"{prefix}fetch.manager.queued.bytes", "gauge", sum(p.queued_bytes for p in partitions)),
    ]


def share_consumer_metrics(stats: ClientStats, rebalances: int) -> list[Metric]:
    """Those of a share consumer (KIP-932). `rebalances`: how often its assignment has changed."""
    prefix = f"{PREFIX}consumer."
    throttles = [broker.throttle_time_ms for broker in stats.brokers]
    return [
        *_client_metrics(prefix, stats),
        Metric(f"{prefix}share.coordinator.rebalance.total", "counter", rebalances),
        *_average_and_maximum_of(f"{prefix}share.fetch.manager.fetch.throttle.time", throttles),
    ]


def admin_metrics(stats: ClientStats) -> list[Metric]:
    """What an admin client has: its connections."""
    return list(_client_metrics(f"{PREFIX}admin.client.", stats))


def _client_metrics(prefix: str, stats: ClientStats) -> Iterator[Metric]:
    brokers = stats.brokers
    connects = sum(broker.connects for broker in brokers)
    yield Metric(f"{prefix}connection.creation{RATE_SUFFIX}", "counter", connects)
    yield Metric(f"{prefix}connection.creation.total", "counter", connects)
    yield Metric(f"{prefix}connection.count", "gauge", sum(broker.open_connections for broker in brokers))
    yield Metric(f"{prefix}request.total", "counter", sum(broker.requests for broker in brokers))
    yield Metric(f"{prefix}outgoing.byte.total", "counter", sum(broker.bytes_sent for broker in brokers))
    yield Metric(f"{prefix}incoming.byte.total", "counter", sum(broker.bytes_received for broker in brokers))
    for broker in brokers:
        if broker.node_id >= 0:
            of_node = {"node_id": str(broker.node_id)}
            yield from _average_and_maximum(f"{prefix}node.request.latency", broker.latency_ms, of_node)


def _average_and_maximum(
    name: str, window: WindowStats, attributes: dict[str, str] | None = None
) -> Iterator[Metric]:
    yield Metric(f"{name}.avg", "gauge", float(window.avg), attributes or {})
    yield Metric(f"{name}.max", "gauge", float(window.max), attributes or {})


def _average_and_maximum_of(name: str, windows: list[WindowStats]) -> Iterator[Metric]:
    count = sum(window.count for window in windows)
    yield Metric(f"{name}.avg", "gauge", sum(window.sum for window in windows) / max(1, count))
    yield Metric(f"{name}.max", "gauge", float(max((window.max for window in windows), default=0)))
