"""The part of Admin that concerns groups: their members and their committed offsets.

Owns the requests and what their answers mean. Must not know how a request finds its coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.admin_calls import MOVED_COORDINATOR, AdminCalls, always, by_topic
from barnabas.client.admin_types import GroupDescription, GroupListing, GroupMember
from barnabas.client.client import GROUP_COORDINATOR
from barnabas.errors import BrokerError
from barnabas.net.connection import Connection
from barnabas.protocol.codec import decode_prefix
from barnabas.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from barnabas.types import Node, OffsetAndMetadata, TopicPartition

CONSUMER_PROTOCOL = "consumer"
FIRST_VERSION_WITH_GROUPS = 8
# Later versions name topics by id, which nobody who manages a group needs to know.
HIGHEST_VERSION_WITH_NAMES = 9


class GroupAdmin(AdminCalls):
    """See `barnabas.client.admin.Admin`."""

    async def list_groups(self, *, timeout: float | None = None) -> list[GroupListing]:
        """All groups of the cluster, sorted by id."""

        async def attempt() -> dict[str, GroupListing]:
            groups: dict[str, GroupListing] = {}
            metadata = await self._client.refresh_metadata()
            for node_id in metadata.nodes:
                response = await self._client.send(node_id, ListGroupsRequest())
                if response.error_code:
                    raise error_for(response.error_code, f"listing the groups of node {node_id}")
                for group in response.groups:
                    groups[group.group_id] = GroupListing(
                        group.group_id, group.protocol_type, group.group_state, group.group_type
                    )
            return groups

        groups = await self._retry(attempt, "listing groups", timeout)
        return [groups[group_id] for group_id in sorted(groups)]

    async def describe_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, GroupDescription]:
        """State, members and assignments of groups of the classic protocol. A group that does not exist is
        described as Dead. Raises: GroupAuthorizationFailedError, ..."""
        described: dict[str, GroupDescription] = {}
        for group_id in group_ids:
            request = DescribeGroupsRequest(groups=[group_id])
            response = await self._ask_coordinator(group_id, always(request), _describe_code, timeout)
            coordinator = self._client.node(await self._client.coordinator(GROUP_COORDINATOR, group_id))
            described[group_id] = _description(response.groups[0], coordinator)
        return described

    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed offsets of a group, of all partitions or of those asked for; a partition without one
        is left out."""
        wanted = None if partitions is None else [TopicPartition(*partition) for partition in partitions]
        response = await self._ask_coordinator(
            group_id,
            partial(_offset_fetch_request, group_id, wanted),
            _offset_fetch_code,
            timeout,
            max_version=HIGHEST_VERSION_WITH_NAMES,
        )
        topics = response.groups[0].topics if response.groups else response.topics
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        for topic in topics:
            for found in topic.partitions:
                partition = TopicPartition(topic.name, found.partition_index)
                if found.error_code:
                    raise error_for(found.error_code, f"group {group_id!r}, {partition}")
                if found.committed_offset >= 0:
                    epoch = None if found.committed_leader_epoch < 0 else found.committed_leader_epoch
                    offsets[partition] = OffsetAndMetadata(
                        found.committed_offset, found.metadata or "", epoch
                    )
        return offsets

    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commits offsets on behalf of a group without members.

        Raises: UnknownMemberIdError (the group has members), UnknownTopicOrPartitionError, ...
        """
        topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
        for (topic, number), offset in offsets.items():
            position = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
            topics.setdefault(topic, []).append(
                OffsetCommitRequest.OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=position.offset,
                    committed_leader_epoch=-1 if position.leader_epoch is None else position.leader_epoch,
                    committed_metadata=position.metadata,
                )
            )
        request = OffsetCommitRequest(
            group_id=group_id,
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=partitions)
                for topic, partitions in topics.items()
            ],
        )
        response = await self._ask_coordinator(
            group_id, always(request), _offset_commit_code, timeout, max_version=HIGHEST_VERSION_WITH_NAMES
        )
        for topic in response.topics:
            for result in topic.partitions:
                if result.error_code:
                    partition = TopicPartition(topic.name, result.partition_index)
                    raise error_for(result.error_code, f"group {group_id!r}, {partition}")

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> None:
        """Forgets committed offsets of a group.

        Raises: GroupSubscribedToTopicError, GroupIdNotFoundError, ...
        """
        topics: dict[str, list[OffsetDeleteRequest.OffsetDeleteRequestPartition]] = {}
        for topic, number in partitions:
            partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=number)
            topics.setdefault(topic, []).append(partition)
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequest.OffsetDeleteRequestTopic(name=topic, partitions=group)
                for topic, group in topics.items()
            ],
        )
        response = await self._ask_coordinator(group_id, always(request), lambda r: r.error_code, timeout)
        for topic in response.topics:
            for result in topic.partitions:
                if result.error_code:
                    partition = TopicPartition(topic.name, result.partition_index)
                    raise error_for(result.error_code, f"group {group_id!r}, {partition}")

    async def delete_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes groups without members, with their offsets.

        Raises: NonEmptyGroupError, GroupIdNotFoundError, ... of the first that failed; the others are
        deleted.
        """
        first_error: BrokerError | None = None
        for group_id in group_ids:
            request = DeleteGroupsRequest(groups_names=[group_id])
            try:
                await self._ask_coordinator(
                    group_id, always(request), lambda r: r.results[0].error_code, timeout
                )
            except BrokerError as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error


