"""What the cluster says of itself: brokers, topics, partitions and their leaders.

Owns how an answer changes what is known. Does no I/O and knows nothing of when to ask.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from barnabas.protocol.messages.metadata import MetadataResponse
from barnabas.types import Node, PartitionInfo, TopicPartition
from barnabas.values import frozen

NO_TOPIC_ID = uuid.UUID(int=0)
NO_LEADER = -1


@frozen
class TopicMetadata:
    """One topic. `topic_id` is all zeros where the broker is older than topic ids (KIP-516)."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]


@frozen
class ClusterMetadata:
    """A snapshot. It never changes: an update makes another one."""

    nodes: Mapping[int, Node] = field(default_factory=dict[int, Node])
    controller_id: int = -1
    cluster_id: str | None = None
    topic_metadata: Mapping[str, TopicMetadata] = field(default_factory=dict[str, TopicMetadata])
    topic_errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """Topics that the last answer about them refused, with Kafka's error code."""
    topic_names: Mapping[uuid.UUID, str] = field(default_factory=dict[uuid.UUID, str])

    @property
    def topics(self) -> list[str]:
        """The topics that are known to exist."""
        return list(self.topic_metadata)

    def partitions_for(self, topic: str) -> list[PartitionInfo]:
        """The partitions of a topic, by number; empty if the topic is not known."""
        known = self.topic_metadata.get(topic)
        return [] if known is None else list(known.partitions)

    def partition(self, partition: TopicPartition) -> PartitionInfo | None:
        known = self.topic_metadata.get(partition.topic)
        if known is None or not 0 <= partition.partition < len(known.partitions):
            return None
        return known.partitions[partition.partition]

    def leader(self, partition: TopicPartition) -> int:
        """The node id of a partition's leader, -1 while there is none or it is not known."""
        info = self.partition(partition)
        return NO_LEADER if info is None or info.leader not in self.nodes else info.leader

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The epoch of a partition's leader, -1 if it is not known."""
        info = self.partition(partition)
        return -1 if info is None else info.leader_epoch

    def topic_id(self, topic: str) -> uuid.UUID:
        """All zeros if it is not known."""
        known = self.topic_metadata.get(topic)
        return NO_TOPIC_ID if known is None else known.topic_id

    def topic_name(self, topic_id: uuid.UUID) -> str | None:
        return self.topic_names.get(topic_id)

    def changed_leaders(
        self, previous: ClusterMetadata
    ) -> Iterator[tuple[TopicPartition, int, PartitionInfo]]:
        """Partitions whose leader was another one in `previous`, with that one's node id and what is known
        of them now. Partitions that only one of the two knows are left out."""
        for name, topic in self.topic_metadata.items():
            before = previous.topic_metadata.get(name)
            if before is None or before is topic:
                continue
            for old, new in zip(before.partitions, topic.partitions, strict=False):
                if old.leader != new.leader:
                    yield TopicPartition(name, new.partition), old.leader, new

    def updated(self, response: MetadataResponse, *, keep_others: bool) -> ClusterMetadata:
        """The snapshot after an answer. `keep_others`: topics that the answer does not mention stay known."""
        if self.cluster_id and response.cluster_id and self.cluster_id != response.cluster_id:
            # What another cluster said of its topics, their leaders' epochs above all, means nothing in this.
            return ClusterMetadata(cluster_id=response.cluster_id).updated(response, keep_others=False)
        topics: dict[str, TopicMetadata] = dict(self.topic_metadata) if keep_others else {}
        errors: dict[str, int] = dict(self.topic_errors) if keep_others else {}
        names: dict[uuid.UUID, str] = dict(self.topic_names) if keep_others else {}
        for topic in response.topics:
            if topic.name is None:
                continue
            errors.pop(topic.name, None)
            before = topics.pop(topic.name, None)
            if before is not None:
                names.pop(before.topic_id, None)
            if topic.error_code and not topic.partitions:
                errors[topic.name] = topic.error_code
            else:
                topics[topic.name] = self._merged(topic)
                if topic.topic_id != NO_TOPIC_ID:
                    names[topic.topic_id] = topic.name
        return ClusterMetadata(
            nodes={
                broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack)
                for broker in response.brokers
            },
            controller_id=response.controller_id,
            cluster_id=response.cluster_id,
            topic_metadata=topics,
            topic_errors=errors,
            topic_names=names,
        )

    def with_leader(
        self, partition: TopicPartition, leader: int, leader_epoch: int, nodes: Iterable[Node]
    ) -> ClusterMetadata:
        """The snapshot after a broker named a partition's new leader in an answer (KIP-951)."""
        known = self.topic_metadata.get(partition.topic)
        info = self.partition(partition)
        if known is None or info is None or info.leader_epoch >= leader_epoch:
            return self
        partitions = list(known.partitions)
        partitions[partition.partition] = replace(info, leader=leader, leader_epoch=leader_epoch)
        topics = {**self.topic_metadata, partition.topic: replace(known, partitions=tuple(partitions))}
        return replace(
            self, topic_metadata=topics, nodes={**self.nodes, **{node.node_id: node for node in nodes}}
        )

    def _merged(self, topic: MetadataResponse.MetadataResponseTopic) -> TopicMetadata:
        assert topic.name is not None
        known = self.topic_metadata.get(topic.name)
        is_same = known is not None and known.topic_id == topic.topic_id
        partitions: list[PartitionInfo] = []
        for partition in sorted(topic.partitions, key=lambda p: p.partition_index):
            index = partition.partition_index
            # KIP-320: a broker that lags behind may name a leader that was deposed in the meantime.
            if (
                is_same
                and known is not None
                and index < len(known.partitions)
                and known.partitions[index].leader_epoch > partition.leader_epoch >= 0
            ):
                partitions.append(known.partitions[index])
                continue
            partitions.append(
                PartitionInfo(
                    topic.name,
                    index,
                    partition.leader_id,
                    partition.leader_epoch,
                    tuple(partition.replica_nodes),
                    tuple(partition.isr_nodes),
                    tuple(partition.offline_replicas),
                )
            )
        return TopicMetadata(topic.name, topic.topic_id, topic.is_internal, tuple(partitions))
