"""OffsetCommit, versions 2 to 10 (topic ids from 10 on), and 0 and 1 of old: answered once __consumer_offsets
has them.

Version 0 was for offsets in ZooKeeper. There is none here: they are with the others, and a group that has
members takes none.
"""

from __future__ import annotations

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.groups.group import MemberIdentity
from barnabas.broker.groups.offsets import CommittedOffset
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.topic import Topic
from barnabas.broker_errors import (
    CoordinatorNotAvailableError,
    GroupAuthorizationFailedError,
    KafkaStorageError,
    OffsetMetadataTooLargeError,
    UnsupportedVersionError,
)
from barnabas.clock import now_ms
from barnabas.errors import BrokerError
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.schema import ZERO_UUID
from barnabas.types import TopicPartition

FIRST_VERSION_OF_CONSUMERS = 9
"""Members of the consumer protocol may use none before it."""
PartitionResponse = OffsetCommitResponse.OffsetCommitResponsePartition


async def handle(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    response = OffsetCommitResponse()
    authorizer = call.parts.authorizer
    may_commit = authorizer.authorize(call, Operation.READ, ResourceKind.GROUP, request.group_id)
    accepted: dict[TopicPartition, CommittedOffset] = {}
    to_answer: list[PartitionResponse] = []
    longest = call.parts.cluster.settings.number("offset.metadata.max.bytes")
    for asked in request.topics:
        answer = OffsetCommitResponse.OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id)
        response.topics.append(answer)
        for partition in asked.partitions:
            result = PartitionResponse(partition_index=partition.partition_index)
            answer.partitions.append(result)
            try:
                if not may_commit:
                    raise GroupAuthorizationFailedError
                topic = _topic(call, asked)
                name, committed = _accept(call, topic, partition, longest)
            except BrokerError as error:
                result.error_code = error.code
                continue
            accepted[name] = committed
            to_answer.append(result)
    code = _commit(call, request, accepted) if accepted else 0
    for result in to_answer:
        result.error_code = code
    return response


def _topic(call: Call, asked: OffsetCommitRequest.OffsetCommitRequestTopic) -> Topic:
    """Raises: TopicAuthorizationFailedError before it tells whether a topic named is there."""
    cluster = call.parts.cluster
    name = asked.name if asked.topic_id == ZERO_UUID else cluster.topic_by_id(asked.topic_id).name
    call.parts.authorizer.require(call, Operation.READ, ResourceKind.TOPIC, name)
    return cluster.topic(name)


def _accept(
    call: Call, topic: Topic, partition: OffsetCommitRequest.OffsetCommitRequestPartition, longest: int
) -> tuple[TopicPartition, CommittedOffset]:
    call.parts.cluster.partition(topic, partition.partition_index)
    # ZooKeeper had room for the offset alone.
    metadata = "" if call.version == 0 else partition.committed_metadata or ""
    if len(metadata) > longest:
        raise OffsetMetadataTooLargeError(f"{len(metadata)} characters, offset.metadata.max.bytes={longest}")
    # Version 1 alone names the time from which the offset is kept.
    time = partition.commit_timestamp if partition.commit_timestamp >= 0 else now_ms()
    committed = CommittedOffset(partition.committed_offset, partition.committed_leader_epoch, metadata, time)
    return TopicPartition(topic.name, partition.partition_index), committed


def _commit(call: Call, request: OffsetCommitRequest, offsets: dict[TopicPartition, CommittedOffset]) -> int:
    group = call.parts.groups.by_name.get(request.group_id)
    is_consumer = group is not None and group.consumers is not None and group.consumers.takes_offsets
    if (
        is_consumer
        and call.version < FIRST_VERSION_OF_CONSUMERS
        and request.generation_id_or_member_epoch >= 0
    ):
        return UnsupportedVersionError.code
    try:
        call.parts.offsets.commit(
            MemberIdentity(
                request.group_id,
                request.generation_id_or_member_epoch,
                request.member_id,
                request.group_instance_id,
            ),
            offsets,
        )
    except KafkaStorageError:
        # As Kafka does: consumers know this code, and try again.
        return CoordinatorNotAvailableError.code
    except BrokerError as error:
        return error.code
    return 0


HANDLER = Handler(OffsetCommitRequest, 2, 10, handle)
