"""DescribeShareGroupOffsets, versions 0 and 1 (KIP-932, KIP-1226: lag): where groups are, as on disk."""

from __future__ import annotations

import uuid

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.features import SHARE_VERSION
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker.handlers.behind_feature import behind_feature
from barnabas.broker.handlers.share_groups.acknowledgements import until_kept
from barnabas.broker.share_groups.share_state_store import UNKNOWN_OFFSET, ShareKey
from barnabas.broker_errors import UnknownTopicOrPartitionError
from barnabas.errors import BrokerError
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from barnabas.protocol.schema import ZERO_UUID

AskedGroup = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
DescribedGroup = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
DescribedTopic = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic
DescribedPartition = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
UNKNOWN_LAG = -1


async def handle(call: Call, request: DescribeShareGroupOffsetsRequest) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=[await _describe(call, asked) for asked in request.groups]
    )


async def _describe(call: Call, asked: AskedGroup) -> DescribedGroup:
    try:
        call.parts.authorizer.require(call, Operation.DESCRIBE, ResourceKind.GROUP, asked.group_id)
        for key in list(call.parts.share_states.of_group(asked.group_id)):
            await until_kept(call, key)
    except BrokerError as error:
        return DescribedGroup(asked.group_id, [], error.code, error.context or None)
    if asked.topics is None:
        wanted = _begun(call, asked.group_id)
    else:
        wanted = {topic.topic_name: list(topic.partitions) for topic in asked.topics}
    topics = [_topic(call, asked.group_id, name, indexes) for name, indexes in wanted.items()]
    if asked.topics is None:
        topics = [
            topic for topic in topics if not any(partition.error_code for partition in topic.partitions)
        ]
    return DescribedGroup(asked.group_id, topics)


def _begun(call: Call, group_id: str) -> dict[str, list[int]]:
    """The partitions that the group has begun with."""
    cluster = call.parts.cluster
    found: dict[str, list[int]] = {}
    for key in sorted(call.parts.share_states.of_group(group_id)):
        found.setdefault(cluster.topic_by_id(key.topic_id).name, []).append(key.partition)
    return found


def _topic(call: Call, group_id: str, name: str, indexes: list[int]) -> DescribedTopic:
    topic = call.parts.cluster.topics.get(name)
    try:
        call.parts.authorizer.require(call, Operation.DESCRIBE, ResourceKind.TOPIC, name)
    except BrokerError as error:
        refused = [
            DescribedPartition(index, error_code=error.code, error_message=error.context or None)
            for index in indexes
        ]
        return DescribedTopic(name, ZERO_UUID, refused)
    topic_id = ZERO_UUID if topic is None else topic.topic_id
    return DescribedTopic(
        name, topic_id, [_partition(call, ShareKey(group_id, topic_id, index)) for index in indexes]
    )


def _partition(call: Call, key: ShareKey) -> DescribedPartition:
    kept = call.parts.share_states.kept.get(key)
    start_offset = UNKNOWN_OFFSET if kept is None else kept.start_offset
    lag = UNKNOWN_LAG
    if kept is not None and start_offset != UNKNOWN_OFFSET:
        lag = _end_offset(call, key.topic_id, key.partition) - start_offset - kept.decided_count
    described = DescribedPartition(key.partition, start_offset, 0, error_message=None)
    if call.version > 0:
        described.lag = lag
    return described


def _end_offset(call: Call, topic_id: uuid.UUID, index: int) -> int:
    cluster = call.parts.cluster
    try:
        return cluster.partition(cluster.topic_by_id(topic_id), index).log.log_end_offset
    except UnknownTopicOrPartitionError:
        return 0


def _refuse(request: DescribeShareGroupOffsetsRequest, code: int) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup(
                group.group_id, error_code=code
            )
            for group in request.groups
        ]
    )


HANDLER = Handler(DescribeShareGroupOffsetsRequest, 0, 1, behind_feature(SHARE_VERSION, handle, _refuse))
