"""The part of Admin that concerns the offsets of groups of all types.

Owns the requests and what their answers mean. Must not know how a request finds its coordinator.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from barnabas.client.admin.arguments import (
    check_type,
    names_of,
    offsets_by_partition,
    partitions_by_group,
    partitions_of,
)
from barnabas.client.admin.calls import AdminCalls, K, T, failure, outcomes
from barnabas.client.admin.requests import group_offsets as requests
from barnabas.client.admin.requests.common import Answer, by_topic
from barnabas.client.admin.types import SharePartitionOffset
from barnabas.client.arguments import as_offsets
from barnabas.client.cluster.coordinators import GROUP_COORDINATOR
from barnabas.client.cluster.error_table import MOVED_COORDINATOR
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BarnabasError
from barnabas.protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from barnabas.protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest
from barnabas.types import OffsetAndMetadata, TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]
IS_LIVE = "the group is live, and its offsets are set while it has no members"
MEND = "stop its members first"


class GroupOffsetAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> Offsets:
        """The committed offsets of a group of consumers or of Kafka Streams, of all partitions or of those
        asked for; a partition without one is left out. `require_stable`: waits for the end of transactions
        that commit some (KIP-447); a partition whose first offset a transaction still holds is waited for
        only where `partitions` names it."""
        check_type(group_id, str, "group_id")
        wanted = None if partitions is None else partitions_of(partitions)
        found = await self.list_offsets_of_groups(
            {group_id: wanted}, require_stable=require_stable, timeout=timeout
        )
        return found[group_id]

    async def list_offsets_of_groups(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[str, Offsets]:
        """`list_group_offsets` of several groups, those of one coordinator in one request (KIP-709)."""
        wanted = partitions_by_group(groups)

        async def ask(coordinator: int, group_ids: list[str]) -> dict[str, Offsets | BarnabasError]:
            version = await self._client.version_at(coordinator, OffsetFetchRequest)
            if version >= requests.FIRST_OFFSET_FETCH_WITH_GROUPS:
                request = requests.fetch_offsets(
                    {group_id: wanted[group_id] for group_id in group_ids}, require_stable=require_stable
                )
                response = await self._send(
                    coordinator, request, max_version=requests.HIGHEST_VERSION_WITH_NAMES
                )
                return {
                    group.group_id: failure(group.error_code, f"group {group.group_id!r}")
                    or _offsets(group.group_id, requests.fetched_offsets(group.topics))
                    for group in response.groups
                }
            answers: dict[str, Offsets | BarnabasError] = {}
            for group_id in group_ids:
                old = await self._send(
                    coordinator,
                    requests.fetch_offsets_of_one_group(
                        group_id, wanted[group_id], require_stable=require_stable
                    ),
                    max_version=requests.FIRST_OFFSET_FETCH_WITH_GROUPS - 1,
                )
                error = failure(old.error_code, f"group {group_id!r}")
                answers[group_id] = error or _offsets(group_id, requests.fetched_offsets(old.topics))
            return answers

        return await self._ask_coordinators(
            wanted,
            ask,
            what="listing committed offsets",
            timeout=timeout,
        )

    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commits offsets on behalf of a group of consumers or of Kafka Streams without members.

        Raises: UnknownMemberIdError (the group has members), UnknownTopicOrPartitionError, ...
        """
        positions = as_offsets(offsets)

        async def ask(
            coordinator: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, BarnabasError | None]:
            request = requests.commit_offsets(group_id, {p: positions[p] for p in partitions})
            response = await self._send(coordinator, request, max_version=requests.HIGHEST_VERSION_WITH_NAMES)
            answers = requests.committed_offsets(response)
            # Whoever sets offsets is no member, and taken for one that is gone while there are others.
            return outcomes(answers, lambda p: f"group {group_id!r}, {p}") | {
                each.key: error_for(each.code, f"group {group_id!r}, {each.key}", IS_LIVE, advice=MEND)
                for each in answers
                if each.code == ErrorCode.UNKNOWN_MEMBER_ID
            }

        await self._ask_coordinator_of(group_id, positions, ask, "committing offsets", timeout)

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> None:
        """Forgets committed offsets of a group of consumers or of Kafka Streams.

        Raises: GroupSubscribedToTopicError, GroupIdNotFoundError, ...
        """

        async def ask(
            coordinator: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, BarnabasError | None]:
            request = OffsetDeleteRequest(
                group_id=group_id,
                topics=[
                    OffsetDeleteRequest.OffsetDeleteRequestTopic(
                        name=topic,
                        partitions=[
                            OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=p.partition)
                            for p in group
                        ],
                    )
                    for topic, group in by_topic(partitions).items()
                ],
            )
            response = await self._send(coordinator, request)
            whole = failure(response.error_code, f"group {group_id!r}")
            if whole is not None:
                return dict.fromkeys(partitions, whole)
            answers: dict[TopicPartition, BarnabasError | None] = {}
            for topic in response.topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    answers[partition] = failure(result.error_code, f"group {group_id!r}, {partition}")
            return answers

        await self._ask_coordinator_of(
            group_id, partitions_of(partitions), ask, "forgetting committed offsets", timeout
        )

    async def list_share_group_offsets(
        self,
        groups: Mapping[str, Iterable[TopicPartition] | None],
        *,
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, SharePartitionOffset]]:
        """Returns the positions of share groups (KIP-932) in these partitions, or in all (None). One that a
        group has not begun to read is left out. Raises: GroupIdNotFoundError, ..."""
        wanted = partitions_by_group(groups)

        async def ask(
            coordinator: int, group_ids: list[str]
        ) -> dict[str, dict[TopicPartition, SharePartitionOffset] | BarnabasError]:
            request = DescribeShareGroupOffsetsRequest(
                groups=[_described_share_group(group_id, wanted[group_id]) for group_id in group_ids]
            )
            return {
                group.group_id: failure(group.error_code, f"group {group.group_id!r}", group.error_message)
                or _share_offsets(group)
                for group in (await self._send(coordinator, request)).groups
            }

        return await self._ask_coordinators(
            wanted, ask, what="listing offsets of share groups", timeout=timeout
        )

    async def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> None:
        """Sets the offsets from which a share group without members goes on (KIP-932).

        Raises: NonEmptyGroupError, GroupIdNotFoundError, UnknownTopicOrPartitionError, ...
        """
        wanted = offsets_by_partition(offsets)

        async def ask(
            coordinator: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, BarnabasError | None]:
            request = AlterShareGroupOffsetsRequest(
                group_id=group_id,
                topics=[
                    AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(
                        topic_name=topic,
                        partitions=[
                            AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(
                                partition_index=p.partition, start_offset=wanted[p]
                            )
                            for p in group
                        ],
                    )
                    for topic, group in by_topic(partitions).items()
                ],
            )
            response = await self._send(coordinator, request)
            whole = failure(response.error_code, f"group {group_id!r}", response.error_message)
            if whole is not None:
                return dict.fromkeys(partitions, whole)
            answers: dict[TopicPartition, BarnabasError | None] = {}
            for topic in response.responses:
                for result in topic.partitions:
                    partition = TopicPartition(topic.topic_name, result.partition_index)
                    context = f"group {group_id!r}, {partition}"
                    answers[partition] = failure(result.error_code, context, result.error_message)
            return answers

        await self._ask_coordinator_of(group_id, wanted, ask, "setting offsets of a share group", timeout)

    async def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Forgets where a share group without members stands in topics (KIP-932).

        Raises: NonEmptyGroupError, GroupIdNotFoundError, UnknownTopicOrPartitionError, ...
        """

        async def ask(coordinator: int, names: list[str]) -> dict[str, BarnabasError | None]:
            request = DeleteShareGroupOffsetsRequest(
                group_id=group_id,
                topics=[
                    DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic_name=name)
                    for name in names
                ],
            )
            response = await self._send(coordinator, request)
            whole = failure(response.error_code, f"group {group_id!r}", response.error_message)
            if whole is not None:
                return dict.fromkeys(names, whole)
            return {
                topic.topic_name: failure(
                    topic.error_code, f"group {group_id!r}, topic {topic.topic_name!r}", topic.error_message
                )
                for topic in response.responses
            }

        await self._ask_coordinator_of(
            group_id, names_of(topics, "topics"), ask, "forgetting offsets of a share group", timeout
        )

    async def _ask_coordinator_of(
        self,
        group_id: str,
        keys: Iterable[K],
        ask: Callable[[int, list[K]], Awaitable[Mapping[K, T | BarnabasError]]],
        what: str,
        timeout: float | None,
    ) -> dict[K, T]:
        """`_ask_for_each` of the coordinator of one group, for items of that group."""
        check_type(group_id, str, "group_id")

        async def coordinator(_: K) -> int:
            return await self._client.coordinators.find(GROUP_COORDINATOR, group_id)

        return await self._ask_for_each(
            keys,
            coordinator,
            ask,
            what=f"{what} of {group_id!r}",
            timeout=timeout,
            retried=MOVED_COORDINATOR,
            on_retry=lambda _: self._client.coordinators.forget(GROUP_COORDINATOR, group_id),
        )


def _offsets(
    group_id: str, answers: Iterable[Answer[TopicPartition, OffsetAndMetadata | None]]
) -> Offsets | BarnabasError:
    offsets: Offsets = {}
    for partition, position, code, _ in answers:
        error = failure(code, f"group {group_id!r}, {partition}")
        if error is not None:
            return error
        if position is not None:
            offsets[partition] = position
    return offsets


def _described_share_group(
    group_id: str, partitions: list[TopicPartition] | None
) -> DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup:
    return DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(
        group_id=group_id,
        topics=None
        if partitions is None
        else [
            DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic(
                topic_name=topic, partitions=[p.partition for p in group]
            )
            for topic, group in by_topic(partitions).items()
        ],
    )


def _share_offsets(
    group: DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup,
) -> dict[TopicPartition, SharePartitionOffset] | BarnabasError:
    offsets: dict[TopicPartition, SharePartitionOffset] = {}
    for topic in group.topics:
        for found in topic.partitions:
            partition = TopicPartition(topic.topic_name, found.partition_index)
            error = failure(found.error_code, f"group {group.group_id!r}, {partition}", found.error_message)
            if error is not None:
                return error
            if found.start_offset != requests.NO_OFFSET:
                offsets[partition] = SharePartitionOffset(
                    found.start_offset,
                    None if found.leader_epoch < 0 else found.leader_epoch,
                    None if found.lag < 0 else found.lag,
                )
    return offsets
