# pyright: basic
"""What goes into a client of librdkafka and comes out of it, with Kafka's names for topics and with streams'.

Owns the copying; which name is which says `StreamTopics`. Knows no client.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from barnabas._kernel import Message
from barnabas.compat.librdkafka.cluster.metadata import ClusterMetadata
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.compat.mapr_streams_python._configuration import wrapped
from barnabas.compat.mapr_streams_python._names import EscapedNaming, StreamTopics


class Translation:
    """Between a program and a client."""

    def __init__(self, topics: StreamTopics) -> None:
        self._topics = topics

    # From the program

    def kafka_name(self, topic: Any) -> Any:
        """What is no text is left for the client to complain of. Raises: KafkaException (_INVALID_ARG)."""
        if not isinstance(topic, str):
            return topic
        try:
            return self._topics.kafka_name(topic)
        except ValueError as error:
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, str(error))) from error

    def kafka_names(self, topics: Any) -> Any:
        return [self.kafka_name(topic) for topic in topics] if isinstance(topics, list) else topics

    def kafka_partition(self, partition: Any) -> Any:
        if not isinstance(partition, TopicPartition):
            return partition
        return _renamed(partition, self.kafka_name(partition.topic), partition.error)

    def kafka_partitions(self, partitions: Any) -> Any:
        if not isinstance(partitions, list):
            return partitions
        return [self.kafka_partition(partition) for partition in partitions]

    def kafka_message(self, message: Any) -> Any:
        """What committing a message needs of it."""
        if not isinstance(message, Message):
            return message
        return Message(
            topic=self.kafka_name(message.topic()),
            partition=_number(message.partition(), -1),
            offset=_number(message.offset(), -1001),
            error=message.error(),
            leader_epoch=_number(message.leader_epoch(), -1),
        )

    # To the program

    def error(self, error: Any) -> Any:
        if not isinstance(error, KafkaError):
            return error
        text = self._topics.program_text(error.str())
        flags = (error.fatal(), error.retriable(), error.txn_requires_abort())
        return error if text == error.str() else KafkaError(error.code(), text, *flags)

    def partition(self, partition: TopicPartition) -> TopicPartition:
        name = self._topics.program_name(partition.topic)
        return _renamed(partition, name, self.error(partition.error))

    def partitions(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        return [self.partition(partition) for partition in partitions]

    def rename(self, message: Message) -> Message:
        """Gives the message itself the names of the program."""
        topic = message.topic()
        if topic is not None:
            message.set_topic(self._topics.program_name(topic))
        error = message.error()
        if error is not None:
            message.set_error(self.error(error))
        return message

    def cluster(self, cluster: ClusterMetadata) -> ClusterMetadata:
        """Gives the topics of `cluster` the names of the program."""
        topics = list(cluster.topics.values())
        for topic in topics:
            topic.topic = self._topics.program_name(topic.topic or "")
            topic.error = self.error(topic.error)
        cluster.topics = {topic.topic or "": topic for topic in topics}
        return cluster

    def statistics(self, text: str) -> str:
        """The JSON that `stats_cb` gets, with the names of the program."""
        statistics = json.loads(text)
        name = self._topics.program_name
        for entries in (
            statistics["topics"],
            *(broker["toppars"] for broker in statistics["brokers"].values()),
        ):
            renamed = {
                key.replace(entry["topic"], name(entry["topic"]), 1): entry for key, entry in entries.items()
            }
            entries.clear()
            entries.update(renamed)
            for entry in entries.values():
                entry["topic"] = name(entry["topic"])
        return json.dumps(statistics)

    def wrap_callbacks(self, conf: dict[str, Any]) -> None:
        """Has the callbacks of the configuration that are told of the client as a whole hear the names of the
        program."""
        wrapped(conf, "stats_cb", lambda callback: lambda text: callback(self.statistics(text)))
        wrapped(conf, "error_cb", lambda callback: lambda error: callback(self.error(error)))

    @contextmanager
    def errors(self) -> Generator[None]:
        """KafkaExceptions that leave the block have the names of the program."""
        try:
            yield
        except KafkaException as exception:
            error = self.error(exception.args[0]) if exception.args else None
            if error is None or error is exception.args[0]:
                raise
            raise KafkaException(error) from exception


UNINITIALISED = Translation(StreamTopics(EscapedNaming(), None))
"""For a client whose __init__ did not run: all it does is to say that it is closed."""


def _renamed(partition: TopicPartition, topic: str, error: KafkaError | None) -> TopicPartition:
    return topic_partition(
        topic,
        partition.partition,
        partition.offset,
        metadata=partition.metadata,
        leader_epoch=partition.leader_epoch,
        error=error,
    )


def _number(number: int | None, otherwise: int) -> int:
    return otherwise if number is None else number
