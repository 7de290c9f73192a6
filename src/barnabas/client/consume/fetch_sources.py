"""Which broker each partition is fetched from, and from when on.

Owns the read replicas that leaders have named, and the back-off of partitions that could not be fetched.
Knows nothing of requests, nor of what is fetched.
"""

from __future__ import annotations

from collections import defaultdict

from barnabas.backoff import Backoff
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.clock import CLOCK
from barnabas.types import PartitionInfo, TopicPartition
from barnabas.values import frozen


@frozen
class _ReadReplica:
    """The replica that a leader named as closest to us (KIP-392): good for a while, and under that leader."""

    node_id: int
    expires_at: float
    leader_epoch: int


class FetchSources:
    """Of one consumer. Belongs to the event loop."""

    def __init__(self, backoff: Backoff, replica_age_ms: float) -> None:
        """`replica_age_ms`: for how long a replica is good."""
        self._backoff = backoff
        self._replica_age_ms = replica_age_ms
        self._replicas: dict[TopicPartition, _ReadReplica] = {}
        self._failures: defaultdict[TopicPartition, int] = defaultdict(int)
        self._not_before: dict[TopicPartition, float] = {}

    def source(
        self, metadata: ClusterMetadata, info: PartitionInfo, partition: TopicPartition, now: float
    ) -> int:
        """The broker to fetch from: the replica that the leader named as closest (KIP-392), or the leader."""
        replica = self._replicas.get(partition)
        if replica is not None:
            is_same_leader = replica.leader_epoch == info.leader_epoch
            if is_same_leader and now < replica.expires_at and replica.node_id in metadata.nodes:
                return replica.node_id
            del self._replicas[partition]
        return info.leader

    @property
    def has_replicas(self) -> bool:
        return bool(self._replicas)

    def replica(self, partition: TopicPartition) -> int:
        """The replica that is fetched from in the leader's place, -1 if there is none."""
        replica = self._replicas.get(partition)
        return -1 if replica is None else replica.node_id

    def use_replica(self, partition: TopicPartition, node_id: int, leader_epoch: int) -> None:
        expires_at = CLOCK.monotonic() + self._replica_age_ms / 1000
        self._replicas[partition] = _ReadReplica(node_id, expires_at, leader_epoch)

    def forget_replica(self, partition: TopicPartition) -> bool:
        """Whether there was one."""
        return self._replicas.pop(partition, None) is not None

    def forget_replicas_at(self, node_id: int) -> None:
        for partition in [p for p, replica in self._replicas.items() if replica.node_id == node_id]:
            del self._replicas[partition]

    def back_off(self, partition: TopicPartition) -> None:
        """It could not be fetched, and is tried again later."""
        self._failures[partition] += 1
        delay = self._backoff.delay_ms(self._failures[partition]) / 1000
        self._not_before[partition] = CLOCK.monotonic() + delay

    def not_before(self, partition: TopicPartition) -> float:
        """On the clock of `CLOCK.monotonic()`."""
        return self._not_before.get(partition, 0)

    def failures(self, partition: TopicPartition) -> int:
        """How often in a row it could not be fetched."""
        return self._failures.get(partition, 0)

    def succeeded(self, partition: TopicPartition) -> None:
        self._failures.pop(partition, None)

    def forget(self, partition: TopicPartition) -> None:
        """It is another one now."""
        self._replicas.pop(partition, None)
        self._failures.pop(partition, None)
        self._not_before.pop(partition, None)
