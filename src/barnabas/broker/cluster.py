"""The cluster of one node: its topics, their partitions and settings.

Owns the metadata and keeps it on disk in step with the logs. Must not know requests and responses.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas._kernel import BatchInfo
from barnabas.broker.configs.named_settings import NamedSettings
from barnabas.broker.configs.setting_kinds import checked
from barnabas.broker.data_directory import BrokerMetadata, DataDirectory, StoredTopic
from barnabas.broker.features import FEATURES
from barnabas.broker.log.files import described
from barnabas.broker.log.manager import LogManager, now_ms
from barnabas.broker.log.markers import EndMarker
from barnabas.broker.log.partition_log import Appended, PartitionLog
from barnabas.broker.replication.registration import PartitionRegistration, new_partition
from barnabas.broker.scram_users import ScramCredential, UserAndMechanism
from barnabas.broker.settings import (
    BROKER_SETTINGS,
    TOPIC_SETTINGS,
    BrokerSettings,
    ProduceRules,
    TopicSettings,
)
from barnabas.broker_errors import (
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
    TopicAlreadyExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from barnabas.protocol.schema import ZERO_UUID
from barnabas.types import TopicPartition

if TYPE_CHECKING:
    from barnabas._kernel import Buffer

NODE_ID = 1
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})
PRODUCER_ID_BLOCK = 1000
MAX_PARTITIONS = 10_000
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(slots=True, eq=False)
class Partition:
    """A partition in service. `waiters` are woken by every append and when the partition goes."""

    topic: Topic
    index: int
    log: PartitionLog
    state: PartitionRegistration
    waiters: set[asyncio.Event] = field(default_factory=set[asyncio.Event])
    is_gone: bool = False
    """The topic has been deleted."""

    @property
    def name(self) -> TopicPartition:
        return TopicPartition(self.topic.name, self.index)

    def append(self, data: Buffer, batches: Sequence[BatchInfo]) -> Appended:
        """Writes batches that were checked. Raises: as PartitionLog.append."""
        set_append_time = self.topic.rules.set_append_time
        appended = self.log.append(data, batches, now_ms=now_ms(), set_append_time=set_append_time)
        self.wake()
        return appended

    def end_transaction(self, marker: EndMarker, *, needs_newer_epoch: bool) -> None:
        """Raises: as PartitionLog.append_marker."""
        self.log.append_marker(marker, now_ms=now_ms(), needs_newer_epoch=needs_newer_epoch)
        self.wake()

    def wake(self) -> None:
        for waiter in self.waiters:
            waiter.set()


@dataclass(slots=True, eq=False)
class Topic:
    """A topic in service. `own_settings` are those set on the topic itself."""

    name: str
    topic_id: uuid.UUID
    own_settings: dict[str, str]
    settings: TopicSettings
    partitions: list[Partition] = field(default_factory=list[Partition])
    rules: ProduceRules = field(init=False)

    def __post_init__(self) -> None:
        self.apply_settings()

    def apply_settings(self) -> None:
        """To be called when the topic's or the broker's settings have changed."""
        self.rules = self.settings.produce_rules()
        for partition in self.partitions:
            partition.log.settings = self.settings.log_settings()

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


class Cluster:
    """The topics in a data directory, opened. Raises: DataDirectoryError, InvalidConfigError, OSError."""

    def __init__(self, directory: DataDirectory, config: Mapping[str, str]) -> None:
        self.settings = BrokerSettings(config)
        self._directory = directory
        self._metadata = directory.load()
        self._metadata.leader_epoch += 1
        self.settings.dynamic = checked(self._metadata.broker_settings, BROKER_SETTINGS)
        self.client_metrics = NamedSettings(self._metadata.client_metrics, self._save)
        self.group_settings = NamedSettings(self._metadata.group_settings, self._save)
        self.topics: dict[str, Topic] = {}
        self._topics_by_id: dict[uuid.UUID, Topic] = {}
        self._colliding_names: dict[str, str] = {}
        """Names of topics by what stands for all that would collide with them."""
        self._unsaved: list[Topic] | None = None
        """Those created while saving is put off."""
        self._producer_ids: Iterator[int] = iter(())
        self.on_deleted: list[Callable[[str], None]] = []
        """Called with the name of each topic that was deleted."""
        directory.save(self._metadata)
        self.logs = LogManager(directory.path, self._metadata.leader_epoch)
        self._only_state = new_partition((NODE_ID,), (NODE_ID,), self._metadata.leader_epoch)
        self._open()

    @property
    def cluster_id(self) -> str:
        return self._metadata.cluster_id

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of every partition."""
        return self._metadata.leader_epoch

    @property
    def log_directory(self) -> str:
        return str(self._directory.path)

    def _open(self) -> None:
        settings = {kept.name: TopicSettings(kept.settings, self.settings) for kept in self._metadata.topics}
        self.logs.open(
            {
                TopicPartition(kept.name, index): settings[kept.name].log_settings()
                for kept in self._metadata.topics
                for index in range(kept.partition_count)
            }
        )
        for kept in self._metadata.topics:
            topic = Topic(kept.name, uuid.UUID(kept.topic_id), kept.settings, settings[kept.name])
            topic.partitions = [
                Partition(topic, index, self.logs.get(TopicPartition(kept.name, index)), self._only_state)
                for index in range(kept.partition_count)
            ]
            self._register(topic)

    def _register(self, topic: Topic) -> None:
        self.topics[topic.name] = topic
        self._topics_by_id[topic.topic_id] = topic
        self._colliding_names[topic.name.replace(".", "_")] = topic.name

    def close(self) -> None:
        self.logs.close()

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

    # Changing

    def check_new_topic(
        self, name: str, partition_count: int, own_settings: Mapping[str, str | None]
    ) -> dict[str, str]:
        """The settings as they would be kept.

        Raises: InvalidTopicError, TopicAlreadyExistsError, InvalidPartitionsError, InvalidConfigError.
        """
        if not _TOPIC_NAME.fullmatch(name) or name in (".", ".."):
            raise InvalidTopicError(
                f"topic name {name!r} is not allowed: 1 to 249 characters of a-z, A-Z, 0-9, '.', '_' and '-'"
            )
        if name in self.topics:
            raise TopicAlreadyExistsError(f"topic {name} exists already")
        other = self._colliding_names.get(name.replace(".", "_"))
        if other is not None:
            raise InvalidTopicError(f"topic {name} collides with {other}: '.' and '_' count as the same")
        if not 1 <= partition_count <= MAX_PARTITIONS:
            raise InvalidPartitionsError(
                f"topic {name}: number of partitions {partition_count} is not from 1 to {MAX_PARTITIONS}"
            )
        return checked(own_settings, TOPIC_SETTINGS)

    def create_topic(self, name: str, partition_count: int, own_settings: Mapping[str, str | None]) -> Topic:
        """Raises: as `check_new_topic`, and KafkaStorageError."""
        kept = self.check_new_topic(name, partition_count, own_settings)
        topic = Topic(name, uuid.uuid4(), kept, TopicSettings(kept, self.settings))
        try:
            self._add_partitions(topic, partition_count)
            self._register(topic)
            if self._unsaved is None:
                self._save()
            else:
                self._unsaved.append(topic)
        except OSError as error:
            self._unregister(topic)
            self._remove_partitions(topic, 0)
            raise KafkaStorageError(f"cannot create topic {name}: {described(error)}") from error
        return topic

    @contextmanager
    def saved_once(self) -> Generator[None]:
        """Keeps all topics that are created inside with one write at the end, without giving way to anything
        else. Raises: KafkaStorageError, which says why none of them is there then."""
        created = self._unsaved = []
        try:
            yield
        finally:
            self._unsaved = None
        try:
            if created:
                self._save()
        except OSError as error:
            for topic in created:
                self._unregister(topic)
                self._remove_partitions(topic, 0)
            raise KafkaStorageError(described(error)) from error

    def create_partitions(self, topic: Topic, total: int) -> None:
        """Raises: KafkaStorageError."""
        before = len(topic.partitions)
        try:
            self._add_partitions(topic, total)
            self._save()
        except OSError as error:
            self._remove_partitions(topic, before)
            raise KafkaStorageError(
                f"cannot add partitions to topic {topic.name}: {described(error)}"
            ) from error

    def delete_topic(self, topic: Topic) -> None:
        """Raises: KafkaStorageError, and then the topic stays."""
        self._unregister(topic)
        try:
            self._save()
        except OSError as error:
            self._register(topic)
            raise KafkaStorageError(f"cannot delete topic {topic.name}: {described(error)}") from error
        self._remove_partitions(topic, 0)
        for notify in self.on_deleted:
            notify(topic.name)

    def change_topic_settings(self, topic: Topic, own_settings: dict[str, str]) -> None:
        """Puts checked settings in the place of the topic's own. Raises: KafkaStorageError."""
        before = dict(topic.own_settings)
        self._change(topic.own_settings, own_settings, before, f"topic {topic.name}")
        topic.apply_settings()

    def change_broker_settings(self, settings: dict[str, str]) -> None:
        """Puts checked settings in the place of the dynamic ones. Raises: KafkaStorageError."""
        before = dict(self.settings.dynamic)
        self._change(self.settings.dynamic, settings, before, "the broker")
        for topic in self.topics.values():
            topic.apply_settings()

    def _change(self, kept: dict[str, str], new: dict[str, str], before: dict[str, str], whose: str) -> None:
        kept.clear()
        kept.update(new)
        try:
            self._save()
        except OSError as error:
            kept.clear()
            kept.update(before)
            raise KafkaStorageError(f"cannot keep the settings of {whose}: {described(error)}") from error

    @property
    def metadata_changes(self) -> int:
        """How often the metadata has been kept."""
        return self._metadata.changes

    @property
    def metadata(self) -> BrokerMetadata:
        """What is kept, to be read; `change_metadata` changes it."""
        return self._metadata

    def change_metadata(self, what: str, **fields: object) -> None:
        """Sets fields of the metadata and keeps it; `what` is for the error. Raises: KafkaStorageError."""
        before = {name: getattr(self._metadata, name) for name in fields}
        for name, value in fields.items():
            setattr(self._metadata, name, value)
        try:
            self._save()
        except OSError as error:
            for name, value in before.items():
                setattr(self._metadata, name, value)
            raise KafkaStorageError(f"cannot keep {what}: {described(error)}") from error

    # Features

    @property
    def features_epoch(self) -> int:
        """Grows with every change of a feature's level."""
        return self._metadata.features_epoch

    def feature_levels(self) -> dict[str, int]:
        return {
            name: self._metadata.features.get(name, feature.default) for name, feature in FEATURES.items()
        }

    def change_features(self, levels: Mapping[str, int]) -> None:
        """Puts checked levels into force. Raises: KafkaStorageError."""
        before = dict(self._metadata.features)
        self._metadata.features.update(levels)
        self._metadata.features_epoch += 1
        try:
            self._save()
        except OSError as error:
            self._metadata.features = before
            self._metadata.features_epoch -= 1
            raise KafkaStorageError(f"cannot keep the levels of features: {described(error)}") from error

    # Users

    @property
    def scram_credentials(self) -> dict[UserAndMechanism, ScramCredential]:
        return {(kept.user, kept.mechanism): kept for kept in self._metadata.scram_credentials}

    def change_scram_credentials(self, changes: Mapping[UserAndMechanism, ScramCredential | None]) -> None:
        """Sets checked credentials, or takes them away. Raises: KafkaStorageError."""
        if not changes:
            return
        before = self._metadata.scram_credentials
        after = {**self.scram_credentials, **changes}
        self._metadata.scram_credentials = [kept for kept in after.values() if kept is not None]
        try:
            self._save()
        except OSError as error:
            self._metadata.scram_credentials = before
            raise KafkaStorageError(f"cannot keep users' credentials: {described(error)}") from error

    def next_producer_id(self) -> int:
        """An id that no producer ever had; reserved on disk in blocks. Raises: KafkaStorageError."""
        producer_id = next(self._producer_ids, None)
        if producer_id is not None:
            return producer_id
        first = self._metadata.next_producer_id
        self._metadata.next_producer_id = first + PRODUCER_ID_BLOCK
        try:
            self._save()
        except OSError as error:
            self._metadata.next_producer_id = first
            raise KafkaStorageError(f"cannot reserve producer ids: {described(error)}") from error
        self._producer_ids = iter(range(first, first + PRODUCER_ID_BLOCK))
        return next(self._producer_ids)

    def _add_partitions(self, topic: Topic, total: int) -> None:
        for index in range(len(topic.partitions), total):
            name = TopicPartition(topic.name, index)
            topic.partitions.append(
                Partition(
                    topic, index, self.logs.create(name, topic.settings.log_settings()), self._only_state
                )
            )

    def _remove_partitions(self, topic: Topic, keep: int) -> None:
        removed = topic.partitions[keep:]
        del topic.partitions[keep:]
        for partition in removed:
            partition.is_gone = True
            self.logs.delete(partition.name)
            partition.wake()

    def _unregister(self, topic: Topic) -> None:
        self.topics.pop(topic.name, None)
        self._topics_by_id.pop(topic.topic_id, None)
        self._colliding_names.pop(topic.name.replace(".", "_"), None)

    def _save(self) -> None:
        self._metadata.topics = [
            StoredTopic(topic.name, str(topic.topic_id), len(topic.partitions), topic.own_settings)
            for topic in self.topics.values()
        ]
        self._metadata.broker_settings = self.settings.dynamic
        self._metadata.changes += 1
        self._directory.save(self._metadata)
