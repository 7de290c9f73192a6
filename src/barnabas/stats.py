"""What `stats()` of the clients gives: figures of the client, of each broker and of each partition.

Plain data; counts are since the client was made, windows cover the last minute. `dataclasses.asdict` makes
dictionaries of them. Knows nothing of where figures come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from barnabas.types import TopicPartition
from barnabas.values import frozen

BrokerState = Literal["init", "connecting", "up", "down"]
"""`init`: there is no connection, and none is wanted; `down`: the last one was lost, or could not be made."""


@frozen
class WindowStats:
    """Figures of the samples of the last minute, of the latest 1,024 of them (256 of a partition) where there
    were more. All are 0 where there were none."""

    count: int
    sum: float
    min: float
    avg: float
    max: float
    stddev: float
    p50: float
    p75: float
    p90: float
    p95: float
    p99: float
    p99_99: float


@frozen
class BrokerStats:
    """One broker, with all connections to it: those for fetches and for groups as well. `node_id` is -1 for a
    server of bootstrap_servers."""

    node_id: int
    host: str
    port: int
    state: BrokerState
    state_age_seconds: float
    open_connections: int
    connects: int
    disconnects: int
    connect_failures: int
    requests: int
    responses: int
    requests_in_flight: int
    requests_waiting: int
    """Held back while the broker throttles this client."""
    request_timeouts: int
    request_errors: int
    """Requests that ended without an answer, time-outs included."""
    bytes_sent: int
    bytes_received: int
    throttled: int
    """How often the broker asked for silence (KIP-219)."""
    latency_ms: WindowStats
    """From a request to its answer."""
    throttle_time_ms: WindowStats
    requests_by_api: Mapping[str, int]
    """By Kafka's name of the request: `Produce`, `Fetch`, ..."""


@frozen
class ClientStats:
    """What all clients have."""

    client_id: str
    age_seconds: float
    cluster_id: str | None
    """None before the first metadata."""
    controller_id: int
    metadata_age_seconds: float | None
    brokers: tuple[BrokerStats, ...]


@frozen
class ProducerPartitionStats:
    """One partition that records were sent to. Records that are still gathered into a batch are counted for
    the whole producer only."""

    leader: int
    batches_queued: int
    """Closed batches that wait to be sent, or to be sent again."""
    records_queued: int
    bytes_queued: int
    batches_in_flight: int
    records_in_flight: int
    bytes_in_flight: int
    records_delivered: int
    bytes_delivered: int
    batches_delivered: int
    records_failed: int
    batch_retries: int
    delivery_latency_ms: WindowStats
    """From a batch's first record to the answer to the batch."""


@frozen
class ProducerStats:
    """A Producer."""

    client: ClientStats
    buffered_records: int
    """Sent but neither delivered nor failed."""
    buffered_bytes: int
    batches_in_flight: int
    requests_sent: int
    batches_sent: int
    batch_retries: int
    batch_splits: int
    records_delivered: int
    records_failed: int
    bytes_delivered: int
    """After compression."""
    queue_time_ms: WindowStats
    """From a batch's first record to its first request."""
    partitions: Mapping[TopicPartition, ProducerPartitionStats]


@frozen
class ConsumerPartitionStats:
    """One assigned partition. Offsets and lag are -1 where they are not known (yet)."""

    leader: int
    preferred_read_replica: int
    """The broker that is fetched from in the leader's place, -1 if there is none (KIP-392)."""
    position: int
    fetch_offset: int
    high_watermark: int
    last_stable_offset: int
    lag: int
    """From the position to the end that the isolation level shows, as of the last fetch."""
    fetched_bytes: int
    returned_records: int
    """By poll_arrow: the offsets that it went over, so gaps of compaction and transactions count as well."""
    queued_bytes: int
    is_paused: bool


@frozen
class ConsumerStats:
    """A Consumer."""

    client: ClientStats
    group_id: str | None
    member_id: str
    generation: int
    """-1 outside of a group's generation."""
    queued_bytes: int
    fetch_latency_ms: WindowStats
    commits: int
    commit_failures: int
    commit_latency_ms: WindowStats
    rebalances: int
    rebalance_time_ms: float
    """All rebalances together, from joining to taking the assignment over."""
    rebalance_latency_ms: WindowStats
    poll_idle_ratio: float
    """Share of the time since the first poll began that was spent in polls."""
    partitions: Mapping[TopicPartition, ConsumerPartitionStats]
