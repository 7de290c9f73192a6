"""Partitions: making more of them, their leaders, replicas, offsets and records. Knows no shape of
answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.clock import CLOCK
from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.compat.kafka_engine.admin.topics import metadata
from barnabas.compat.kafka_engine.values.errors import CLASSES
from barnabas.compat.kafka_engine.values.structs import STRUCTS
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from barnabas.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

Partition = tuple[str, int]
"""A topic and a number; a TopicPartition is one."""

_NEWEST = 32767
_CONSUMER = -1
_OFFSET_SPECS_SINCE = {-3: 7, -4: 8, -5: 9}
"""By what stands for a kind of offset: the version of ListOffsets that has it."""


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """The numbers of partitions by their topics."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


async def leaders_of(session: BrokerSession, partitions: Iterable[Partition]) -> dict[int, list[Any]]:
    """Partitions by their leaders, as TopicPartitions in the order in which they were given. Raises:
    UnknownTopicOrPartitionError."""
    wanted = [STRUCTS["TopicPartition"](*partition) for partition in dict.fromkeys(partitions)]
    answer = await metadata(session, dict.fromkeys(topic for topic, _ in wanted))
    leaders = {
        (topic.name, partition.partition_index): partition.leader_id
        for topic in answer.message.topics
        for partition in topic.partitions
    }
    unknown = [partition for partition in wanted if partition not in leaders]
    if unknown:
        raise CLASSES["UnknownTopicOrPartitionError"](
            f"The following partitions are not known: {', '.join(str(each) for each in unknown)}"
        )
    places: dict[int, list[Any]] = {}
    for partition in wanted:
        places.setdefault(leaders[partition], []).append(partition)
    return places


async def create_partitions(
    session: BrokerSession,
    counts: Mapping[str, tuple[int, Sequence[Sequence[int]] | None]],
    timeout_ms: float,
    *,
    validate_only: bool,
    max_version: int = _NEWEST,
) -> BrokerAnswer[CreatePartitionsResponse]:
    """`counts`: by topic, how many it is to have, and the brokers of each new one."""
    assignment = CreatePartitionsRequest.CreatePartitionsAssignment
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsRequest.CreatePartitionsTopic(
                name=topic,
                count=count,
                assignments=None
                if brokers is None
                else [assignment(broker_ids=list(each)) for each in brokers],
            )
            for topic, (count, brokers) in counts.items()
        ],
        timeout_ms=int(timeout_ms),
        validate_only=validate_only,
    )
    return await session.ask_controller(
        request, lambda response: [topic.error_code for topic in response.results], max_version=max_version
    )


async def elect_leaders(
    session: BrokerSession,
    election_type: int,
    partitions: Iterable[tuple[str, Iterable[int]]],
    timeout_ms: float,
    *,
    max_version: int = _NEWEST,
) -> BrokerAnswer[ElectLeadersResponse]:
    """`partitions`: by their topics."""
    request = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=[
            ElectLeadersRequest.TopicPartitions(topic=topic, partitions=list(numbers))
            for topic, numbers in partitions
        ],
        timeout_ms=int(timeout_ms),
    )
    return await session.ask_controller(
        request, election_codes, min_version=1 if election_type else 0, max_version=max_version
    )


def election_codes(response: ElectLeadersResponse) -> list[int]:
    """Of an answer as a whole, and of each partition."""
    return [
        response.error_code,
        *(
            partition.error_code
            for topic in response.replica_election_results
            for partition in topic.partition_result
        ),
    ]


async def alter_reassignments(
    session: BrokerSession, replicas: Mapping[Partition, list[int] | None], timeout_ms: float
) -> BrokerAnswer[AlterPartitionReassignmentsResponse]:
    """`replicas`: the brokers that a partition is to be on; None ends what is under way."""
    topics = by_topic(replicas)
    partition = AlterPartitionReassignmentsRequest.ReassignablePartition
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=int(timeout_ms),
        topics=[
            AlterPartitionReassignmentsRequest.ReassignableTopic(
                name=topic,
                partitions=[
                    partition(partition_index=number, replicas=replicas[topic, number]) for number in numbers
                ],
            )
            for topic, numbers in topics.items()
        ],
    )
    return await session.ask_controller(request, lambda response: [response.error_code])


async def list_reassignments(
    session: BrokerSession, partitions: Mapping[str, list[int]] | None, timeout_ms: float
) -> BrokerAnswer[ListPartitionReassignmentsResponse]:
    """`partitions`: by their topics; None for all."""
    topic = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    request = ListPartitionReassignmentsRequest(
        timeout_ms=int(timeout_ms),
        topics=None
        if partitions is None
        else [topic(name=name, partition_indexes=list(numbers)) for name, numbers in partitions.items()],
    )
    return await session.ask_controller(request, lambda response: [response.error_code])


