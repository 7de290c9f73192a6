"""Offsets that brokers know: beginnings and ends of partitions, offsets of times, and what groups committed.

Owns the ListOffsets, OffsetCommit and OffsetFetch requests and what their error codes mean. Knows nothing of
positions or subscriptions.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from barnabas.broker_errors import (
    LeaderNotAvailableError,
    UnknownMemberIdError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.kafka_client import KafkaClient
from barnabas.client.cluster.metadata import NO_TOPIC_ID
from barnabas.client.groups.group_coordinator import note_coordinator_error, send_to_group_coordinator
from barnabas.clock import CLOCK
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import (
    BrokenProtocolError,
    BrokerError,
    KafkaConnectionError,
    KafkaTimeoutError,
    NoCommonVersionError,
)
from barnabas.protocol.codec import Response
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.settings.table import IsolationLevel
from barnabas.types import (
    EARLIEST_LOCAL_OFFSET,
    EARLIEST_PENDING_UPLOAD_OFFSET,
    LATEST_TIERED_OFFSET,
    MAX_TIMESTAMP_OFFSET,
    GroupIdentity,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)

ResponseT = TypeVar("ResponseT", bound=Response)

logger = logging.getLogger("barnabas.client")

CONSUMER_REPLICA_ID = -1
# From here on OffsetCommit and OffsetFetch name topics by id only.
VERSION_WITH_TOPIC_IDS = 10
FETCH_VERSION_WITH_GROUPS = 8

# The versions of ListOffsets that brought places other than the ends.
_FIRST_VERSIONS = {
    MAX_TIMESTAMP_OFFSET: 7,
    EARLIEST_LOCAL_OFFSET: 8,
    LATEST_TIERED_OFFSET: 9,
    EARLIEST_PENDING_UPLOAD_OFFSET: 11,
}

ISOLATION_LEVELS: dict[IsolationLevel, int] = {"read_uncommitted": 0, "read_committed": 1}

_ADVICE = {
    ErrorCode.REBALANCE_IN_PROGRESS: "poll to let it finish, then commit again",
    ErrorCode.ILLEGAL_GENERATION: "the partitions may belong to another member now: poll to join again; a "
    "longer max_poll_interval_ms or smaller polls help",
    ErrorCode.UNKNOWN_MEMBER_ID: "poll to join again; a longer max_poll_interval_ms or smaller polls help",
}


async def check_partitions(
    client: KafkaClient, partitions: Iterable[TopicPartition], timeout_ms: float
) -> None:
    """Returns when the cluster is known to have all these partitions.

    Raises: UnknownTopicOrPartitionError, which names the first that it does not have.
    """
    partitions = list(partitions)
    deadline = CLOCK.monotonic() + timeout_ms / 1000
    await client.wait_for_topics(sorted({p.topic for p in partitions}), deadline)
    if _missing(client, partitions) is not None:
        await client.refresh_metadata(timeout_ms=max(0, deadline - CLOCK.monotonic()) * 1000)
        missing = _missing(client, partitions)
        if missing is not None:
            count = len(client.metadata.partitions_for(missing.topic))
            raise UnknownTopicOrPartitionError(
                f"{missing} does not exist: topic {missing.topic!r} has {count} partitions, counted from 0"
            )


def _missing(client: KafkaClient, partitions: Iterable[TopicPartition]) -> TopicPartition | None:
    return next((p for p in partitions if client.metadata.partition(p) is None), None)


async def list_offsets(
    client: KafkaClient,
    timestamps: Mapping[TopicPartition, int],
    *,
    isolation_level: IsolationLevel,
    timeout_ms: float,
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """For each partition the first record at or after a time in milliseconds, or EARLIEST_OFFSET or another
    place of that kind in `barnabas.types`. The offset is -1 where there is no such record.

    Raises: UnknownTopicOrPartitionError, KafkaTimeoutError, BootstrapError, another BrokerError,
    NoCommonVersionError where a broker is too old for one of these places.
    """
    if not timestamps:
        return {}
    deadline = CLOCK.monotonic() + timeout_ms / 1000
    await check_partitions(client, timestamps, timeout_ms)
    found: dict[TopicPartition, OffsetAndTimestamp] = {}

    async def attempt() -> dict[TopicPartition, OffsetAndTimestamp]:
        by_leader: defaultdict[int, dict[TopicPartition, int]] = defaultdict(dict)
        for partition, timestamp in timestamps.items():
            if partition in found:
                continue
            leader = client.metadata.leader(partition)
            if leader < 0:
                client.request_metadata_update()
                raise LeaderNotAvailableError(str(partition))
            by_leader[leader][partition] = timestamp
        outcomes = await asyncio.gather(
            *(
                _list_offsets_of(client, leader, wanted, isolation_level, found)
                for leader, wanted in by_leader.items()
            ),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return found

    remaining_ms = max(0, deadline - CLOCK.monotonic()) * 1000
    return await client.retry(attempt, what="listing offsets", timeout_ms=remaining_ms)


async def _list_offsets_of(
    client: KafkaClient,
    leader: int,
    timestamps: Mapping[TopicPartition, int],
    isolation_level: IsolationLevel,
    found: dict[TopicPartition, OffsetAndTimestamp],
) -> None:
    topics: dict[str, ListOffsetsRequest.ListOffsetsTopic] = {}
    for partition, timestamp in timestamps.items():
        topic = topics.setdefault(partition.topic, ListOffsetsRequest.ListOffsetsTopic(name=partition.topic))
        topic.partitions.append(
            ListOffsetsRequest.ListOffsetsPartition(
                partition_index=partition.partition,
                current_leader_epoch=client.metadata.leader_epoch(partition),
                timestamp=timestamp,
            )
        )
    request = ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=ISOLATION_LEVELS[isolation_level],
        topics=list(topics.values()),
        timeout_ms=client.config.request_timeout_ms,
    )
    connection = await client.connect(leader)
    version = connection.version_of(ListOffsetsRequest)
    for partition, timestamp in timestamps.items():
        needed = _FIRST_VERSIONS.get(timestamp, version)
        if version < needed:
            raise NoCommonVersionError(
                f"{connection.name} speaks ListOffsets only up to version {version}: looking up {timestamp} "
                f"in {partition} takes version {needed}"
            )
    response: ListOffsetsResponse = await client.send(leader, request)
    error: BrokerError | None = None
    for topic in response.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.name, answer.partition_index)
            if partition not in timestamps:
                continue
            if answer.error_code:
                # One that another try does not help is the one to raise.
                if error is None or error.retriable:
                    error = error_for(answer.error_code, f"offsets of {partition}")
            else:
                epoch = None if answer.leader_epoch < 0 else answer.leader_epoch
                found[partition] = OffsetAndTimestamp(answer.offset, answer.timestamp, epoch)
    if error is not None:
        raise error
    for partition in timestamps:
        if partition not in found:
            raise BrokenProtocolError(f"{connection.name} left {partition} out of its answer to ListOffsets")


def membership_error(group_id: str) -> BrokerError:
    """The error of a commit by a consumer that is not a member of its group at present."""
    return UnknownMemberIdError(f"commit in group {group_id!r}", advice=_ADVICE[ErrorCode.UNKNOWN_MEMBER_ID])


async def commit_offsets(
    client: KafkaClient,
    identity: GroupIdentity,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    timeout_ms: float,
    topic_ids: Mapping[TopicPartition, UUID] | None = None,
    retries_unknown: bool = True,
) -> None:
    """Stores positions of a group; tries again while that can help. `topic_ids`: of the topics that positions
    are in, as far as known (KIP-516): in another topic of the same name they mean nothing, and are left out
    with a warning. `retries_unknown`: also where a partition is not known to the broker, which may be for
    good.

    Raises: GroupRebalancedError or FencedInstanceIdError if the committer is no (longer a) member,
    KafkaTimeoutError, another BrokerError.
    """
    if not offsets:
        return

    read_of = topic_ids or {}

    async def attempt() -> BrokerError | None:
        topics: dict[tuple[str, UUID], OffsetCommitRequest.OffsetCommitRequestTopic] = {}
        for partition, offset in offsets.items():
            topic_id = client.metadata.topic_id(partition.topic)
            if topic_id == NO_TOPIC_ID:
                topic_id = read_of.get(partition, NO_TOPIC_ID)
            elif read_of.get(partition, topic_id) != topic_id:
                _warn_of_another_topic(identity.group_id, partition, offset)
                continue
            topic = topics.setdefault(
                (partition.topic, topic_id),
                OffsetCommitRequest.OffsetCommitRequestTopic(name=partition.topic, topic_id=topic_id),
            )
            topic.partitions.append(
                OffsetCommitRequest.OffsetCommitRequestPartition(
                    partition_index=partition.partition,
                    committed_offset=offset.offset,
                    committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
                    committed_metadata=offset.metadata,
                )
            )
        if not topics:
            return None
        request = OffsetCommitRequest(
            group_id=identity.group_id,
            generation_id_or_member_epoch=identity.generation,
            member_id=identity.member_id,
            group_instance_id=identity.group_instance_id,
            topics=list(topics.values()),
        )
        max_version = _highest_version(topic.topic_id for topic in request.topics)
        response = await send_to_group_coordinator(
            client, identity.group_id, request, max_version=max_version
        )
        try:
            _raise_commit_error(client, identity.group_id, response)
        except (UnknownTopicOrPartitionError, UnknownTopicIdError) as error:
            # It may have been made again.
            client.request_metadata_update()
            if retries_unknown:
                raise
            return error
        return None

    unknown = await client.retry(
        attempt, what=f"committing offsets of group {identity.group_id!r}", timeout_ms=timeout_ms
    )
    if unknown is not None:
        raise unknown


def _warn_of_another_topic(group_id: str, partition: TopicPartition, offset: OffsetAndMetadata) -> None:
    logger.warning(
        "group %r does not commit offset %d of %s: it is of a topic of this name that was deleted",
        group_id,
        offset.offset,
        partition,
    )


def _highest_version(topic_ids: Iterable[UUID]) -> int | None:
    """Topic ids are used only where all of them are known."""
    return VERSION_WITH_TOPIC_IDS - 1 if NO_TOPIC_ID in topic_ids else None


def _raise_commit_error(client: KafkaClient, group_id: str, response: OffsetCommitResponse) -> None:
    retriable: BrokerError | None = None
    for topic in response.topics:
        name = topic.name or client.metadata.topic_name(topic.topic_id) or str(topic.topic_id)
        for partition in topic.partitions:
            code = partition.error_code
            if not code:
                continue
            note_coordinator_error(client, group_id, code)
            advice = _ADVICE.get(ErrorCode(code)) if code in _ADVICE else None
            where = f"commit of {name}-{partition.partition_index} in group {group_id!r}"
            error = error_for(code, where, advice=advice)
            if not error.retriable:
                raise error
            retriable = error
    if retriable is not None:
        raise retriable


async def fetch_committed(
    client: KafkaClient,
    group_id: str,
    partitions: Iterable[TopicPartition] | None,
    *,
    timeout_ms: float,
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """What a group committed last for each partition, None where it committed nothing. Without `partitions`:
    all that it committed. Offsets that a transaction has pending are waited for (KIP-447).

    Raises: KafkaTimeoutError, GroupAuthorizationFailedError, another BrokerError.
    """
    wanted = None if partitions is None else list(partitions)
    if wanted == []:
        return {}

    async def attempt() -> dict[TopicPartition, OffsetAndMetadata | None]:
        node_id = await client.coordinators.find(GROUP_COORDINATOR, group_id)
        topic_ids = {p.topic: client.metadata.topic_id(p.topic) for p in wanted or ()}
        max_version = _highest_version(topic_ids.values())
        if wanted is None:
            # By id only the topics could be named that are in the metadata.
            max_version = VERSION_WITH_TOPIC_IDS - 1
        try:
            connection = await client.connect(node_id)
        except (KafkaConnectionError, KafkaTimeoutError):
            client.coordinators.forget(GROUP_COORDINATOR, group_id)
            raise
        version = connection.version_of(OffsetFetchRequest, max_version)
        request = _offset_fetch_request(topic_ids, group_id, wanted, version)
        response = await send_to_group_coordinator(client, group_id, request, max_version=version)
        topic_names = {topic_id: name for name, topic_id in topic_ids.items()}
        committed = _committed_in(client, topic_names, group_id, response, version)
        client.seen_leader_epochs.note(client.metadata, committed)
        if wanted is None:
            return committed
        return {partition: committed.get(partition) for partition in wanted}

    return await client.retry(
        attempt, what=f"reading committed offsets of group {group_id!r}", timeout_ms=timeout_ms
    )


def _offset_fetch_request(
    topic_ids: Mapping[str, UUID], group_id: str, wanted: list[TopicPartition] | None, version: int
) -> OffsetFetchRequest:
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for partition in wanted or ():
        by_topic[partition.topic].append(partition.partition)
    request = OffsetFetchRequest(require_stable=version >= 7)
    if version < FETCH_VERSION_WITH_GROUPS:
        request.group_id = group_id
        request.topics = None
        if wanted is not None:
            request.topics = [
                OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
                for name, indexes in by_topic.items()
            ]
        return request
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None)
    if wanted is not None:
        group.topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name=name, topic_id=topic_ids[name], partition_indexes=indexes
            )
            for name, indexes in by_topic.items()
        ]
    request.groups = [group]
    return request


def _committed_in(
    client: KafkaClient,
    topic_names: Mapping[UUID, str],
    group_id: str,
    response: OffsetFetchResponse,
    version: int,
) -> dict[TopicPartition, OffsetAndMetadata | None]:
    committed: dict[TopicPartition, OffsetAndMetadata | None] = {}
    grouped = version >= FETCH_VERSION_WITH_GROUPS
    group_error = response.groups[0].error_code if grouped else response.error_code
    if group_error:
        note_coordinator_error(client, group_id, group_error)
        raise error_for(group_error, f"committed offsets of group {group_id!r}")
    topics = (
        [(t.name or topic_names.get(t.topic_id), t.partitions) for t in response.groups[0].topics]
        if grouped
        else [(t.name, t.partitions) for t in response.topics]
    )
    for name, answers in topics:
        for answer in answers:
            partition = TopicPartition(name or "", answer.partition_index)
            if answer.error_code:
                note_coordinator_error(client, group_id, answer.error_code)
                raise error_for(answer.error_code, f"committed offset of {partition} in group {group_id!r}")
            if answer.committed_offset < 0:
                committed[partition] = None
                continue
            epoch = None if answer.committed_leader_epoch < 0 else answer.committed_leader_epoch
            committed[partition] = OffsetAndMetadata(answer.committed_offset, answer.metadata or "", epoch)
    return committed
