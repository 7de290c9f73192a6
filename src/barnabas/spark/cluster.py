"""What the driver asks of a cluster: which partitions there are, and what each of them holds.

Keeps its connections, so that a streaming query asks anew at every trigger without connecting anew. Must not
know Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Self

from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.config import AdminConfig, names
from barnabas.spark.clients import CLOSE_TIMEOUT_SECONDS, make_admin, make_consumer
from barnabas.spark.offsets import Offsets, name_partitions
from barnabas.spark.options import Assign, Subscribe, Subscription
from barnabas.spark.ranges import Available
from barnabas.types import TopicPartition


class Cluster:
    """`settings` are those of the source's consumers: their isolation level decides what "latest" means."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        common = {name: value for name, value in settings.items() if name in names(AdminConfig)}
        self._admin = make_admin(common)
        self._consumer = make_consumer(settings)

    def partitions(self, subscription: Subscription) -> list[TopicPartition]:
        """The partitions that a subscription means now.

        Raises: UnknownTopicOrPartitionError (names what does not exist), KafkaTimeoutError, BootstrapError.
        """
        if isinstance(subscription, Assign):
            found = self._partitions_of({partition.topic for partition in subscription.partitions})
            missing = set(subscription.partitions) - set(found)
            if missing:
                raise UnknownTopicOrPartitionError(f"assign: {name_partitions(missing)} does not exist")
            return list(subscription.partitions)
        if isinstance(subscription, Subscribe):
            return self._partitions_of(set(subscription.topics))
        return [
            TopicPartition(info.topic, info.partition)
            for topic in self._admin.describe_topics().values()
            if subscription.pattern.fullmatch(topic.name)
            for info in topic.partitions
        ]

    def available(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Available]:
        """What partitions hold."""
        earliest, latest = self.earliest(partitions), self.latest(partitions)
        return {partition: Available(earliest[partition], latest[partition]) for partition in partitions}

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return self._consumer.beginning_offsets(list(partitions))

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return self._consumer.end_offsets(list(partitions))

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
        return [
            TopicPartition(info.topic, info.partition)
            for topic in described.values()
            for info in topic.partitions
        ]
