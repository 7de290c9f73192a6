"""What AdminClient asks brokers about partitions: offsets, also of groups, records to delete, leaders.

Owns what answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from barnabas.broker_errors import ErrorCode
from barnabas.client.admin.requests import group_offsets as offset_requests
from barnabas.client.admin.requests import topics as topic_requests
from barnabas.client.admin.requests.common import Answer
from barnabas.client.admin.requests.replicas import elect_leaders as elect_leaders_request
from barnabas.client.admin.requests.replicas import elected_leaders
from barnabas.client.cluster.error_table import MOVED_LEADER
from barnabas.compat.confluent_kafka._model import ConsumerGroupTopicPartitions
from barnabas.compat.confluent_kafka.admin._listoffsets import ListOffsetsResultInfo
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._records import DeletedRecords
from barnabas.compat.librdkafka.cluster.broker_requests import (
    TIMED_OUT,
    BrokerRequests,
    DeadlineError,
    broker_error,
    invalid_argument,
    results,
)
from barnabas.compat.librdkafka.values.committed_metadata import kept_metadata, shown_metadata
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.errors import BrokerError
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.types import OffsetAndMetadata
from barnabas.types import TopicPartition as CorePartition

_Answer = TypeVar("_Answer", bound=Response)
_Result = TypeVar("_Result")

NO_ENTRY, UNKNOWN_PARTITION = -156, -190
NO_EPOCH = -1
DUPLICATES = "Duplicate partitions not allowed"


async def list_offsets(
    requests: BrokerRequests, partitions: list[TopicPartition], isolation_level: int, options: CallOptions
) -> dict[TopicPartition, ListOffsetsResultInfo | KafkaError]:
    """The offset that each partition's `offset` stands for."""

    def request(wanted: list[TopicPartition]) -> ListOffsetsRequest:
        return topic_requests.list_offsets(
            {_core(partition): partition.offset for partition in wanted},
            isolation_level=isolation_level,
            timeout_ms=requests.operation_timeout_ms(None),
        )

    found = await _ask_leaders(requests, partitions, request, topic_requests.listed_offsets)
    return {
        partition: listed
        if isinstance(listed, KafkaError)
        else ListOffsetsResultInfo(
            listed.offset, listed.timestamp, NO_EPOCH if listed.leader_epoch is None else listed.leader_epoch
        )
        for partition, listed in found.items()
    }


async def delete_records(
    requests: BrokerRequests, partitions: list[TopicPartition], options: CallOptions
) -> dict[TopicPartition, DeletedRecords | KafkaError]:
    """The outcome of each partition."""
    if len(set(partitions)) != len(partitions):
        raise invalid_argument(DUPLICATES)

    def request(wanted: list[TopicPartition]) -> DeleteRecordsRequest:
        return topic_requests.delete_records(
            {_core(partition): partition.offset for partition in wanted},
            timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
        )

    found = await _ask_leaders(requests, partitions, request, topic_requests.deleted_records)
    return {
        partition: low if isinstance(low, KafkaError) else DeletedRecords(low)
        for partition, low in found.items()
    }


async def elect_leaders(
    requests: BrokerRequests,
    election_type: int,
    partitions: list[TopicPartition] | None,
    options: CallOptions,
) -> dict[TopicPartition, KafkaError | None]:
    """The outcome of each partition; None: of all where there was something to do. Raises: KafkaException."""
    if partitions is not None and len(set(partitions)) != len(partitions):
        raise invalid_argument("Duplicate partitions specified")
    request = elect_leaders_request(
        election_type,
        None if partitions is None else map(_core, partitions),
        timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
    )
    response = await requests.ask_controller(request, code=lambda response: response.error_code)
    error = broker_error(response.error_code)
    if error is not None:
        raise KafkaException(error)
    return {
        topic_partition(partition.topic, partition.partition, 0, error=broker_error(code)): broker_error(
            code, message
        )
        for partition, _, code, message in elected_leaders(response)
    }


async def list_consumer_group_offsets(
    requests: BrokerRequests, wanted: ConsumerGroupTopicPartitions, options: CallOptions
) -> ConsumerGroupTopicPartitions:
    """The offsets that a group has committed. Raises: KafkaException."""
    topic_partitions = wanted.topic_partitions
    partitions = None if topic_partitions is None else list(map(_core, _sorted(topic_partitions)))
    is_stable = options.require_stable
    version = await _find_coordinator(requests, wanted.group_id, "LISTCONSUMERGROUPOFFSETS")
    if version >= offset_requests.FIRST_OFFSET_FETCH_WITH_GROUPS:
        _, response = await requests.ask_coordinator(
            wanted.group_id,
            offset_requests.fetch_offsets({wanted.group_id: partitions}, require_stable=is_stable),
            lambda response: response.groups[0].error_code,
            max_version=offset_requests.HIGHEST_VERSION_WITH_NAMES,
        )
        found = response.groups[0]
    else:
        _, found = await requests.ask_coordinator(
            wanted.group_id,
            offset_requests.fetch_offsets_of_one_group(wanted.group_id, partitions, require_stable=is_stable),
            lambda response: response.error_code,
            max_version=offset_requests.FIRST_OFFSET_FETCH_WITH_GROUPS - 1,
        )
    error = broker_error(found.error_code)
    if error is not None:
        raise KafkaException(error)
    return ConsumerGroupTopicPartitions(
        wanted.group_id,
        [
            topic_partition(
                partition.topic,
                partition.partition,
                OFFSET_INVALID if position is None else position.offset,
                metadata=None if position is None else shown_metadata(position.metadata),
                leader_epoch=None if position is None else position.leader_epoch,
                error=broker_error(code),
            )
            for partition, position, code, _ in offset_requests.fetched_offsets(found.topics)
        ],
    )


