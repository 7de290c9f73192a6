"""What acks=all waits for: that the replicas in sync have what was written.

They have it by the time that it is written, but for nodes that are paused, and while too few are in sync.
"""

from __future__ import annotations

import asyncio

from barnabas.broker.cluster import Partition
from barnabas.broker_errors import (
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RequestTimedOutError,
)


def check_in_sync(partition: Partition) -> None:
    """Raises: NotEnoughReplicasError, before anything is written."""
    if partition.registration.is_short(partition.topic.rules.min_in_sync_replicas):
        # As Kafka, without a word.
        raise NotEnoughReplicasError("")


async def wait_until_replicated(partition: Partition, end_offset: int, timeout_ms: int) -> None:
    """Raises: NotEnoughReplicasAfterAppendError, NotLeaderOrFollowerError, RequestTimedOutError."""
    log = partition.log
    woken = asyncio.Event()
    partition.waiters.add(woken)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            while log.high_watermark < end_offset:
                if partition.log is not log or partition.is_gone:
                    raise NotLeaderOrFollowerError("")
                if partition.registration.is_short(partition.topic.rules.min_in_sync_replicas):
                    raise NotEnoughReplicasAfterAppendError("")
                await woken.wait()
                woken.clear()
    except TimeoutError:
        raise RequestTimedOutError("") from None
    finally:
        partition.waiters.discard(woken)
