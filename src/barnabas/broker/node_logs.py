"""The logs of partitions on the nodes of a cluster: opened, made and deleted with the partitions.

Owns which node has which log, and the logs that a node has which was away when they were to go. Must not know
which topics there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cached_property

from barnabas.broker.data_directory import StoredTopic
from barnabas.broker.kept_metadata import KeptMetadata
from barnabas.broker.log.manager import LogManager
from barnabas.broker.log.settings import LogSettings
from barnabas.broker.replication.node import NODE_ID, ReplicaNode
from barnabas.broker.replication.registration import PartitionRegistration, new_partition, restarted
from barnabas.broker.replication.replica_logs import ReplicaLogs, common_end
from barnabas.broker.topic import Partition, Topic
from barnabas.types import TopicPartition


class NodeLogs:
    """`alive`: the nodes that run and are heard of, at any time. `tell_of_failure` is called with a partition
    and the node that could not write what its leader wrote."""

    def __init__(
        self,
        metadata: KeptMetadata,
        nodes: Mapping[int, ReplicaNode],
        alive: Set[int],
        tell_of_failure: Callable[[TopicPartition, int], None],
    ) -> None:
        self._metadata = metadata
        self._nodes = nodes
        self._alive = alive
        self._tell_of_failure = tell_of_failure
        self._has_one_node = len(nodes) == 1

    def running(self, node_id: int) -> LogManager:
        """Of a node that runs."""
        logs = self._nodes[node_id].logs
        assert logs is not None
        return logs

    @property
    def managers(self) -> list[LogManager]:
        """Of the nodes that run."""
        return [node.logs for node in self._nodes.values() if node.logs is not None]

    @property
    def within_reach(self) -> Set[int]:
        """The living nodes but those that were killed and are not missed yet, which cannot make a log."""
        return {node for node in self._alive if self._nodes[node].is_within_reach}

    @property
    def states(self) -> Sequence[object]:
        """Changes whenever a node comes, goes, or takes what leaders write again or not any more."""
        return [
            (node.logs, node.is_heard, node.replicates, node.node_id in self._alive)
            for node in self._nodes.values()
        ]

    # Opening

    def registrations_of(self, kept: StoredTopic) -> list[PartitionRegistration]:
        if self._has_one_node:
            return [self._only_registration] * kept.partition_count
        return kept.registrations

    @cached_property
    def _only_registration(self) -> PartitionRegistration:
        """What all partitions have in a cluster of one."""
        return new_partition((NODE_ID,), (NODE_ID,), self._metadata.content.leader_epoch)

    def open(
        self, node: ReplicaNode, topics: Iterable[tuple[Topic, Sequence[PartitionRegistration]]]
    ) -> None:
        node.directory.mkdir(exist_ok=True)
        node.logs = LogManager(
            node.directory, self._metadata.content.leader_epoch if self._has_one_node else -1
        )
        for name in self._metadata.content.stale_logs.get(str(node.node_id), ()):
            topic, _, index = name.rpartition("-")
            node.logs.forget(TopicPartition(topic, int(index)))
        node.logs.open(
            {
                TopicPartition(topic.name, index): topic.settings.log_settings()
                for topic, registrations in topics
                for index, registration in enumerate(registrations)
                if node.node_id in registration.replicas
            }
        )
        # Logs that it gets from here on are no stale ones, though they may be of the same partitions.
        self._metadata.content.stale_logs.pop(str(node.node_id), None)

    def reopened(self, topic: Topic, index: int, registration: PartitionRegistration) -> Partition:
        """Where there are several nodes, the one leads that has most of what those in sync have: what one of
        them lacks was not acknowledged, or cannot be read any more."""
        name = TopicPartition(topic.name, index)
        if self._has_one_node:
            return Partition(topic, index, self.running(NODE_ID).get(name), registration)
        replicas = ReplicaLogs(name, self._nodes, self._tell_of_failure)
        for node in registration.replicas:
            replicas.take(node)
        candidates = registration.in_sync or registration.eligible or registration.replicas
        leader = max(
            candidates,
            key=lambda node: (replicas.logs[node].log_end_offset, node == registration.leader),
        )
        registration = restarted(registration, leader)
        log = replicas.lead(leader, registration.leader_epoch)
        for node in registration.in_sync:
            while node != leader and not replicas.catch_up(node):
                pass
        partition = Partition(topic, index, log, registration, replicas)
        # While too few are in sync, any of those that are eligible may lead next: what one of them lacks was
        # not shown, and is not to be.
        log.replicated_to = min(
            common_end(replicas.logs[node], log) for node in (*registration.in_sync, *registration.eligible)
        )
        partition.hold()
        return partition

    # Making and deleting

    def make(self, topic: Topic, index: int, replicas: Sequence[int], settings: LogSettings) -> Partition:
        """Raises: OSError."""
        name = TopicPartition(topic.name, index)
        if self._has_one_node:
            log = self.running(NODE_ID).create(name, settings)
            return Partition(topic, index, log, self._only_registration)
        registration = new_partition(replicas, self.within_reach)
        logs = ReplicaLogs(name, self._nodes, self._tell_of_failure)
        try:
            for node in replicas:
                if self._nodes[node].is_within_reach:
                    logs.create(node, settings)
                else:
                    self._note_stale(name, node)
        except OSError:
            for node in list(logs.logs):
                logs.delete(node)
            raise
        log = logs.lead(registration.leader, registration.leader_epoch)
        partition = Partition(topic, index, log, registration, logs)
        partition.hold()
        return partition

    def delete(self, partition: Partition) -> None:
        """Those of a partition that is not in service, or not any more. Nothing happens where they are
        gone."""
        if partition.replicas is None:
            self.running(NODE_ID).delete(partition.log)
            return
        for node in partition.registration.replicas:
            self.remove_replica(partition, node)

    def add_replica(self, partition: Partition, node_id: int) -> None:
        """An empty log on a node that runs; one that starts makes it then. Raises: OSError."""
        if not self._nodes[node_id].is_within_reach:
            self._note_stale(partition.name, node_id)
        elif partition.replicas is not None:
            partition.replicas.create(node_id, partition.topic.settings.log_settings())

    def remove_replica(self, partition: Partition, node_id: int) -> None:
        if not self._nodes[node_id].is_within_reach:
            self._note_stale(partition.name, node_id)
        if partition.replicas is not None:
            partition.replicas.delete(node_id)

    def _note_stale(self, name: TopicPartition, node_id: int) -> None:
        """Whatever a node that is away has of a partition goes when it starts."""
        self._metadata.content.stale_logs.setdefault(str(node_id), []).append(str(name))
