"""OffsetFetch, versions 1 to 10: one group, from version 8 on several (KIP-709); topic ids from 10 on.

Null topics (version 2) ask for all offsets of a group. With require_stable (version 7, KIP-447) an offset
that an open transaction may move is answered with UNSTABLE_OFFSET_COMMIT. A partition without a committed
offset is answered with -1.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.cluster import Cluster
from barnabas.broker.group import CommittedOffset, Group
from barnabas.broker.handlers.api import Call, Handler
from barnabas.broker_errors import ErrorCode
from barnabas.errors import BrokerError
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.protocol.schema import ZERO_UUID
from barnabas.types import TopicPartition

NOT_COMMITTED = CommittedOffset(-1, -1, "", -1)
FIRST_VERSION_WITH_MANY_GROUPS = 8
FIRST_VERSION_WITH_TOPIC_IDS = 10

Topics = OffsetFetchResponse.OffsetFetchResponseTopics
Partitions = OffsetFetchResponse.OffsetFetchResponsePartitions


async def handle(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    groups = call.parts.groups.groups
    if call.version < FIRST_VERSION_WITH_MANY_GROUPS:
        return _answer_one(groups.get(request.group_id), request)
    stable = request.require_stable
    return OffsetFetchResponse(groups=[_answer_group(call, asked, stable) for asked in request.groups])


def _answer_group(
    call: Call, asked: OffsetFetchRequest.OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponse.OffsetFetchResponseGroup:
    code = _member_error(call, asked)
    group = call.parts.groups.groups.get(asked.group_id)
    topics = [] if code else _answer_many(call, group, asked, require_stable)
    return OffsetFetchResponse.OffsetFetchResponseGroup(
        group_id=asked.group_id, topics=topics, error_code=code
    )


def _member_error(call: Call, asked: OffsetFetchRequest.OffsetFetchRequestGroup) -> int:
    """Version 9 names the member that asks, as KIP-848 groups need; others leave it out."""
    group = call.parts.groups.groups.get(asked.group_id)
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


def _answer_one(group: Group | None, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if request.topics is None:
        wanted = _all_partitions(group)
    else:
        wanted = [(topic.name, list(topic.partition_indexes)) for topic in request.topics]
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
                        error_code=code,
                    )
                    for index, committed, code in _committed(group, name, indexes, request.require_stable)
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
        answers = [_answer(group, name, indexes, require_stable) for name, indexes in _all_partitions(group)]
    else:
        answers = [_answer_topic(cluster, group, topic, require_stable) for topic in asked.topics]
    if call.version >= FIRST_VERSION_WITH_TOPIC_IDS:
        for answer in answers:
            topic = cluster.topics.get(answer.name)
            answer.topic_id = topic.topic_id if topic else answer.topic_id
    return answers


def _answer_topic(
    cluster: Cluster,
    group: Group | None,
    asked: OffsetFetchRequest.OffsetFetchRequestTopics,
    require_stable: bool,
) -> Topics:
    if asked.topic_id == ZERO_UUID:
        return _answer(group, asked.name, asked.partition_indexes, require_stable)
    try:
        name = cluster.topic_by_id(asked.topic_id).name
    except BrokerError as error:
        return Topics(
            topic_id=asked.topic_id,
            partitions=[
                Partitions(index, committed_offset=-1, metadata="", error_code=error.code)
                for index in asked.partition_indexes
            ],
        )
    return _answer(group, name, asked.partition_indexes, require_stable)


def _answer(group: Group | None, name: str, indexes: Iterable[int], require_stable: bool) -> Topics:
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
            for index, committed, code in _committed(group, name, indexes, require_stable)
        ],
    )


def _committed(
    group: Group | None, name: str, indexes: Iterable[int], require_stable: bool
) -> list[tuple[int, CommittedOffset, int]]:
    """Each partition with its offset and an error code."""
    found: list[tuple[int, CommittedOffset, int]] = []
    for index in indexes:
        partition = TopicPartition(name, index)
        if group is None:
            found.append((index, NOT_COMMITTED, 0))
        elif require_stable and group.is_unstable(partition):
            found.append((index, NOT_COMMITTED, ErrorCode.UNSTABLE_OFFSET_COMMIT))
        else:
            found.append((index, group.offsets.get(partition, NOT_COMMITTED), 0))
    return found


def _all_partitions(group: Group | None) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = {}
    for partition in group.offsets if group else ():
        found.setdefault(partition.topic, []).append(partition.partition)
    return list(found.items())


HANDLER = Handler(OffsetFetchRequest, 1, 10, handle)
