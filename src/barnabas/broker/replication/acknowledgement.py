"""What acks=all waits for, and coordinators with it: that the replicas in sync have what was written.

They have it by the time that it is written, but for nodes that are paused or gone, and while too few are in
sync.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from barnabas.broker.log.partition_log import PartitionLog
from barnabas.broker_errors import (
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RequestTimedOutError,
)


class ReplicatedPartition(Protocol):
    """What there is to know of a partition here."""

    log: PartitionLog
    waiters: dict[asyncio.Event, None]
    is_gone: bool

    @property
    def has_leader(self) -> bool: ...

    @property
    def is_short(self) -> bool: ...


def check_in_sync(partition: ReplicatedPartition) -> None:
    """Raises: NotEnoughReplicasError, before anything is written."""
    if partition.is_short:
        # As Kafka, without a word.
        raise NotEnoughReplicasError("")


@dataclass(frozen=True, slots=True)
class Written:
    """What a leader has up to an offset. Another leader, whose log is another, may lack it."""

    partition: ReplicatedPartition
    log: PartitionLog
    end_offset: int

    @classmethod
    def all_of(cls, partition: ReplicatedPartition) -> Written:
        return cls(partition, partition.log, partition.log.log_end_offset)

    @property
    def has_moved(self) -> bool:
        """Whether another leads, or nobody."""
        partition = self.partition
        return partition.log is not self.log or not partition.has_leader or partition.is_gone

    @property
    def is_replicated(self) -> bool:
        return not self.has_moved and self.log.high_watermark >= self.end_offset

    async def until_replicated(self, timeout_ms: int) -> None:
        """With too few in sync it waits until there are enough again, as Kafka does from 4.0 on. Raises:
        NotLeaderOrFollowerError, RequestTimedOutError."""
        if self.is_replicated:
            return
        partition = self.partition
        woken = asyncio.Event()
        partition.waiters[woken] = None
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not self.is_replicated:
                    if self.has_moved:
                        raise NotLeaderOrFollowerError("")
                    await woken.wait()
                    woken.clear()
        except TimeoutError:
            raise RequestTimedOutError("") from None
        finally:
            partition.waiters.pop(woken, None)