async def alter_consumer_group_offsets(
    requests: BrokerRequests, wanted: ConsumerGroupTopicPartitions, options: CallOptions
) -> ConsumerGroupTopicPartitions:
    """The offsets as they were given, each with the error that kept it from being committed."""
    partitions = _sorted(wanted.topic_partitions or [])
    if len(set(partitions)) != len(partitions):
        raise invalid_argument(DUPLICATES)
    request = offset_requests.commit_offsets(
        wanted.group_id,
        {
            _core(p): OffsetAndMetadata(p.offset, kept_metadata(p.metadata), p.leader_epoch)
            for p in partitions
        },
    )
    await _find_coordinator(requests, wanted.group_id, "ALTERCONSUMERGROUPOFFSETS")
    _, response = await requests.ask_coordinator(
        wanted.group_id,
        request,
        lambda response: next((p.error_code for t in response.topics for p in t.partitions), 0),
        max_version=offset_requests.HIGHEST_VERSION_WITH_NAMES,
    )
    errors = results(offset_requests.committed_offsets(response))
    return ConsumerGroupTopicPartitions(
        wanted.group_id,
        [
            topic_partition(
                p.topic,
                p.partition,
                p.offset,
                metadata=p.metadata,
                leader_epoch=p.leader_epoch,
                error=errors.get(_core(p)),
            )
            for p in partitions
        ],
    )


async def _find_coordinator(requests: BrokerRequests, group_id: str, worker: str) -> int:
    """The version in which a group's coordinator gets OffsetFetch.

    Raises: KafkaException, in librdkafka's words, where brokers do not tell who coordinates it.
    """
    try:
        return await requests.coordinator_version(group_id, OffsetFetchRequest)
    except BrokerError as error:
        text = f"{worker} worker coordinator request failed: {KafkaError(error.code).str()}"
        raise KafkaException(KafkaError(error.code, text)) from error


async def _ask_leaders(
    requests: BrokerRequests,
    partitions: list[TopicPartition],
    request: Callable[[list[TopicPartition]], Request[_Answer]],
    read: Callable[[_Answer], list[Answer[CorePartition, _Result]]],
) -> dict[TopicPartition, _Result | KafkaError]:
    """The results of all partitions, from the leader of each; from the next one where it has moved.

    Raises: KafkaException (no partition has a leader, or the deadline passed before they were found).
    """
    waiting = {_core(partition): partition for partition in partitions}
    answers: dict[TopicPartition, _Result | KafkaError] = {}

    async def ask(node_id: int, group: list[TopicPartition]) -> None:
        response = await requests.ask_broker(node_id, request(group))
        for key, result, code, _ in read(response):
            if key in waiting and code not in MOVED_LEADER:
                answers[waiting.pop(key)] = broker_error(code) or result

    while waiting:
        leaders, errors = await _leaders(requests, list(waiting.values()))
        if not leaders and not answers:
            raise KafkaException(KafkaError(NO_ENTRY, "Failed to query partition leaders: No leaders found"))
        for partition, error in errors.items():
            answers[waiting.pop(_core(partition))] = error
        try:
            await asyncio.gather(*(ask(node_id, group) for node_id, group in leaders.items()))
        except DeadlineError as error:
            answers |= dict.fromkeys(waiting.values(), error.error)
            break
        if waiting:
            await asyncio.sleep(requests.client.config.retry_backoff_ms / 1000)
    return answers


async def _leaders(
    requests: BrokerRequests, partitions: list[TopicPartition]
) -> tuple[dict[int, list[TopicPartition]], dict[TopicPartition, KafkaError]]:
    """Partitions by the broker that leads them, and why others have none."""
    request = topic_requests.describe_topics(dict.fromkeys(partition.topic for partition in partitions))
    try:
        _, response = await requests.ask_any(request)
    except DeadlineError:
        text = f"Failed to query partition leaders: {KafkaError(TIMED_OUT).str()}"
        raise KafkaException(KafkaError(TIMED_OUT, text)) from None
    topics = {topic.name: topic for topic in response.topics}
    leaders: dict[int, list[TopicPartition]] = {}
    errors: dict[TopicPartition, KafkaError] = {}
    for partition in partitions:
        topic = topics.get(partition.topic)
        if topic is None or topic.error_code:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error_code
            errors[partition] = KafkaError(code)
            continue
        found = next((p for p in topic.partitions if p.partition_index == partition.partition), None)
        if found is None:
            errors[partition] = KafkaError(UNKNOWN_PARTITION)
        elif found.leader_id < 0:
            errors[partition] = KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        else:
            leaders.setdefault(found.leader_id, []).append(partition)
    return leaders, errors


def _core(partition: TopicPartition) -> CorePartition:
    return CorePartition(partition.topic, partition.partition)


def _sorted(partitions: list[TopicPartition]) -> list[TopicPartition]:
    return sorted(partitions, key=lambda partition: (partition.topic, partition.partition))
