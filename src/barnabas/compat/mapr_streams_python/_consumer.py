# pyright: basic
"""The Consumer of streams: where it differs from librdkafka's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from barnabas._kernel import Message
from barnabas.compat.librdkafka.consume.consumer import Consumer as LibrdkafkaConsumer
from barnabas.compat.librdkafka.consume.session_messages import ShownNames
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition
from barnabas.compat.mapr_streams_python._configuration import CONSUMER_STREAM, parse, wrapped
from barnabas.compat.mapr_streams_python._translation import UNINITIALISED, Translation

NO_TIMEOUT = -1.0


class Consumer(LibrdkafkaConsumer):
    """Reads messages of topics, as a member of a group: Consumer(config), or Consumer(**config).

    Topics are `/path/to/stream:topic`, or a topic of `streams.consumer.default.stream`. Callbacks are called
    in the thread that calls poll(), consume() or close().
    """

    __module__ = "mapr_streams_python"

    _translation = UNINITIALISED
    _is_assigned_by_hand = False
    _is_rebalancing = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        conf, topics = parse(args, kwargs, CONSUMER_STREAM)
        self._translation = Translation(topics)
        self._shown_names = ShownNames(topics.program_name, self._translation.rename)
        wrapped(conf, "on_commit", self._with_partitions)
        self._translation.wrap_callbacks(conf)
        super().__init__(conf)

    def _with_partitions(self, callback: Callable[..., object]) -> Callable[..., object]:
        """An `on_commit` that hears the program's names."""

        def told(error: KafkaError | None, partitions: list[TopicPartition]) -> object:
            return callback(self._translation.error(error), self._translation.partitions(partitions))

        return told

    # Messages, which come with the program's names

    def _poll(self, timeout: float | None = None) -> Message | None:
        return super()._poll(NO_TIMEOUT if timeout is None else timeout)

    def consume(self, num_messages: int = 1, timeout: float | None = None) -> list[Message]:
        """Up to `num_messages` messages; waits for all of them, for up to `timeout` seconds."""
        return super().consume(num_messages, NO_TIMEOUT if timeout is None else timeout)

    # What is read

    def subscribe(
        self,
        topics: list[str],
        listener: Any = None,
        on_revoke: Any = None,
        on_lost: Any = None,
        on_assign: Any = None,
    ) -> None:
        """Reads these topics, as the group divides them; replaces the subscription before.

        `on_assign(consumer, partitions)` and `on_revoke(consumer, partitions)` are called when partitions
        come and go; `listener` is an object that has them as methods, or on_assign itself.
        Raises: KafkaException, with _CONFLICT after assign().
        """
        if self._is_assigned_by_hand:
            raise KafkaException(KafkaError(KafkaError._CONFLICT))
        callbacks = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        if any(hasattr(listener, name) for name in callbacks):
            for name, callback in callbacks.items():
                callbacks[name] = getattr(listener, name, None) if callback is None else callback
        elif listener is not None and on_assign is None:
            callbacks["on_assign"] = listener
        told = {
            name: partial(self._rebalance, callback) if callable(callback) else callback
            for name, callback in callbacks.items()
            if callback is not None
        }
        with self._translation.errors():
            super().subscribe(self._translation.kafka_names(topics), **told)

    def _rebalance(
        self, callback: Callable[..., object], consumer: Any, partitions: list[TopicPartition]
    ) -> None:
        self._is_rebalancing = True
        try:
            callback(consumer, self._translation.partitions(partitions))
        finally:
            self._is_rebalancing = False

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Reads exactly these partitions, each from its offset, or from where the group committed."""
        with self._translation.errors():
            super().assign(self._translation.kafka_partitions(partitions))
        if not self._is_rebalancing:
            self._is_assigned_by_hand = bool(partitions)

    def unassign(self) -> None:
        """Reads nothing any more."""
        with self._translation.errors():
            super().unassign()
        self._is_assigned_by_hand = False

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Reads these partitions too."""
        with self._translation.errors():
            super().incremental_assign(self._translation.kafka_partitions(partitions))
        if partitions and not self._is_rebalancing:
            self._is_assigned_by_hand = True

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Does not read these partitions any more."""
        with self._translation.errors():
            super().incremental_unassign(self._translation.kafka_partitions(partitions))
        if not super().assignment():
            self._is_assigned_by_hand = False

    def assignment(self) -> list[TopicPartition]:
        """The partitions that are read."""
        return self._translation.partitions(super().assignment())

    # Positions

    def position(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """The partitions with the offset after the last message that was given out; 0 before the first. Needs
        no answer of a broker, so `timeout` has no effect. Raises: KafkaException."""
        with self._translation.errors():
            positions = super().position(self._translation.kafka_partitions(partitions))
        for position in positions:
            if position.offset == OFFSET_INVALID and position.error is None:
                position.offset = 0
        return self._translation.partitions(positions)

    def seek(self, partition: TopicPartition) -> None:
        """Goes on at the partition's offset. Raises: KafkaException where it is not assigned."""
        with self._translation.errors():
            super().seek(self._translation.kafka_partition(partition))

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Gives no messages of these partitions until resume()."""
        with self._translation.errors():
            super().pause(self._translation.kafka_partitions(partitions))

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Ends pause()."""
        with self._translation.errors():
            super().resume(self._translation.kafka_partitions(partitions))

    # Commits

    def commit(self, *args: Any, **kwargs: Any) -> list[TopicPartition] | None:
        """commit(message=None, offsets=None, async=True): commits the offset after `message`, or `offsets`,
        or the positions of all assigned partitions. Where `async`, also called `asynchronous`, is false,
        waits, and gives the partitions with their offsets. Raises: KafkaException."""
        with self._translation.errors():
            committed = super().commit(*self._to_commit(args, kwargs), **kwargs)
        return None if committed is None else self._translation.partitions(committed)

    def store_offsets(self, *args: Any, **kwargs: Any) -> None:
        """store_offsets(message=None, offsets=None): for the next commit. Raises: KafkaException."""
        with self._translation.errors():
            super().store_offsets(*self._to_commit(args, kwargs), **kwargs)

    def _to_commit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """`args` with Kafka's names; `kwargs` are changed in place."""
        translate = {
            "message": self._translation.kafka_message,
            "offsets": self._translation.kafka_partitions,
        }
        for name in translate.keys() & kwargs.keys():
            kwargs[name] = translate[name](kwargs[name])
        first = [rename(value) for rename, value in zip(translate.values(), args, strict=False)]
        return [*first, *args[len(first) :]]

    def committed(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """The partitions with the offsets that the group committed. Raises: KafkaException."""
        with self._translation.errors():
            asked = self._translation.kafka_partitions(partitions)
            found = super().committed(asked, NO_TIMEOUT if timeout is None else timeout)
        return self._translation.partitions(found)

    # What brokers know

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float | None = None, cached: bool = False
    ) -> tuple[int, int]:
        """The first offset of a partition and the one after its last. Raises: KafkaException."""
        with self._translation.errors():
            return super().get_watermark_offsets(
                self._translation.kafka_partition(partition),
                NO_TIMEOUT if timeout is None else timeout,
                cached,
            )

    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """For each partition the first offset at or after the time in its `offset`. Raises:
        KafkaException."""
        with self._translation.errors():
            asked = self._translation.kafka_partitions(partitions)
            found = super().offsets_for_times(asked, NO_TIMEOUT if timeout is None else timeout)
        return self._translation.partitions(found)

    def list_topics(self, topic: str | None = None, timeout: float | None = None) -> Any:
        """The cluster's brokers and topics, or one topic. `timeout` in seconds. Raises: KafkaException."""
        with self._translation.errors():
            name = None if topic is None else self._translation.kafka_name(topic)
            cluster = super().list_topics(name, NO_TIMEOUT if timeout is None else timeout)
        return self._translation.cluster(cluster)
