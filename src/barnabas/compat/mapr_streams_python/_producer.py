# pyright: basic
"""The Producer of streams: where it differs from librdkafka's."""

from __future__ import annotations

from typing import Any

from barnabas.compat.librdkafka.produce.producer import Producer as LibrdkafkaProducer
from barnabas.compat.librdkafka.produce.producer import ProgramDialect
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition
from barnabas.compat.mapr_streams_python._configuration import PRODUCER_STREAM, parse
from barnabas.compat.mapr_streams_python._translation import UNINITIALISED, Translation

NO_TIMEOUT = -1.0


class Producer(LibrdkafkaProducer):
    """Sends messages without waiting for them: Producer(config), or Producer(**config).

    Topics are `/path/to/stream:topic`, or a topic of `streams.producer.default.stream`. len() is positive
    while messages wait. A message without a value is not sent: its callback is called with _INVALID_ARG.
    """

    __module__ = "mapr_streams_python"

    _translation = UNINITIALISED

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        conf, topics = parse(args, kwargs, PRODUCER_STREAM)
        self._translation = translation = Translation(topics)
        self._dialect = ProgramDialect(
            translation.kafka_name, topics.program_name, translation.error, takes_null_values=False
        )
        translation.wrap_callbacks(conf)
        super().__init__(conf)

    def flush(self, timeout: float | None = None) -> int:
        """Waits until all messages are delivered or have failed, for up to `timeout` seconds, and calls the
        callbacks. Gives how many are left."""
        return super().flush(NO_TIMEOUT if timeout is None else timeout)

    def list_topics(self, topic: str | None = None, timeout: float | None = None) -> Any:
        """The cluster's brokers and topics, or one topic. `timeout` in seconds. Raises: KafkaException."""
        with self._translation.errors():
            name = None if topic is None else self._translation.kafka_name(topic)
            cluster = super().list_topics(name, NO_TIMEOUT if timeout is None else timeout)
        return self._translation.cluster(cluster)

    def send_offsets_to_transaction(
        self, positions: list[TopicPartition], group_metadata: Any, timeout: float = NO_TIMEOUT, /
    ) -> None:
        """Commits a consumer's positions if and when the transaction commits. Raises: KafkaException."""
        with self._translation.errors():
            offsets = self._translation.kafka_partitions(positions)
            super().send_offsets_to_transaction(offsets, group_metadata, timeout)
