"""What a librdkafka consumer's methods are given and return: partitions, messages, offsets.

Knows nothing of consumers.
"""
# The constants of KafkaError begin with an underscore, as librdkafka's do, and are there for everyone.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable

from barnabas._kernel import Message
from barnabas.compat.librdkafka.consume.consumer_session import (
    OFFSET_TAIL_BASE,
    Assigned,
)
from barnabas.compat.librdkafka.values.committed_metadata import kept_metadata, shown_metadata
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID, OFFSET_STORED
from barnabas.compat.librdkafka.values.error_codes import text_of
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.types import OffsetAndMetadata
from barnabas.types import TopicPartition as Partition

LOWEST_LOGICAL_OFFSETS = (OFFSET_INVALID, OFFSET_STORED, -1, -2)


def error_with(code: int, what: str) -> KafkaException:
    return KafkaException(KafkaError(code, f"{what}: {text_of(code)}"))


def invalid_argument(what: str) -> KafkaException:
    return error_with(KafkaError._INVALID_ARG, what)


def key_of(partition: TopicPartition) -> Partition:
    return Partition(partition.topic, partition.partition)


def name_of(partition: Partition) -> str:
    return f"{partition.topic} [{partition.partition}]"


def checked_partitions(partitions: object) -> list[TopicPartition]:
    """Raises: TypeError."""
    if not isinstance(partitions, list):
        raise TypeError("requires list of TopicPartition")
    for partition in partitions:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(partition, TopicPartition):
            raise TypeError("expected cimpl.TopicPartition")
    return partitions  # pyright: ignore[reportUnknownVariableType]


def offsets_to_assign(partitions: object, what: str | None) -> dict[Partition, Assigned]:
    """Raises: KafkaException, which begins with `what` or says what is wrong."""
    wanted: dict[Partition, Assigned] = {}
    for partition in checked_partitions(partitions):
        key, offset = key_of(partition), partition.offset
        reason = None
        if key in wanted:
            reason = f"Duplicate {name_of(key)} in input list"
        elif offset < 0 and offset not in LOWEST_LOGICAL_OFFSETS and offset > OFFSET_TAIL_BASE:
            reason = f"{name_of(key)} has invalid start offset {offset}"
        if reason is not None:
            if what is not None:
                raise invalid_argument(what)
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, reason))
        wanted[key] = Assigned(offset, partition.metadata, partition.leader_epoch)
    return wanted


def offset_after(message: object, doing: str) -> TopicPartition:
    """The offset after a message. Raises: TypeError, KafkaException."""
    if not isinstance(message, Message):
        raise TypeError("expected confluent_kafka.cimpl.Message")
    error = message.error()
    if error is not None:
        text = f"Cannot {doing} offsets for message with error: '{error.str()}'"
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))
    offset, partition = message.offset(), message.partition()
    return topic_partition(
        message.topic() or "",
        -1 if partition is None else partition,
        OFFSET_INVALID if offset is None else offset + 1,
        leader_epoch=message.leader_epoch(),
    )


def committable(partitions: Iterable[TopicPartition]) -> dict[Partition, OffsetAndMetadata]:
    """Those that have an absolute offset."""
    return {
        key_of(p): OffsetAndMetadata(p.offset, kept_metadata(p.metadata), p.leader_epoch)
        for p in partitions
        if p.offset >= 0 and p.partition >= 0
    }


def partition_made(
    partition: Partition, offset: OffsetAndMetadata | None, error: KafkaError | None = None
) -> TopicPartition:
    if offset is None:
        return topic_partition(*partition, error=error)
    return topic_partition(
        *partition,
        offset.offset,
        metadata=shown_metadata(offset.metadata),
        leader_epoch=offset.leader_epoch,
        error=error,
    )


def with_position(partition: TopicPartition, read: OffsetAndMetadata | None) -> TopicPartition:
    """With the note of the partition that was asked for."""
    key, metadata = key_of(partition), partition.metadata
    if read is None:
        return topic_partition(*key, metadata=metadata)
    return topic_partition(*key, read.offset, metadata=metadata, leader_epoch=read.leader_epoch)


def with_offset(partition: TopicPartition, offset: OffsetAndMetadata | None) -> TopicPartition:
    return partition_made(key_of(partition), offset)
