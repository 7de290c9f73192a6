"""What AdminClient asks brokers about partitions: offsets, also of groups, records to delete, leaders.

Owns the requests and what their answers are to programs. Knows nothing of futures and arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from barnabas.broker_errors import ErrorCode
from barnabas.client.cluster.error_table import MOVED_LEADER
from barnabas.compat.confluent_kafka._model import ConsumerGroupTopicPartitions
from barnabas.compat.confluent_kafka.admin._listoffsets import ListOffsetsResultInfo
from barnabas.compat.confluent_kafka.admin._options import CallOptions
from barnabas.compat.confluent_kafka.admin._records import DeletedRecords
from barnabas.compat.librdkafka.ask.requests import (
    TIMED_OUT,
    BrokerRequests,
    DeadlineError,
    broker_error,
    invalid_argument,
)
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID
from barnabas.compat.librdkafka.values.errors import KafkaError, KafkaException
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition, topic_partition
from barnabas.errors import BrokerError
from barnabas.protocol.codec import Request, Response
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest

_Answer = TypeVar("_Answer", bound=Response)
_Result = TypeVar("_Result")

NO_ENTRY, UNKNOWN_PARTITION = -156, -190
NO_REPLICA = -1
NO_OFFSET = -1
FIRST_OFFSET_FETCH_WITH_GROUPS = 8
LAST_OFFSET_REQUESTS_WITH_NAMES = 9
DUPLICATES = "Duplicate partitions not allowed"


async def list_offsets(
    requests: BrokerRequests, partitions: list[TopicPartition], isolation_level: int, options: CallOptions
) -> dict[TopicPartition, ListOffsetsResultInfo | KafkaError]:
    """The offset that each partition's `offset` stands for."""

    def request(wanted: list[TopicPartition]) -> ListOffsetsRequest:
        return ListOffsetsRequest(
            replica_id=NO_REPLICA,
            isolation_level=isolation_level,
            topics=[
                ListOffsetsRequest.ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsRequest.ListOffsetsPartition(
                            partition_index=p.partition, timestamp=p.offset
                        )
                        for p in group
                    ],
                )
                for topic, group in _by_topic(wanted).items()
            ],
            timeout_ms=requests.operation_timeout_ms(None),
        )

    def results(
        response: ListOffsetsResponse,
    ) -> Iterable[tuple[str, int, ListOffsetsResultInfo | KafkaError]]:
        for topic in response.topics:
            for found in topic.partitions:
                info = ListOffsetsResultInfo(found.offset, found.timestamp, found.leader_epoch)
                yield topic.name, found.partition_index, broker_error(found.error_code) or info

    return await _ask_leaders(requests, partitions, request, results)


async def delete_records(
    requests: BrokerRequests, partitions: list[TopicPartition], options: CallOptions
) -> dict[TopicPartition, DeletedRecords | KafkaError]:
    """What became of each partition."""
    if len(set(partitions)) != len(partitions):
        raise invalid_argument(DUPLICATES)

    def request(wanted: list[TopicPartition]) -> DeleteRecordsRequest:
        return DeleteRecordsRequest(
            topics=[
                DeleteRecordsRequest.DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsRequest.DeleteRecordsPartition(
                            partition_index=p.partition, offset=p.offset
                        )
                        for p in group
                    ],
                )
                for topic, group in _by_topic(wanted).items()
            ],
            timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
        )

    def results(response: DeleteRecordsResponse) -> Iterable[tuple[str, int, DeletedRecords | KafkaError]]:
        for topic in response.topics:
            for found in topic.partitions:
                deleted = DeletedRecords(found.low_watermark)
                yield topic.name, found.partition_index, broker_error(found.error_code) or deleted

    return await _ask_leaders(requests, partitions, request, results)


async def elect_leaders(
    requests: BrokerRequests,
    election_type: int,
    partitions: list[TopicPartition] | None,
    options: CallOptions,
) -> dict[TopicPartition, KafkaError | None]:
    """What became of each partition; None: of all where there was something to do. Raises: KafkaException."""
    if partitions is not None and len(set(partitions)) != len(partitions):
        raise invalid_argument("Duplicate partitions specified")
    request = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=None
        if partitions is None
        else [
            ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[p.partition for p in group])
            for topic, group in _by_topic(partitions).items()
        ],
        timeout_ms=requests.operation_timeout_ms(options.operation_timeout_ms),
    )
    response = await requests.ask_controller(request, code=lambda response: response.error_code)
    error = broker_error(response.error_code)
    if error is not None:
        raise KafkaException(error)
    return {
        topic_partition(
            topic.topic, found.partition_id, 0, error=broker_error(found.error_code)
        ): broker_error(found.error_code, found.error_message)
        for topic in response.replica_election_results
        for found in topic.partition_result
    }