def _describe_code(response: DescribeGroupsResponse) -> int:
    # From version 6 on, a group that does not exist is an error; before, it is described as Dead.
    code = response.groups[0].error_code
    return 0 if code == ErrorCode.GROUP_ID_NOT_FOUND else code


def _description(group: DescribeGroupsResponse.DescribedGroup, coordinator: Node | None) -> GroupDescription:
    is_missing = group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    return GroupDescription(
        group.group_id,
        "Dead" if is_missing else group.group_state,
        group.protocol_type,
        group.protocol_data,
        tuple(_member(member, group.protocol_type) for member in group.members),
        coordinator,
    )


def _member(member: DescribeGroupsResponse.DescribedGroupMember, protocol_type: str) -> GroupMember:
    return GroupMember(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        _assignment(member.member_assignment) if protocol_type == CONSUMER_PROTOCOL else (),
    )


def _assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in a member's assignment, which is empty while the group rebalances."""
    if not data:
        return ()
    version = min(int.from_bytes(data[:2]), ConsumerProtocolAssignment.VERSIONS[1])
    # A later version may have more fields behind the known ones.
    assignment, _ = decode_prefix(ConsumerProtocolAssignment, version, data, 2)
    return tuple(
        TopicPartition(topic.topic, number)
        for topic in assignment.assigned_partitions
        for number in topic.partitions
    )


def _offset_fetch_request(
    group_id: str, partitions: list[TopicPartition] | None, connection: Connection
) -> OffsetFetchRequest:
    topics = None if partitions is None else by_topic(partitions)
    version = connection.version_of(OffsetFetchRequest, HIGHEST_VERSION_WITH_NAMES)
    if version < FIRST_VERSION_WITH_GROUPS:
        return OffsetFetchRequest(
            group_id=group_id,
            topics=None
            if topics is None
            else [
                OffsetFetchRequest.OffsetFetchRequestTopic(
                    name=topic, partition_indexes=[p.partition for p in group]
                )
                for topic, group in topics.items()
            ],
        )
    group = OffsetFetchRequest.OffsetFetchRequestGroup(
        group_id=group_id,
        topics=None
        if topics is None
        else [
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name=topic, partition_indexes=[p.partition for p in group]
            )
            for topic, group in topics.items()
        ],
    )
    return OffsetFetchRequest(groups=[group])


def _offset_fetch_code(response: OffsetFetchResponse) -> int:
    return response.groups[0].error_code if response.groups else response.error_code


def _offset_commit_code(response: OffsetCommitResponse) -> int:
    """What went wrong with the coordinator itself is told for each partition."""
    codes = {partition.error_code for topic in response.topics for partition in topic.partitions}
    moved = codes & MOVED_COORDINATOR
    return moved.pop() if moved else 0