async def describe_partitions(
    session: BrokerSession, topics: Iterable[str], limit: int, cursor: Partition | None
) -> BrokerAnswer[DescribeTopicPartitionsResponse]:
    """One page of partitions of topics, from `cursor` on."""
    request = DescribeTopicPartitionsRequest(
        topics=[DescribeTopicPartitionsRequest.TopicRequest(name=topic) for topic in topics],
        response_partition_limit=limit,
        cursor=None if cursor is None else DescribeTopicPartitionsRequest.Cursor(*cursor),
    )
    return await session.ask(request)


async def delete_records(
    session: BrokerSession,
    offsets: Mapping[Any, int],
    timeout_ms: float,
    *,
    leader: int | None,
    max_version: int = _NEWEST,
) -> list[BrokerAnswer[DeleteRecordsResponse]]:
    """The answers of the leaders, or of `leader`. Partitions whose leader has moved meanwhile are asked for
    again, and are in a later answer. Raises: UnknownTopicOrPartitionError."""
    topic_type, partition_type = (
        DeleteRecordsRequest.DeleteRecordsTopic,
        DeleteRecordsRequest.DeleteRecordsPartition,
    )

    async def ask(place: int, partitions: Iterable[Partition], remaining_ms: float) -> BrokerAnswer[Any]:
        request = DeleteRecordsRequest(
            topics=[
                topic_type(
                    name=topic,
                    partitions=[
                        partition_type(partition_index=number, offset=offsets[topic, number])
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(partitions).items()
            ],
            timeout_ms=int(remaining_ms),
        )
        return await session.ask(request, place, max_version=max_version)

    if leader is not None:
        return [await ask(leader, offsets, timeout_ms)]

    return await _of_leaders(session, offsets, timeout_ms, ask)


async def list_offsets(
    session: BrokerSession, timestamps: Mapping[Any, int], isolation_level: int, timeout_ms: float
) -> list[BrokerAnswer[ListOffsetsResponse]]:
    """The offsets of partitions by time, or by what stands for a kind of offset. Partitions whose leader has
    moved meanwhile are asked for again, and are in a later answer. Raises: UnknownTopicOrPartitionError."""
    topic_type, partition_type = ListOffsetsRequest.ListOffsetsTopic, ListOffsetsRequest.ListOffsetsPartition
    since = [_OFFSET_SPECS_SINCE.get(int(timestamp), 0) for timestamp in timestamps.values()]

    async def ask(place: int, partitions: Iterable[Partition], remaining_ms: float) -> BrokerAnswer[Any]:
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=isolation_level,
            topics=[
                topic_type(
                    name=topic,
                    partitions=[
                        partition_type(partition_index=number, timestamp=int(timestamps[topic, number]))
                        for number in numbers
                    ],
                )
                for topic, numbers in by_topic(partitions).items()
            ],
            timeout_ms=int(remaining_ms),
        )
        return await session.ask(request, place, min_version=max(since, default=0) or 1)

    return await _of_leaders(session, timestamps, timeout_ms, ask)


async def _of_leaders(
    session: BrokerSession,
    partitions: Iterable[Partition],
    timeout_ms: float,
    ask: Callable[[int, Iterable[Partition], float], Awaitable[BrokerAnswer[Any]]],
) -> list[BrokerAnswer[Any]]:
    waiting = dict.fromkeys(partitions)
    answers: list[BrokerAnswer[Any]] = []
    deadline = CLOCK.monotonic() + timeout_ms / 1000

    async def attempt() -> None:
        places = await leaders_of(session, waiting)
        for leader, group in places.items():
            if leader >= 0:
                answer = await ask(leader, group, max(1.0, (deadline - CLOCK.monotonic()) * 1000))
                answers.append(answer)
                moved = _moved(answer.message)
                for partition in group:
                    if partition not in moved:
                        del waiting[partition]
        if waiting:
            raise error_for(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"leaders of {', '.join(str(each) for each in sorted(waiting))}",
            )

    if waiting:
        await session.retry(attempt, "asking leaders", timeout_ms)
    return answers


def _moved(response: DeleteRecordsResponse | ListOffsetsResponse) -> set[Partition]:
    return {
        (topic.name, partition.partition_index)
        for topic in response.topics
        for partition in topic.partitions
        if partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    }
