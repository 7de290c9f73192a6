"""What the driver asks of a cluster: which partitions there are, and what each of them holds.

Keeps its connections, so that a streaming query asks anew at every trigger without connecting anew. Must not
know Spark.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable, Mapping
from types import TracebackType
from typing import Self

from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.client.admin.types import TopicDescription
from barnabas.settings.table import AdminConfig, ConsumerConfig, IsolationLevel, load, names
from barnabas.spark.clients import CLOSE_TIMEOUT_SECONDS, make_admin, make_consumer, meaning
from barnabas.spark.options import Assign, SourceOptions, Subscribe
from barnabas.spark.planning.limits import BytesPerOffset
from barnabas.spark.planning.log_sizes import LogSizes
from barnabas.spark.planning.losses import Available
from barnabas.spark.planning.offsets import Offsets, name_partitions
from barnabas.types import TopicPartition

PAUSE_BY_SEARCH = 10
MANY_PARTITIONS = 2000


class SourceCluster:
    """The isolation level of the source's consumers decides what "latest" means.

    `topic_ids` are those of the topics whose partitions were asked for, as far as brokers tell (KIP-516), and
    `leader_epochs` those of the logs whose ends were; `leaders` are the nodes that lead partitions.
    """

    def __init__(self, options: SourceOptions) -> None:
        # What is asked here only leaders know, and the rack of an executor may not be known on the driver.
        settings = {name: value for name, value in options.consumer_settings.items() if name != "client_rack"}
        self._subscription = options.subscription
        self._tries = max(1, options.offset_retries)
        self._retry_interval_ms = options.offset_retry_interval_ms
        self.topic_ids: dict[str, uuid.UUID] = {}
        self.leader_epochs: dict[TopicPartition, int] = {}
        self.leaders: dict[TopicPartition, int] = {}
        self._found: list[TopicPartition] = []
        self._look_again_at = 0.0
        self._isolation_level: IsolationLevel = load(ConsumerConfig, settings).isolation_level
        self._settings = settings
        self._connect(meaning(settings))

    def _connect(self, meant: dict[str, str]) -> None:
        self._meant = meant
        self._admin = make_admin({name: value for name, value in meant.items() if name in names(AdminConfig)})
        self._consumer = make_consumer(meant)
        self._sizes = LogSizes(self._admin, self._consumer)

    def renew(self) -> bool:
        """Connects anew where a file that settings name, one with a password for instance, has another
        content now; tells whether it has. Raises: InvalidOptionError."""
        meant = meaning(self._settings)
        if meant == self._meant:
            return False
        self.close()
        self._connect(meant)
        return True

    def partitions(self, *, anew: bool = True) -> list[TopicPartition]:
        """The partitions that the subscription means now. What does not seem to exist is asked for as often
        as `fetchOffset.numRetries` says: not every broker has heard of a topic that was just created.

        Not `anew`: of MANY_PARTITIONS and more brokers are not asked again before ten times as long has
        passed as they took to answer, so that looking for new ones takes a tenth of a query's time at most.

        Raises: UnknownTopicOrPartitionError (names what does not exist), KafkaTimeoutError, BootstrapError.
        """
        if anew or time.monotonic() >= self._look_again_at:
            begun = time.monotonic()
            self._found = self._look_for_partitions()
            now = time.monotonic()
            is_long = len(self._found) >= MANY_PARTITIONS
            self._look_again_at = now + PAUSE_BY_SEARCH * (now - begun) if is_long else now
        return self._found

    def _look_for_partitions(self) -> list[TopicPartition]:
        for _ in range(self._tries - 1):
            try:
                return self._partitions_known()
            except UnknownTopicOrPartitionError:
                time.sleep(self._retry_interval_ms / 1000)
        return self._partitions_known()

    def _partitions_known(self) -> list[TopicPartition]:
        subscription = self._subscription
        if isinstance(subscription, Assign):
            found = self._partitions_of({partition.topic for partition in subscription.partitions})
            missing = set(subscription.partitions) - set(found)
            if missing:
                raise UnknownTopicOrPartitionError(f"assign: {name_partitions(missing)} does not exist")
            return list(subscription.partitions)
        if isinstance(subscription, Subscribe):
            return self._partitions_of(set(subscription.topics))
        found = [
            topic
            for topic in self._admin.describe_topics().values()
            # Found anywhere in the name, as Spark's connector does.
            if subscription.holds(topic.name)
        ]
        return self._note_topics(found)

    def available(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Available]:
        """What partitions hold."""
        earliest, latest = self.earliest(partitions), self.latest(partitions)
        return {partition: Available(earliest[partition], latest[partition]) for partition in partitions}

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return self._consumer.beginning_offsets(list(partitions))

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        found = self._admin.list_offsets(
            dict.fromkeys(partitions, "latest"), isolation_level=self._isolation_level
        )
        self.leader_epochs = {
            partition: at.leader_epoch for partition, at in found.items() if at.leader_epoch is not None
        }
        return {partition: at.offset for partition, at in found.items()}

    def offsets_for_times(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """The first offset whose record is not older than a time in milliseconds since 1970."""
        found = self._consumer.offsets_for_times(timestamps)
        return {partition: None if at is None else at.offset for partition, at in found.items()}

    def commit(self, group_id: str, offsets: Offsets) -> None:
        """Makes `offsets` those of a consumer group that has no members. Raises: BarnabasError."""
        self._admin.alter_group_offsets(group_id, offsets)

    def bytes_per_offset(self, ranges: Mapping[TopicPartition, Available]) -> BytesPerOffset:
        """The mean size of what lies in partitions, as far as it can be told. Raises: BarnabasError."""
        return self._sizes.bytes_per_offset(ranges, self.leaders)

    def close(self) -> None:
        self._consumer.close(timeout=CLOSE_TIMEOUT_SECONDS)
        self._admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _partitions_of(self, topics: Collection[str]) -> list[TopicPartition]:
        try:
            described = self._admin.describe_topics(sorted(topics))
        except UnknownTopicOrPartitionError as error:
            raise UnknownTopicOrPartitionError(
                f"{error.context} does not exist: create it, or check its name"
            ) from error
        return self._note_topics(described.values())

    def _note_topics(self, topics: Iterable[TopicDescription]) -> list[TopicPartition]:
        topics = list(topics)
        self.leaders = {
            TopicPartition(info.topic, info.partition): info.leader
            for topic in topics
            for info in topic.partitions
        }
        self.topic_ids = {topic.name: topic.topic_id for topic in topics if topic.topic_id.int}
        return [TopicPartition(info.topic, info.partition) for topic in topics for info in topic.partitions]
