"""What a KafkaConsumer asks brokers for beside records: topics, partitions and offsets, as kafka-python's
structs. Raises what the core raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.compat.kafka_engine.values.structs import STRUCTS, MemberState
from barnabas.errors import KafkaTimeoutError
from barnabas.loop_thread import loop_thread
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.sync.consumer import Consumer
from barnabas.types import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

T = TypeVar("T")


def partitions_of(consumer: Consumer, topic: str) -> set[int]:
    """The numbers of its partitions; none where there is no such topic, which is not made either."""
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    client = consumer.kafka_client
    work = client.send_to_any(request, client.config.default_api_timeout_ms)
    response = loop_thread().run(work, what="KafkaConsumer")
    return {p.partition_index for each in response.topics if each.name == topic for p in each.partitions}


def first_offsets(consumer: Consumer, partitions: Iterable[Any], timeout: float) -> dict[Any, int]:
    """Of the first record of each, by kafka-python's TopicPartition. `timeout` in seconds."""
    wanted = [_core(partition) for partition in partitions]
    return _by_struct(_existing(lambda: consumer.beginning_offsets(wanted, timeout=timeout)))


def next_offsets(consumer: Consumer, partitions: Iterable[Any], timeout: float) -> dict[Any, int]:
    """Which the next record of each will get. `timeout` in seconds."""
    wanted = [_core(partition) for partition in partitions]
    return _by_struct(_existing(lambda: consumer.end_offsets(wanted, timeout=timeout)))


def offsets_at(consumer: Consumer, timestamps: Mapping[Any, int], timeout: float) -> dict[Any, Any]:
    """The first offset at or after a time (milliseconds since 1970), or None if no record is that late. A
    partition that does not exist has None, too, if another of these does. `timeout` in seconds."""
    wanted = {_core(partition): int(timestamp) for partition, timestamp in timestamps.items()}
    known = _known(consumer, wanted) or wanted
    asked = {partition: wanted[partition] for partition in known}
    found = _existing(lambda: consumer.offsets_for_times(asked, timeout=timeout))
    return _by_struct({partition: _struct_at(found.get(partition)) for partition in wanted})


def _known(consumer: Consumer, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Those that exist."""
    wanted = list(partitions)
    metadata = consumer.kafka_client.metadata
    unknown = {each.topic for each in wanted if metadata.partition(each) is None}
    numbers = {topic: partitions_of(consumer, topic) for topic in unknown}
    return [each for each in wanted if each.topic not in unknown or each.partition in numbers[each.topic]]


def _existing(ask: Callable[[], dict[TopicPartition, T]]) -> dict[TopicPartition, T]:
    """Raises: KafkaTimeoutError for a partition that does not exist, as the originals do in the end."""
    try:
        return ask()
    except UnknownTopicOrPartitionError as error:
        raise KafkaTimeoutError(str(error)) from error


def committed_offset(
    consumer: Consumer, partition: TopicPartition, timeout: float | None
) -> OffsetAndMetadata | None:
    """What the group committed last."""
    return consumer.committed([partition], timeout=timeout)[partition]


def member_of(consumer: Consumer, *, is_rejoining: bool) -> Any:
    """A ConsumerGroupMetadata of who this consumer is in its group."""
    identity = consumer.group_metadata()
    state = MemberState.UNJOINED if identity.generation < 0 else MemberState.STABLE
    return STRUCTS["ConsumerGroupMetadata"](
        group_id=identity.group_id,
        generation_id=identity.generation,
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        state=MemberState.REBALANCING if is_rejoining else state,
    )


def _core(partition: Any) -> TopicPartition:
    return TopicPartition(*partition)


def _by_struct(found: Mapping[TopicPartition, Any]) -> dict[Any, Any]:
    struct = STRUCTS["TopicPartition"]
    return {struct(*partition): value for partition, value in found.items()}


def _struct_at(at: OffsetAndTimestamp | None) -> Any:
    if at is None:
        return None
    struct = STRUCTS["OffsetAndTimestamp"]
    epoch = -1 if at.leader_epoch is None else at.leader_epoch
    return struct(*(at.offset, at.timestamp, epoch)[: len(struct._fields)])
