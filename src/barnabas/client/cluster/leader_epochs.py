"""Leader epochs that a client has heard of otherwise than by metadata: with committed offsets (KIP-320).

Owns the latest of each partition. Knows nothing of who leads, nor of what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.types import OffsetAndMetadata, TopicPartition


class SeenLeaderEpochs:
    """Of one client. A broker whose metadata names an older leader lags behind. Belongs to the event loop."""

    def __init__(self) -> None:
        self._seen: dict[TopicPartition, tuple[UUID, int]] = {}
        """With the topic that each is of: in another one of the name it means nothing."""

    def note(
        self, metadata: ClusterMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata | None]
    ) -> None:
        """Those of committed offsets, as far as `metadata` does not know such late leaders."""
        for partition, offset in offsets.items():
            epoch = -1 if offset is None or offset.leader_epoch is None else offset.leader_epoch
            info = metadata.partition(partition)
            if info is not None and epoch > max(info.leader_epoch, self.latest(metadata, partition)):
                self._seen[partition] = metadata.topic_id(partition.topic), epoch

    def latest(self, metadata: ClusterMetadata, partition: TopicPartition) -> int:
        """-1 where none was heard of. It may be older than what `metadata` knows by now."""
        seen = self._seen.get(partition)
        if seen is None or seen[0] != metadata.topic_id(partition.topic):
            return -1
        return seen[1]

    def forget(self, partition: TopicPartition) -> None:
        """There was no such leader, as far as brokers know."""
        self._seen.pop(partition, None)
