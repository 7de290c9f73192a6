"""The cluster: its nodes, its topics, their partitions and settings.

Owns the topics, and keeps the metadata in step with the logs. Must not know requests and responses, nor
decide which replica leads.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from barnabas.broker.configs.broker_settings import MIN_IN_SYNC
from barnabas.broker.configs.broker_values import BrokerSettings
from barnabas.broker.data_directory import DataDirectory
from barnabas.broker.features import FeatureLevels
from barnabas.broker.kept_metadata import KeptMetadata
from barnabas.broker.log.files import described
from barnabas.broker.node_logs import NodeLogs
from barnabas.broker.replication.assignments import check_replication_factor, spread
from barnabas.broker.replication.node import NODE_ID, ReplicaNode
from barnabas.broker.replication.registration import (
    PartitionRegistration,
)
from barnabas.broker.scram_users import ScramUsers
from barnabas.broker.settings import (
    LEAST_SEGMENT_BYTES,
    TopicSettings,
    check_topic_settings,
    of_topic,
)
from barnabas.broker.topic import PartedView, Partition, Topic
from barnabas.broker_errors import (
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    TopicAlreadyExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from barnabas.protocol.schema import ZERO_UUID
from barnabas.turns import in_turns
from barnabas.types import TopicPartition

MAX_PARTITIONS = 10_000
MOST_NAME_CHARACTERS = 249
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")


class Cluster:
    """The topics in a data directory, opened. Raises: DataDirectoryError, InvalidConfigError, OSError."""

    def __init__(
        self, directory: DataDirectory, config: Mapping[str, str], racks: Sequence[str | None] = (None,)
    ) -> None:
        """`racks`: of each node."""
        self.settings = BrokerSettings(config)
        self.topics: dict[str, Topic] = {}
        self.metadata = KeptMetadata(directory, len(racks), self.topics, self.settings)
        self.features = FeatureLevels(self.metadata)
        self.scram_users = ScramUsers(self.metadata.scram_credentials)
        self.least_segment_bytes = LEAST_SEGMENT_BYTES
        """What topics take. Releases before Kafka 4 take less."""
        self.topics_changes = 0
        self._topics_by_id: dict[uuid.UUID, Topic] = {}
        self._colliding_names: dict[str, str] = {}
        """Names of topics by what stands for all that would collide with them."""
        self.on_broker_settings_changed: list[Callable[[int | None, Set[str]], None]] = []
        """Called with the node whose settings were changed, or None for all, and with the names of those
        that it had before or has now."""
        self.on_min_in_sync_changed: list[Callable[[Topic], None]] = []
        """Called with each topic that may have another min.insync.replicas, before it goes by that."""
        self.on_deleted: list[Callable[[str], None]] = []
        """Called with the name of each topic that was deleted."""
        self.nodes = {
            node_id: ReplicaNode(node_id, directory.node_path(node_id), rack)
            for node_id, rack in enumerate(racks, NODE_ID)
        }
        for node in self.nodes.values():
            self.settings.facts[node.node_id] = _facts_of(node)
            self.settings.of_nodes.setdefault(node.node_id, {})
        self.has_one_node = len(racks) == 1
        self.parted: dict[int, PartedView] = {}
        """What nodes that are parted from the others know."""
        self.registered = set(self.nodes)
        self.alive = set(self.nodes)
        """Those that run and are heard of."""
        self.on_replica_failed: Callable[[Partition, int], None] = _ignored
        """Called with a partition and the node that could not write what its leader wrote."""
        self.node_logs = NodeLogs(self.metadata, self.nodes, self.alive, self._tell_of_failure)
        self._open()

    @property
    def cluster_id(self) -> str:
        return self.metadata.content.cluster_id

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of every partition."""
        return self.metadata.content.leader_epoch

    def _open(self) -> None:
        topics = [
            Topic(
                kept.name,
                uuid.UUID(kept.topic_id),
                kept.settings,
                TopicSettings(kept.settings, self.settings),
            )
            for kept in self.metadata.content.topics
        ]
        registrations = [self.node_logs.registrations_of(kept) for kept in self.metadata.content.topics]
        for node in self.nodes.values():
            self.node_logs.open(node, zip(topics, registrations, strict=True))
        for topic, its_registrations in zip(topics, registrations, strict=True):
            for index, registration in enumerate(its_registrations):
                topic.partitions.append(self.node_logs.reopened(topic, index, registration))
            self._register(topic)

    def _tell_of_failure(self, name: TopicPartition, node: int) -> None:
        self.on_replica_failed(self.topics[name.topic].partitions[name.partition], node)

    def _register(self, topic: Topic) -> None:
        self.topics[topic.name] = topic
        self.topics_changes += 1
        self._topics_by_id[topic.topic_id] = topic
        self._colliding_names[topic.name.replace(".", "_")] = topic.name

    def close(self) -> None:
        for logs in self.node_logs.managers:
            logs.close()

    # Nodes

    def open_node(self, node_id: int) -> None:
        """Opens the logs of a node that was stopped. Raises: OSError, DamagedLogError."""
        node = self.nodes[node_id]
        topics = list(self.topics.values())
        its = [[partition.registration for partition in topic.partitions] for topic in topics]
        self.node_logs.open(node, zip(topics, its, strict=True))
        for partition in self.partitions_on(node_id):
            assert partition.replicas is not None
            partition.replicas.rejoin(node_id)

    def close_node(self, node_id: int) -> None:
        """Flushes and closes its logs. Who leads must be settled before: no partition may be led there."""
        for partition in self.partitions_on(node_id):
            assert partition.replicas is not None
            partition.replicas.drop(node_id)
        self.node_logs.running(node_id).close()
        self.nodes[node_id].logs = None

    def abandon_node(self, node_id: int) -> None:
        """Lets go of its logs, some of which may be leaders', as if its process had been killed."""
        for partition in self.partitions_on(node_id):
            assert partition.replicas is not None
            partition.replicas.drop(node_id)
        self.node_logs.running(node_id).abandon()
        self.nodes[node_id].logs = None

    def part_node(self, node_id: int) -> None:
        """Takes a node that runs from the others, as if its process had been killed, and leaves it what it
        knows."""
        registrations = {
            partition.name: partition.registration
            for topic in self.topics.values()
            for partition in topic.partitions
        }
        led: dict[TopicPartition, Partition] = {}
        for partition in self.partitions_on(node_id):
            assert partition.replicas is not None
            is_alone = partition.registration.in_sync == (node_id,) and not partition.is_short
            log = partition.replicas.part(node_id, is_alone=is_alone)
            if partition.registration.leader == node_id:
                topic, index, waiters = partition.topic, partition.index, partition.waiters
                led[partition.name] = Partition(topic, index, log, partition.registration, waiters=waiters)
        self.nodes[node_id].is_parted = True
        self.parted[node_id] = PartedView(frozenset(self.alive), registrations, led)

    def rejoin_node(self, node_id: int) -> None:
        """Opens the logs of a node that was parted as those of one that starts. Raises: OSError,
        DamagedLogError."""
        view = self.parted.pop(node_id)
        node = self.nodes[node_id]
        for partition in view.led.values():
            partition.is_gone = True
            partition.wake()
        self.node_logs.running(node_id).close()
        node.logs, node.is_parted = None, False
        self.open_node(node_id)

    def partitions_on(self, node_id: int) -> list[Partition]:
        """Those that have a replica there."""
        return [
            partition
            for topic in self.topics.values()
            for partition in topic.partitions
            if node_id in partition.registration.replicas
        ]

    # Looking up

    def topic(self, name: str) -> Topic:
        """Raises: UnknownTopicOrPartitionError."""
        topic = self.topics.get(name)
        if topic is None:
            raise UnknownTopicOrPartitionError(f"topic {name} does not exist")
        return topic

    def topic_by_id(self, topic_id: uuid.UUID) -> Topic:
        """Raises: UnknownTopicIdError."""
        topic = self._topics_by_id.get(topic_id)
        if topic is None:
            raise UnknownTopicIdError(f"there is no topic with id {topic_id}")
        return topic

    def resolve(self, name: str, topic_id: uuid.UUID) -> Topic:
        """The topic by its id if there is one, else by its name. Raises: as `topic` and `topic_by_id`."""
        return self.topic(name) if topic_id == ZERO_UUID else self.topic_by_id(topic_id)

    def partition(self, topic: Topic, index: int) -> Partition:
        """Raises: UnknownTopicOrPartitionError."""
        if not 0 <= index < len(topic.partitions):
            raise UnknownTopicOrPartitionError(
                f"topic {topic.name} has partitions 0 to {len(topic.partitions) - 1}, not {index}"
            )
        return topic.partitions[index]

    def led_partition(self, topic: Topic, index: int, node_id: int) -> Partition:
        """One that this node leads. Raises: UnknownTopicOrPartitionError, NotLeaderOrFollowerError."""
        partition = self.partition_at(topic, index, node_id)
        if partition.replicas is not None and self.registration_at(partition, node_id).leader != node_id:
            # As Kafka, without a word.
            raise NotLeaderOrFollowerError("")
        return partition

    def partition_at(self, topic: Topic, index: int, node_id: int) -> Partition:
        """As a node has it that was asked. Raises: UnknownTopicOrPartitionError."""
        partition = self.partition(topic, index)
        view = self.parted.get(node_id)
        if view is None:
            return partition
        if partition.name not in view.registrations:
            raise UnknownTopicOrPartitionError(f"node {node_id} has not heard of {partition.name}")
        return view.led.get(partition.name, partition)

    def registration_at(self, partition: Partition, node_id: int) -> PartitionRegistration:
        """What a node that was asked knows."""
        view = self.parted.get(node_id)
        return partition.registration if view is None else view.registrations[partition.name]

    def knows(self, topic: Topic, node_id: int) -> bool:
        """Whether a node that was asked has heard of a topic."""
        return self.partition_count_at(topic, node_id) > 0

    def partition_count_at(self, topic: Topic, node_id: int) -> int:
        """How many partitions a topic has, as far as a node that was asked knows."""
        view = self.parted.get(node_id)
        if view is None:
            return len(topic.partitions)
        return sum(partition.name in view.registrations for partition in topic.partitions)

    def alive_at(self, node_id: int) -> Set[int]:
        """The living nodes, as far as a node that was asked knows."""
        view = self.parted.get(node_id)
        return self.alive if view is None else view.alive

    # Changing

    def check_new_topic(
        self, name: str, partition_count: int, own_settings: Mapping[str, str | None]
    ) -> dict[str, str]:
        """The settings as they would be kept. What is wrong is told in Kafka's words.

        Raises: InvalidTopicError, TopicAlreadyExistsError, InvalidPartitionsError, InvalidConfigError.
        """
        fault = _fault_of_topic_name(name)
        if fault:
            raise InvalidTopicError(f"Topic name is invalid: {fault}")
        if name in self.topics:
            raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        other = self._colliding_names.get(name.replace(".", "_"))
        if other is not None:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")
        if not 1 <= partition_count <= MAX_PARTITIONS:
            raise InvalidPartitionsError(
                f"topic {name}: number of partitions {partition_count} is not from 1 to {MAX_PARTITIONS}"
            )
        nulls = [setting for setting, value in own_settings.items() if value is None]
        if nulls:
            raise InvalidConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
        given = [
            (of_topic(setting, self.least_segment_bytes), value) for setting, value in own_settings.items()
        ]
        kept = {setting.name: setting.check(value) for setting, value in given if value is not None}
        check_topic_settings(kept)
        return kept

    def create_topic(
        self,
        name: str,
        own_settings: Mapping[str, str | None],
        assignments: Sequence[Sequence[int]],
    ) -> Topic:
        """`assignments`: checked replicas of each partition. Raises: as `check_new_topic`, and
        KafkaStorageError."""
        topic = self.new_topic(name, len(assignments), own_settings)
        self.add_topic(topic, list(self.make_partitions(topic, assignments)))
        return topic

    def new_topic(self, name: str, partition_count: int, own_settings: Mapping[str, str | None]) -> Topic:
        """For `make_partitions` and `add_topic`: nobody sees it yet. Raises: as `check_new_topic`."""
        kept = self.check_new_topic(name, partition_count, own_settings)
        return Topic(name, uuid.uuid4(), kept, TopicSettings(kept, self.settings))

    def make_partitions(self, topic: Topic, assignments: Sequence[Sequence[int]]) -> Iterator[Partition]:
        """Makes each when it is asked for, and no more once a node has come or gone. Nobody sees them before
        `add_topic` or `add_partitions`. Raises: KafkaStorageError, and then none is there."""
        made: list[Partition] = []
        settings, states = topic.settings.log_settings(), self.node_logs.states
        try:
            for index, replicas in enumerate(assignments, len(topic.partitions)):
                if self.node_logs.states != states:
                    return
                partition = self.node_logs.make(topic, index, replicas, settings)
                made.append(partition)
                yield partition
        except OSError as error:
            for partition in made:
                self.node_logs.delete(partition)
            raise KafkaStorageError(f"cannot make topic {topic.name}: {described(error)}") from error

    def add_topic(self, topic: Topic, partitions: Sequence[Partition]) -> None:
        """Puts a topic with its partitions into service. Raises: KafkaStorageError, and then nothing of it
        is there."""

        def undo() -> None:
            self._unregister(topic)
            for partition in partitions:
                self.node_logs.delete(partition)

        topic.partitions.extend(partitions)
        # The broker's may have changed while the partitions were made.
        topic.apply_settings()
        self._register(topic)
        self.metadata.keep(f"create topic {topic.name}", undo)

    def add_partitions(self, topic: Topic, partitions: Sequence[Partition]) -> None:
        """Puts more partitions of a topic into service. Raises: KafkaStorageError, and then none of them is
        there."""
        before = len(topic.partitions)

        def undo() -> None:
            del topic.partitions[before:]
            for partition in partitions:
                self.node_logs.delete(partition)

        topic.partitions.extend(partitions)
        # They may have changed while the partitions were made.
        topic.apply_settings()
        self.metadata.keep(f"add partitions to topic {topic.name}", undo)

    def delete_topic(self, topic: Topic) -> None:
        """Takes a topic out of service; `NodeLogs.delete` of its partitions has to follow. Raises:
        KafkaStorageError, and then the topic stays."""
        self._unregister(topic)
        self.metadata.keep(f"delete topic {topic.name}", lambda: self._register(topic))
        for partition in topic.partitions:
            partition.is_gone = True
            partition.wake()
        for notify in self.on_deleted:
            notify(topic.name)

    def place(
        self, partition_count: int, replication_factor: int = -1, first: int | None = None
    ) -> list[Sequence[int]]:
        """Replicas for new partitions, of a topic that has `first` already.

        Raises: InvalidReplicationFactorError.
        """
        if replication_factor == -1:
            replication_factor = self.settings.number("default.replication.factor")
        check_replication_factor(replication_factor, self.registered, self.alive)
        if self.has_one_node:
            return [(NODE_ID,)] * partition_count
        racks = {node: self.nodes[node].rack for node in self.registered}
        if first is None:
            first = len(self.topics)
        return [*spread(partition_count, replication_factor, racks, self.node_logs.within_reach, first)]

    def change_topic_settings(self, topic: Topic, own_settings: dict[str, str]) -> None:
        """Puts checked settings in the place of the topic's own. Raises: KafkaStorageError."""
        before = dict(topic.own_settings)
        self._change(topic.own_settings, own_settings, before, f"topic {topic.name}")
        self._apply_settings(topic, before, own_settings)

    async def change_broker_settings(self, node_id: int | None, settings: dict[str, str]) -> None:
        """Puts checked settings in the place of a node's dynamic ones, or of those of all nodes at once. All
        topics go by them when this returns.

        Raises: KafkaStorageError.
        """
        if node_id is None:
            kept = self.settings.cluster_wide
            if settings.get(MIN_IN_SYNC) == self.settings.of_all()[MIN_IN_SYNC] and MIN_IN_SYNC not in kept:
                del settings[MIN_IN_SYNC]
        else:
            kept = self.settings.of_nodes[node_id]
        whose = "all brokers" if node_id is None else f"broker {node_id}"
        before = dict(kept)
        self._change(kept, settings, before, whose)
        async for topic in in_turns(list(self.topics.values())):
            self._apply_settings(topic, before, settings)
        for notify in self.on_broker_settings_changed:
            notify(node_id, before.keys() | settings.keys())

    def _apply_settings(self, topic: Topic, before: Mapping[str, str], settings: Mapping[str, str]) -> None:
        """`before`, `settings`: its own or the broker's, as they were and are."""
        if before.get(MIN_IN_SYNC) != settings.get(MIN_IN_SYNC):
            for notify in self.on_min_in_sync_changed:
                notify(topic)
        topic.apply_settings()

    def _change(self, kept: dict[str, str], new: dict[str, str], before: dict[str, str], whose: str) -> None:
        def put(settings: dict[str, str]) -> None:
            kept.clear()
            kept.update(settings)

        put(new)
        self.metadata.keep(f"keep the settings of {whose}", lambda: put(before))

    def _unregister(self, topic: Topic) -> None:
        self.topics.pop(topic.name, None)
        self.topics_changes += 1
        self._topics_by_id.pop(topic.topic_id, None)
        self._colliding_names.pop(topic.name.replace(".", "_"), None)


def _facts_of(node: ReplicaNode) -> dict[str, str]:
    return {
        "broker.id": str(node.node_id),
        "log.dirs": str(node.directory),
        "node.id": str(node.node_id),
        "process.roles": "broker,controller",
        **({} if node.rack is None else {"broker.rack": node.rack}),
    }


def is_topic_name(name: str) -> bool:
    return not _fault_of_topic_name(name)


def _fault_of_topic_name(name: str) -> str:
    """In Kafka's words; empty if there is none."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MOST_NAME_CHARACTERS:
        return f"the length of '{name}' is longer than the max allowed length {MOST_NAME_CHARACTERS}"
    if _TOPIC_NAME.fullmatch(name) is None:
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return ""


def _ignored(partition: Partition, node: int) -> None:
    """Nobody is to be told of a replica that failed."""
