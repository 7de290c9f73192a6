"""How a consumer's `stats()` shows what its parts count. Decides nothing."""

from __future__ import annotations

from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.consume.fetch_buffer import FetchBuffer
from barnabas.client.consume.fetch_queue import FetchQueue
from barnabas.client.consume.fetcher import Fetcher
from barnabas.client.groups.group_observer import GroupObserver
from barnabas.settings.table import ConsumerConfig
from barnabas.stats import ConsumerPartitionStats, ConsumerStats
from barnabas.types import GroupIdentity


def consumer_stats(
    client: KafkaClient,
    config: ConsumerConfig,
    identity: GroupIdentity | None,
    buffer: FetchBuffer,
    fetcher: Fetcher,
    group: GroupObserver,
    *,
    poll_idle_ratio: float,
    window_seconds: float,
) -> ConsumerStats:
    """`identity`: of a member of a group. May be called on any thread."""
    is_committed_only = config.isolation_level == "read_committed"
    queues = buffer.queues()
    return ConsumerStats(
        client=client.stats(window_seconds),
        group_id=config.group_id,
        member_id="" if identity is None else identity.member_id,
        generation=-1 if identity is None else identity.generation,
        queued_bytes=sum(queue.queued_bytes for queue in queues),
        fetch_latency_ms=fetcher.latency_ms.stats(window_seconds),
        commits=group.commits,
        commit_failures=group.commit_failures,
        commit_latency_ms=group.commit_latency_ms.stats(window_seconds),
        rebalances=group.rebalances,
        rebalance_time_ms=group.rebalance_time_ms,
        rebalance_latency_ms=group.rebalance_latency_ms.stats(window_seconds),
        poll_idle_ratio=poll_idle_ratio,
        partitions={
            queue.partition: _partition_stats(client, fetcher, queue, is_committed_only=is_committed_only)
            for queue in queues
        },
    )


def _partition_stats(
    client: KafkaClient, fetcher: Fetcher, queue: FetchQueue, *, is_committed_only: bool
) -> ConsumerPartitionStats:
    state = queue.state
    end = state.last_stable_offset if is_committed_only else state.high_watermark
    position = state.position if state.has_position else -1
    return ConsumerPartitionStats(
        leader=client.metadata.leader(state.partition),
        preferred_read_replica=fetcher.sources.replica(state.partition),
        position=position,
        fetch_offset=queue.fetch_offset if state.has_position else -1,
        high_watermark=state.high_watermark,
        last_stable_offset=state.last_stable_offset,
        lag=max(0, end - position) if end >= 0 and position >= 0 else -1,
        fetched_bytes=queue.fetched_bytes,
        returned_records=state.returned_records,
        queued_bytes=queue.queued_bytes,
        is_paused=state.is_paused,
    )
