"""OffsetFetch, versions 1 to 10, and 0 of old: one group, from version 8 on several (KIP-709); topic ids from
10 on.

Null topics (version 2) ask for all offsets of a group. With require_stable (version 7, KIP-447) an offset
that an open transaction may move is answered with UNSTABLE_OFFSET_COMMIT. A partition without a committed
offset is answered with -1. To version 0, which was for ZooKeeper, it is not there.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.authorization.acls import Operation, ResourceKind
from barnabas.broker.groups.group import Group
from barnabas.broker.groups.offsets import CommittedOffset
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.protocol.schema import ZERO_UUID
from barnabas.types import TopicPartition

NOT_COMMITTED = CommittedOffset(-1, -1, "", -1)
FIRST_VERSION_WITH_ERROR_OF_GROUP = 2
FIRST_VERSION_WITH_MANY_GROUPS = 8
FIRST_VERSION_WITH_TOPIC_IDS = 10

Topics = OffsetFetchResponse.OffsetFetchResponseTopics
Partitions = OffsetFetchResponse.OffsetFetchResponsePartitions


async def handle(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if call.version < FIRST_VERSION_WITH_MANY_GROUPS:
        return _answer_one(call, request)
    stable = request.require_stable
    return OffsetFetchResponse(groups=[_answer_group(call, asked, stable) for asked in request.groups])


def _answer_group(
    call: Call, asked: OffsetFetchRequest.OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    code = _group_error(call, asked.group_id) or _member_error(call, asked)
    group = call.parts.groups.by_name.get(asked.group_id)
    topics = [] if code else _answer_many(call, group, asked, require_stable)
    return OffsetFetchResponse.OffsetFetchResponseGroup(
        group_id=asked.group_id, topics=topics, error_code=code
    )


def _group_error(call: Call, group_id: str) -> int:
    may_see = call.parts.authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.GROUP, group_id)
    return 0 if may_see else ErrorCode.GROUP_AUTHORIZATION_FAILED


def _may_see_topic(call: Call, name: str) -> bool:
    return call.parts.authorizer.authorize(call, Operation.DESCRIBE, ResourceKind.TOPIC, name)


def _member_error(call: Call, asked: OffsetFetchRequest.OffsetFetchRequestGroup) -> int:
    """Version 9 names the member that asks, as KIP-848 groups need; others leave it out."""
    group = call.parts.groups.by_name.get(asked.group_id)
    if group is None or (asked.member_epoch < 0 and not asked.member_id):
        return 0
    try:
        if group.consumers is not None:
            group.consumers.check_member(asked.member_id or "", asked.member_epoch)
            return 0
        if asked.member_epoch < 0 or not asked.member_id:
            return 0
        group.find(asked.member_id, None)
        group.check_generation(asked.member_epoch)
    except BrokerError as error:
        return error.code
    return 0


def _answer_one(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    group, code = call.parts.groups.by_name.get(request.group_id), _group_error(call, request.group_id)
    if code and call.version >= FIRST_VERSION_WITH_ERROR_OF_GROUP:
        return OffsetFetchResponse(error_code=code)
    if request.topics is None:
        wanted = [found for found in _all_partitions(group) if _may_see_topic(call, found[0])]
    else:
        wanted = [(topic.name, list(topic.partition_indexes)) for topic in request.topics]
    hidden = {
        name: ErrorCode.TOPIC_AUTHORIZATION_FAILED for name, _ in wanted if not _may_see_topic(call, name)
    }
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=name,
                partitions=[
                    OffsetFetchResponse.OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=committed.offset,
                        committed_leader_epoch=committed.leader_epoch,
                        metadata=committed.metadata,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                        if call.version == 0 and committed.offset < 0 and not error_code
                        else error_code,
                    )
                    for index, committed, error_code in _committed(
                        group, name, indexes, request.require_stable, code or hidden.get(name, 0)
                    )
                ],
            )
            for name, indexes in wanted
        ]
    )


def _answer_many(
    call: Call,
    group: Group | None,
    asked: OffsetFetchRequest.OffsetFetchRequestGroup,
    require_stable: bool,
) -> list[Topics]:
    cluster = call.parts.cluster
    if asked.topics is None:
        answers = [
            _answer(call, group, name, indexes, require_stable)
            for name, indexes in _all_partitions(group)
            if _may_see_topic(call, name)
        ]
    else:
        answers = [_answer_topic(call, group, topic, require_stable) for topic in asked.topics]
    if call.version >= FIRST_VERSION_WITH_TOPIC_IDS:
        for answer in answers:
            topic = cluster.topics.get(answer.name)
            answer.topic_id = topic.topic_id if topic else answer.topic_id
    return answers


def _answer_topic(
    call: Call,
    group: Group | None,
    asked: OffsetFetchRequest.OffsetFetchRequestTopics,
    require_stable: bool,
) -> Topics:
    if asked.topic_id == ZERO_UUID:
        return _answer(call, group, asked.name, asked.partition_indexes, require_stable)
    try:
        name = call.parts.cluster.topic_by_id(asked.topic_id).name
    except BrokerError as error:
        return Topics(
            topic_id=asked.topic_id,
            partitions=[
                Partitions(index, committed_offset=-1, metadata="", error_code=error.code)
                for index in asked.partition_indexes
            ],
        )
    return _answer(call, group, name, asked.partition_indexes, require_stable)


def _answer(
    call: Call, group: Group | None, name: str, indexes: Iterable[int], require_stable: bool
) -> Topics:
    refused = 0 if _may_see_topic(call, name) else ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return Topics(
        name=name,
        partitions=[
            Partitions(
                partition_index=index,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                error_code=code,
            )
            for index, committed, code in _committed(group, name, indexes, require_stable, refused)
        ],
    )


def _committed(
    group: Group | None, name: str, indexes: Iterable[int], require_stable: bool, refused: int
) -> list[tuple[int, CommittedOffset, int]]:
    """Each partition with its offset and an error code, which is `refused` for all unless that is 0."""
    found: list[tuple[int, CommittedOffset, int]] = []
    for index in indexes:
        partition = TopicPartition(name, index)
        if group is None or refused:
            found.append((index, NOT_COMMITTED, refused))
        elif require_stable and group.offsets.is_unstable(partition):
            found.append((index, NOT_COMMITTED, ErrorCode.UNSTABLE_OFFSET_COMMIT))
        else:
            found.append((index, group.offsets.committed.get(partition, NOT_COMMITTED), 0))
    return found


def _all_partitions(group: Group | None) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for partition in group.offsets.committed if group else ():
        found.setdefault(partition.topic, []).append(partition.partition)
    return list(found.items())


HANDLER = Handler(OffsetFetchRequest, 1, 10, handle)