async def list_consumer_group_offsets(
    requests: BrokerRequests, wanted: ConsumerGroupTopicPartitions, options: CallOptions
) -> ConsumerGroupTopicPartitions:
    """The offsets that a group has committed. Raises: KafkaException."""
    partitions = None if wanted.topic_partitions is None else _sorted(wanted.topic_partitions)
    topics = None if partitions is None else _by_topic(partitions)
    modern = OffsetFetchRequest(
        groups=[
            OffsetFetchRequest.OffsetFetchRequestGroup(
                group_id=wanted.group_id,
                topics=None
                if topics is None
                else [
                    OffsetFetchRequest.OffsetFetchRequestTopics(
                        name=topic, partition_indexes=[p.partition for p in group]
                    )
                    for topic, group in topics.items()
                ],
            )
        ],
        require_stable=options.require_stable,
    )
    old = OffsetFetchRequest(
        group_id=wanted.group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequest.OffsetFetchRequestTopic(
                name=topic, partition_indexes=[p.partition for p in group]
            )
            for topic, group in topics.items()
        ],
        require_stable=options.require_stable,
    )
    version = await _find_coordinator(requests, wanted.group_id, "LISTCONSUMERGROUPOFFSETS")
    if version >= FIRST_OFFSET_FETCH_WITH_GROUPS:
        _, response = await requests.ask_coordinator(
            wanted.group_id,
            modern,
            lambda response: response.groups[0].error_code,
            max_version=LAST_OFFSET_REQUESTS_WITH_NAMES,
        )
        found = response.groups[0]
    else:
        _, found = await requests.ask_coordinator(
            wanted.group_id,
            old,
            lambda response: response.error_code,
            max_version=FIRST_OFFSET_FETCH_WITH_GROUPS - 1,
        )
    error = broker_error(found.error_code)
    if error is not None:
        raise KafkaException(error)
    return ConsumerGroupTopicPartitions(
        wanted.group_id,
        [
            topic_partition(
                topic.name,
                partition.partition_index,
                OFFSET_INVALID if partition.committed_offset == NO_OFFSET else partition.committed_offset,
                metadata=partition.metadata or None,
                leader_epoch=partition.committed_leader_epoch,
                error=broker_error(partition.error_code),
            )
            for topic in found.topics
            for partition in topic.partitions
        ],
    )


async def alter_consumer_group_offsets(
    requests: BrokerRequests, wanted: ConsumerGroupTopicPartitions, options: CallOptions
) -> ConsumerGroupTopicPartitions:
    """The offsets as they were given, each with the error that kept it from being committed."""
    partitions = _sorted(wanted.topic_partitions or [])
    if len(set(partitions)) != len(partitions):
        raise invalid_argument(DUPLICATES)
    request = OffsetCommitRequest(
        group_id=wanted.group_id,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequest.OffsetCommitRequestPartition(
                        partition_index=p.partition,
                        committed_offset=p.offset,
                        committed_leader_epoch=-1 if p.leader_epoch is None else p.leader_epoch,
                        committed_metadata=p.metadata or "",
                    )
                    for p in group
                ],
            )
            for topic, group in _by_topic(partitions).items()
        ],
    )
    await _find_coordinator(requests, wanted.group_id, "ALTERCONSUMERGROUPOFFSETS")
    _, response = await requests.ask_coordinator(
        wanted.group_id,
        request,
        lambda response: next((p.error_code for t in response.topics for p in t.partitions), 0),
        max_version=LAST_OFFSET_REQUESTS_WITH_NAMES,
    )
    errors = {
        (topic.name, found.partition_index): broker_error(found.error_code)
        for topic in response.topics
        for found in topic.partitions
    }
    return ConsumerGroupTopicPartitions(
        wanted.group_id,
        [
            topic_partition(
                p.topic,
                p.partition,
                p.offset,
                metadata=p.metadata,
                leader_epoch=p.leader_epoch,
                error=errors.get((p.topic, p.partition)),
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
    results: Callable[[_Answer], Iterable[tuple[str, int, _Result | KafkaError]]],
) -> dict[TopicPartition, _Result | KafkaError]:
    """The results of all partitions, from the leader of each; from the next one where it has moved.

    Raises: KafkaException (no partition has a leader, or the deadline passed before they were found).
    """
    waiting = {(p.topic, p.partition): p for p in partitions}
    answers: dict[TopicPartition, _Result | KafkaError] = {}

    async def ask(node_id: int, group: list[TopicPartition]) -> None:
        response = await requests.ask_broker(node_id, request(group))
        for topic, partition, result in results(response):
            key = (topic, partition)
            if key in waiting and not _has_moved(result):
                answers[waiting.pop(key)] = result

    while waiting:
        leaders, errors = await _leaders(requests, list(waiting.values()))
        if not leaders and not answers:
            raise KafkaException(KafkaError(NO_ENTRY, "Failed to query partition leaders: No leaders found"))
        for partition, error in errors.items():
            answers[waiting.pop((partition.topic, partition.partition))] = error
        try:
            await asyncio.gather(*(ask(node_id, group) for node_id, group in leaders.items()))
        except DeadlineError as error:
            answers |= dict.fromkeys(waiting.values(), error.error)
            break
        if waiting:
            await asyncio.sleep(requests.client.config.retry_backoff_ms / 1000)
    return answers


def _has_moved(result: object) -> bool:
    return isinstance(result, KafkaError) and result.code() in MOVED_LEADER


async def _leaders(
    requests: BrokerRequests, partitions: list[TopicPartition]
) -> tuple[dict[int, list[TopicPartition]], dict[TopicPartition, KafkaError]]:
    """Partitions by the broker that leads them, and why others have none."""
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=topic) for topic in _by_topic(partitions)],
        allow_auto_topic_creation=False,
    )
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


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition)
    return topics


def _sorted(partitions: list[TopicPartition]) -> list[TopicPartition]:
    return sorted(partitions, key=lambda partition: (partition.topic, partition.partition))
