"""What a consumer has to say besides records, as the messages with an error that poll and consume give.

The texts are librdkafka's. Knows neither when something is to be said nor to whom.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from barnabas._kernel import Message
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    FencedInstanceIdError,
    NotCoordinatorError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.client.consume.failures import Failure
from barnabas.compat.librdkafka.values.error_codes import text_of
from barnabas.compat.librdkafka.values.errors import KafkaError, kafka_error_of
from barnabas.errors import AuthenticationError, BootstrapError, KafkaConnectionError, KafkaTimeoutError
from barnabas.events import PollIntervalExceeded
from barnabas.types import TopicPartition

NO_TIMESTAMP = (0, -1)
NO_OFFSET = -1001

# What goes away by itself, or what `error_cb` is told of: not an event of the consumer.
NOT_EVENTS = (
    AuthenticationError,
    BootstrapError,
    KafkaConnectionError,
    KafkaTimeoutError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
)


def end_message(
    partition: TopicPartition, offset: int, high_watermark: int, metadata: ClusterMetadata
) -> Message:
    """The end of a partition was reached."""
    text = (
        f"Fetch from broker {metadata.leader(partition)} reached end of partition at offset {offset} "
        f"(HighwaterMark {high_watermark})"
    )
    error = KafkaError(KafkaError._PARTITION_EOF, text)
    return _message(error, partition, offset, metadata.leader_epoch(partition))


def unavailable_message(topic: str, code: int) -> Message:
    """A topic that is subscribed to cannot be read."""
    error = KafkaError(code, f"Subscribed topic not available: {topic}: {text_of(code)}")
    return _message(error, TopicPartition(topic, 0))


def overdue_message(event: PollIntervalExceeded) -> Message:
    return _message(overdue_error(event), TopicPartition("", 0))


def overdue_error(event: PollIntervalExceeded, *, retriable: bool = False) -> KafkaError:
    text = (
        f"Application maximum poll interval ({event.max_poll_interval_ms}ms) exceeded by "
        f"{event.exceeded_by_ms}ms"
    )
    return KafkaError(KafkaError._MAX_POLL_EXCEEDED, text, retriable=retriable)


def failure_message(failure: Failure, metadata: ClusterMetadata, *, group_protocol: str) -> Message | None:
    """None for what is no event."""
    raised, partition = failure.error, failure.partition
    if isinstance(raised, NOT_EVENTS):
        return None
    if isinstance(raised, FencedInstanceIdError):
        return _message(_fenced(group_protocol), TopicPartition("", 0))
    if partition is None and _is_of_subscription(raised, metadata):
        # Said as soon as metadata shows it: `unavailable_message`.
        return None
    if partition is None:
        return _message(kafka_error_of(raised), TopicPartition("", 0))
    epoch = metadata.leader_epoch(partition)
    if isinstance(raised, OffsetOutOfRangeError):
        if failure.position < 0:
            text = f"no previously committed offset available: {text_of(KafkaError._NO_OFFSET)}"
        else:
            text = (
                "fetch failed due to requested offset not available on the broker: "
                f"{text_of(raised.code)} (broker {metadata.leader(partition)})"
            )
        error = KafkaError(KafkaError._AUTO_OFFSET_RESET, text)
        return _message(error, partition, failure.position, epoch)
    return _message(kafka_error_of(raised), partition, failure.position, epoch)


def _is_of_subscription(raised: BaseException, metadata: ClusterMetadata) -> bool:
    """Whether a topic that is subscribed to cannot be read."""
    if isinstance(raised, TopicAuthorizationFailedError):
        # A coordinator says so, too.
        return raised.code in metadata.topic_errors.values()
    return isinstance(raised, UnknownTopicOrPartitionError)


def _fenced(group_protocol: str) -> KafkaError:
    """Another consumer has taken over the group.instance.id: this one is of no more use."""
    text = text_of(FencedInstanceIdError.code)
    what = "ConsumerGroupHeartbeat fatal error" if group_protocol == "consumer" else "Fatal consumer error"
    return KafkaError(KafkaError._FATAL, f"Fatal error: {text}: {what}: {text}")


def _message(
    error: KafkaError, partition: TopicPartition, offset: int = NO_OFFSET, leader_epoch: int = -1
) -> Message:
    return Message(
        topic=partition.topic or None,
        partition=partition.partition,
        offset=offset,
        value=error.str().encode(),
        error=error,
        timestamp=NO_TIMESTAMP,
        leader_epoch=leader_epoch,
    )
