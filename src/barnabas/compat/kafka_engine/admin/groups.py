"""Groups, their members and their offsets. Knows no shape of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barnabas.compat.kafka_engine.admin.partitions import by_topic
from barnabas.compat.kafka_engine.admin.session import BrokerAnswer, BrokerSession
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

Partition = tuple[str, int]

_NEWEST = 32767
_BY_NAME_UNTIL = 8
"""Newer versions of OffsetFetch and OffsetCommit know topics by id, or members by epoch."""
_SEVERAL_GROUPS_SINCE = 8
_SEVERAL_MEMBERS_SINCE = 3


async def describe_groups(
    session: BrokerSession,
    group_ids: Iterable[str],
    coordinator: int | None,
    *,
    one_by_one: bool = False,
    max_version: int = _NEWEST,
) -> list[BrokerAnswer[DescribeGroupsResponse]]:
    """The answers of their coordinators, or of `coordinator`. `one_by_one`: one for each group."""
    return await session.ask_coordinators(
        group_ids,
        lambda ids: DescribeGroupsRequest(groups=ids, include_authorized_operations=True),
        lambda response: [group.error_code for group in response.groups],
        node_id=coordinator,
        one_by_one=lambda _version: one_by_one,
        max_version=max_version,
    )


async def list_groups(
    session: BrokerSession,
    broker_ids: Iterable[int] | None,
    *,
    states: Iterable[str] = (),
    types: Iterable[str] = (),
    max_version: int = _NEWEST,
) -> list[BrokerAnswer[ListGroupsResponse]]:
    """The answers of brokers, of all for None. Raises: IncompatibleBrokerVersion where they cannot choose."""
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    needed = 5 if request.types_filter else 4 if request.states_filter else 0
    brokers = await session.nodes() if broker_ids is None else broker_ids
    return [
        await session.ask(request, broker, min_version=needed, max_version=max_version) for broker in brokers
    ]


async def delete_groups(
    session: BrokerSession,
    group_ids: Iterable[str],
    coordinator: int | None,
    *,
    max_version: int = _NEWEST,
) -> list[BrokerAnswer[DeleteGroupsResponse]]:
    """The answers of their coordinators, or of `coordinator`."""
    return await session.ask_coordinators(
        group_ids,
        lambda ids: DeleteGroupsRequest(groups_names=ids),
        lambda response: [group.error_code for group in response.results],
        node_id=coordinator,
        max_version=max_version,
    )


async def fetch_offsets(
    session: BrokerSession,
    groups: Mapping[str, Iterable[Partition] | None],
    coordinator: int | None = None,
    *,
    max_version: int = _BY_NAME_UNTIL,
) -> dict[str, BrokerAnswer[OffsetFetchResponse]]:
    """By group, the answer that it is in. `groups`: the partitions that are asked for, None for all that the
    group has offsets of."""
    topics = {
        group_id: None if partitions is None else by_topic(dict.fromkeys(partitions))
        for group_id, partitions in groups.items()
    }
    old_topic, topic = OffsetFetchRequest.OffsetFetchRequestTopic, OffsetFetchRequest.OffsetFetchRequestTopics

    def make_request(ids: list[str]) -> OffsetFetchRequest:
        first = topics[ids[0]]
        return OffsetFetchRequest(
            group_id=ids[0],
            topics=None if first is None else [old_topic(name, numbers) for name, numbers in first.items()],
            groups=[
                OffsetFetchRequest.OffsetFetchRequestGroup(
                    group_id=group_id,
                    topics=None
                    if (of_group := topics[group_id]) is None
                    else [topic(name=name, partition_indexes=numbers) for name, numbers in of_group.items()],
                )
                for group_id in ids
            ],
        )

    answers = await session.ask_coordinators(
        groups,
        make_request,
        lambda response: [response.error_code, *(group.error_code for group in response.groups)],
        node_id=coordinator,
        one_by_one=lambda version: version < _SEVERAL_GROUPS_SINCE,
        min_version=2 if None in topics.values() else 0,
        max_version=max_version,
    )
    by_group: dict[str, BrokerAnswer[OffsetFetchResponse]] = {}
    for answer in answers:
        # Without groups, it is of the one that was asked for.
        asked = answer.request.group_id if isinstance(answer.request, OffsetFetchRequest) else ""
        for group_id in [group.group_id for group in answer.message.groups] or [asked]:
            by_group[group_id] = answer
    return by_group


async def commit_offsets(
    session: BrokerSession,
    group_id: str,
    offsets: Mapping[Any, tuple[int, str | None, int | None]],
    coordinator: int | None,
) -> BrokerAnswer[OffsetCommitResponse]:
    """`offsets`: with what is kept beside them and the epochs of leaders. Of a group without members."""
    partition = OffsetCommitRequest.OffsetCommitRequestPartition

    def made(number: int, offset: int, metadata: str | None, epoch: int | None) -> Any:
        return partition(
            partition_index=number,
            committed_offset=offset,
            committed_leader_epoch=-1 if epoch is None else epoch,
            committed_metadata=metadata,
        )

    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=topic, partitions=[made(number, *offsets[topic, number]) for number in numbers]
            )
            for topic, numbers in by_topic(offsets).items()
        ],
    )
    answers = await session.ask_coordinators(
        [group_id],
        lambda _ids: request,
        lambda response: [each.error_code for topic in response.topics for each in topic.partitions],
        node_id=coordinator,
        max_version=_BY_NAME_UNTIL,
    )
    return answers[0]


async def delete_offsets(
    session: BrokerSession, group_id: str, partitions: Iterable[Partition], coordinator: int | None
) -> BrokerAnswer[OffsetDeleteResponse]:
    """Of partitions that no member of the group reads."""
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=topic, partitions=[partition(number) for number in numbers]
            )
            for topic, numbers in by_topic(partitions).items()
        ],
    )
    answers = await session.ask_coordinators(
        [group_id], lambda _ids: request, lambda response: [response.error_code], node_id=coordinator
    )
    return answers[0]


async def remove_members(
    session: BrokerSession,
    group_id: str,
    members: Sequence[tuple[str, str | None, str | None]],
    coordinator: int | None,
) -> BrokerAnswer[LeaveGroupResponse]:
    """`members`: each by its id, "" for a static one, its group.instance.id and the reason. Raises:
    IncompatibleBrokerVersion where a broker takes one at a time."""
    identity = LeaveGroupRequest.MemberIdentity
    request = LeaveGroupRequest(
        group_id=group_id,
        members=[
            identity(member_id=member, group_instance_id=instance, reason=reason)
            for member, instance, reason in members
        ],
    )
    answers = await session.ask_coordinators(
        [group_id],
        lambda _ids: request,
        lambda response: [response.error_code],
        node_id=coordinator,
        min_version=_SEVERAL_MEMBERS_SINCE,
    )
    return answers[0]


async def remove_member(
    session: BrokerSession, group_id: str, member_id: str, coordinator: int | None
) -> BrokerAnswer[LeaveGroupResponse]:
    """As brokers take it that know no static members."""
    answers = await session.ask_coordinators(
        [group_id],
        lambda _ids: LeaveGroupRequest(group_id=group_id, member_id=member_id),
        lambda response: [response.error_code],
        node_id=coordinator,
        max_version=_SEVERAL_MEMBERS_SINCE - 1,
    )
    return answers[0]
