"""The part of Admin that concerns topics, partitions, records and their offsets.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import get_args

from barnabas.client.admin.arguments import (
    by_partition,
    items_of,
    names_of,
    new_partitions,
    new_topics,
    offsets_by_partition,
)
from barnabas.client.admin.calls import AdminCalls, check, failure, outcomes, settled
from barnabas.client.admin.requests import topics as requests
from barnabas.client.admin.types import (
    CreatedTopic,
    ListedOffset,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    TopicDescription,
)
from barnabas.client.admin.types.acls import authorized_operations
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.error_codes import ErrorCode, error_for
from barnabas.errors import BarnabasError, MisuseError
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.settings.table import IsolationLevel
from barnabas.types import (
    EARLIEST_LOCAL_OFFSET,
    EARLIEST_OFFSET,
    EARLIEST_PENDING_UPLOAD_OFFSET,
    LATEST_OFFSET,
    LATEST_TIERED_OFFSET,
    MAX_TIMESTAMP_OFFSET,
    PartitionInfo,
    TopicPartition,
)

OFFSET_SPECS = {
    "earliest": EARLIEST_OFFSET,
    "latest": LATEST_OFFSET,
    "max_timestamp": MAX_TIMESTAMP_OFFSET,
    "earliest_local": EARLIEST_LOCAL_OFFSET,
    "latest_tiered": LATEST_TIERED_OFFSET,
    "earliest_pending_upload": EARLIEST_PENDING_UPLOAD_OFFSET,
}

# As in Java.
PARTITIONS_A_PIECE = 2000


class TopicAdmin(AdminCalls):
    """See `barnabas.client.admin.admin.Admin`."""

    async def create_topics(
        self,
        topics: Iterable[NewTopic],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[str, CreatedTopic]:
        """Creates topics; with `validate_only`, only says whether that would work. Returns once the
        controller has them: brokers hear of it a moment later.

        Raises: TopicAlreadyExistsError, InvalidReplicationFactorError, ...
        """
        wanted = new_topics(topics)

        async def ask(controller: int, names: list[str]) -> dict[str, CreatedTopic | BarnabasError]:
            request = requests.create_topics(
                [wanted[name] for name in names],
                timeout_ms=self.config.request_timeout_ms,
                validate_only=validate_only,
            )
            return outcomes(requests.created_topics(await self._send(controller, request)), _topic)

        return await self._ask_controller_for_each(wanted, ask, what="creating topics", timeout=timeout)

    async def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes topics with all their records. Raises: UnknownTopicOrPartitionError, ..."""

        async def ask(controller: int, group: list[str]) -> dict[str, BarnabasError | None]:
            request = requests.delete_topics(group, timeout_ms=self.config.request_timeout_ms)
            response = await self._send(
                controller, request, max_version=requests.HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE
            )
            return outcomes(requests.deleted_topics(response), _topic)

        await self._ask_controller_for_each(
            names_of(names, "topics"), ask, what="deleting topics", timeout=timeout
        )

    async def delete_topics_by_id(
        self, topic_ids: Iterable[uuid.UUID], *, timeout: float | None = None
    ) -> None:
        """Deletes topics by what `describe_topics` gives as their ids (KIP-516).

        Raises: UnknownTopicIdError, UnsupportedVersionError (before Kafka 2.8), ...
        """

        async def ask(controller: int, group: list[uuid.UUID]) -> dict[uuid.UUID, BarnabasError | None]:
            request = DeleteTopicsRequest(
                topics=[DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id) for topic_id in group],
                timeout_ms=self.config.request_timeout_ms,
            )
            response = await self._send(controller, request)
            return {
                topic.topic_id: failure(topic.error_code, f"topic id {topic.topic_id}", topic.error_message)
                for topic in response.responses
            }

        wanted = items_of(topic_ids, "topic_ids", uuid.UUID)
        await self._ask_controller_for_each(wanted, ask, what="deleting topics", timeout=timeout)

    async def create_partitions(
        self,
        totals: Mapping[str, int | NewPartitions],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raises the number of partitions of topics to the given totals. Keys then go to other partitions.

        Raises: InvalidPartitionsError (the total is not above the present number), ...
        """
        wanted = new_partitions(totals)

        async def ask(controller: int, names: list[str]) -> dict[str, BarnabasError | None]:
            request = requests.create_partitions(
                [(name, wanted[name]) for name in names],
                timeout_ms=self.config.request_timeout_ms,
                validate_only=validate_only,
            )
            return outcomes(requests.created_partitions(await self._send(controller, request)), _topic)

        await self._ask_controller_for_each(wanted, ask, what="creating partitions", timeout=timeout)

    async def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> list[str]:
        """The names of all topics, sorted; with those that Kafka keeps for itself if `internal`."""
        response = await self._ask_for_topics(requests.describe_topics(None), timeout)
        return sorted(t.name for t in response.topics if t.name and (internal or not t.is_internal))

    async def describe_topics(
        self,
        names: Iterable[str] | None = None,
        *,
        internal: bool = False,
        include_authorized_operations: bool = False,
        partition_limit: int | None = None,
        timeout: float | None = None,
    ) -> dict[str, TopicDescription]:
        """Partitions, leaders and replicas of topics; None means all topics but Kafka's own, and these as
        well if `internal`. Answers come in pieces of at most `partition_limit` partitions where the broker
        can do so (KIP-966); by default of 2000 for topics that are named, and all topics in one.

        Raises: UnknownTopicOrPartitionError, ...
        """
        if names is None:
            described = await self._describe_all(partition_limit, include_authorized_operations, timeout)
            return {
                name: topic
                for name, topic in described.items()
                if isinstance(topic, TopicDescription) and (internal or not topic.is_internal)
            }

        async def any_node(_: str) -> int:
            return await self._client.any_node()

        async def ask(node_id: int, group: list[str]) -> Mapping[str, TopicDescription | BarnabasError]:
            if await self._client.version_at(node_id, DescribeTopicPartitionsRequest) >= 0:
                limit = partition_limit or PARTITIONS_A_PIECE
                return await self._describe_in_pieces(node_id, group, limit, include_authorized_operations)
            request = requests.describe_topics(group, include_operations=include_authorized_operations)
            return outcomes(requests.described_topics(await self._send(node_id, request)), _topic)

        return await self._ask_for_each(
            names_of(names, "topics"),
            any_node,
            ask,
            what="describing topics",
            timeout=timeout,
            retried=frozenset({ErrorCode.LEADER_NOT_AVAILABLE}),
        )

    async def describe_topics_by_id(
        self,
        topic_ids: Iterable[uuid.UUID],
        *,
        include_authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[uuid.UUID, TopicDescription]:
        """Partitions, leaders and replicas of topics by their ids (KIP-516).

        Raises: UnknownTopicIdError, ...
        """
        wanted = items_of(topic_ids, "topic_ids", uuid.UUID)
        request = MetadataRequest(
            topics=[
                MetadataRequest.MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in wanted
            ],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=include_authorized_operations,
        )
        response = await self._ask_for_topics(request, timeout)
        known = ClusterMetadata().updated(response, keep_others=False)
        found = {t.topic_id: requests.described_topic(t, known) for t in response.topics if not t.error_code}
        errors: dict[uuid.UUID, BarnabasError] = {
            topic.topic_id: error_for(topic.error_code, f"topic id {topic.topic_id}")
            for topic in response.topics
            if topic.error_code
        }
        return settled(wanted, found, errors)

    async def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Deletes the records below the given offsets; -1 means all there are. Gives each partition's first
        remaining offset. Raises: OffsetOutOfRangeError, PolicyViolationError (a compacted topic), ...
        """
        wanted = offsets_by_partition(offsets)

        async def ask(
            leader: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, int | BarnabasError]:
            request = requests.delete_records(
                {partition: wanted[partition] for partition in partitions},
                timeout_ms=self.config.request_timeout_ms,
            )
            response = await self._send(leader, request)
            return outcomes(requests.deleted_records(response), lambda p: f"{p}, offset {wanted.get(p)}")

        return await self._ask_leaders(wanted, ask, what="deleting records", timeout=timeout)

    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = "read_uncommitted",
        timeout: float | None = None,
    ) -> dict[TopicPartition, ListedOffset]:
        """Returns for each partition the offset of its first record ("earliest"), the one that the next
        record will get ("latest"; with `isolation_level` read_committed the first of a transaction that is
        open), that of the record with the greatest timestamp ("max_timestamp"), of the first record at or
        after a time in milliseconds, or another place that `OffsetSpec` names. Raises:
        UnknownTopicOrPartitionError, ..."""
        wanted = by_partition(specs, "specs", "'earliest'")
        timestamps = {partition: _timestamp(partition, spec) for partition, spec in wanted.items()}
        if isolation_level not in get_args(IsolationLevel):
            known = " or ".join(get_args(IsolationLevel))
            raise MisuseError(f"isolation_level is {isolation_level!r}: give {known}")
        is_committed = isolation_level == "read_committed"
        level = requests.READ_COMMITTED if is_committed else requests.READ_UNCOMMITTED

        async def ask(
            leader: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, ListedOffset | BarnabasError]:
            request = requests.list_offsets(
                {partition: timestamps[partition] for partition in partitions},
                isolation_level=level,
                timeout_ms=self.config.request_timeout_ms,
            )
            return outcomes(requests.listed_offsets(await self._send(leader, request)), str)

        return await self._ask_leaders(timestamps, ask, what="listing offsets", timeout=timeout)

    async def _ask_for_topics(self, request: MetadataRequest, timeout: float | None) -> MetadataResponse:
        response = await self._ask(self._client.any_node, request, timeout)
        check(response.error_code, "metadata")
        return response

    async def _describe_all(
        self, partition_limit: int | None, include_operations: bool, timeout: float | None
    ) -> Mapping[str, TopicDescription | BarnabasError]:
        async def attempt() -> Mapping[str, TopicDescription | BarnabasError]:
            node_id = await self._client.any_node()
            is_told_in_pieces = await self._client.version_at(node_id, DescribeTopicPartitionsRequest) >= 0
            if partition_limit is not None and is_told_in_pieces:
                return await self._describe_in_pieces(node_id, None, partition_limit, include_operations)
            request = requests.describe_topics(None, include_operations=include_operations)
            response = await self._send(node_id, request)
            check(response.error_code, "metadata")
            return outcomes(requests.described_topics(response), _topic)

        return await self._retry(attempt, "describing topics", timeout)

    async def _describe_in_pieces(
        self, node_id: int, names: list[str] | None, partition_limit: int, include_operations: bool
    ) -> dict[str, TopicDescription | BarnabasError]:
        found: dict[str, TopicDescription | BarnabasError] = {}
        partitions: dict[str, list[PartitionInfo]] = {}
        # The broker goes through them in this order, and the cursor says where it stopped. None: all topics.
        remaining = None if names is None else sorted(names)
        cursor: DescribeTopicPartitionsRequest.Cursor | None = None
        while remaining is None or remaining:
            request = DescribeTopicPartitionsRequest(
                topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in remaining or ()],
                response_partition_limit=partition_limit,
                cursor=cursor,
            )
            response = await self._send(node_id, request)
            for topic in response.topics:
                name = topic.name or ""
                error = failure(topic.error_code, f"topic {name!r}")
                if error is not None:
                    found[name] = error
                    continue
                known = partitions.setdefault(name, [])
                known += (_partition(name, partition) for partition in topic.partitions)
                operations = topic.topic_authorized_operations
                found[name] = TopicDescription(
                    name,
                    topic.topic_id,
                    topic.is_internal,
                    tuple(known),
                    authorized_operations(operations) if include_operations else None,
                )
            following = response.next_cursor
            if following is None:
                break
            if cursor is not None and (following.topic_name, following.partition_index) <= (
                cursor.topic_name,
                cursor.partition_index,
            ):
                raise error_for(
                    ErrorCode.INVALID_REQUEST, "the cursor of DescribeTopicPartitions stands still"
                )
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=following.topic_name, partition_index=following.partition_index
            )
            if remaining is not None:
                remaining = [name for name in remaining if name >= following.topic_name]
        return found


def _topic(name: str) -> str:
    return f"topic {name!r}"


def _partition(
    topic: str, found: DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition
) -> PartitionInfo:
    eligible, last_known = found.eligible_leader_replicas, found.last_known_elr
    return PartitionInfo(
        topic,
        found.partition_index,
        found.leader_id,
        found.leader_epoch,
        tuple(found.replica_nodes),
        tuple(found.isr_nodes),
        tuple(found.offline_replicas),
        None if eligible is None else tuple(eligible),
        None if last_known is None else tuple(last_known),
    )


def _timestamp(partition: TopicPartition, spec: OffsetSpec) -> int:
    if isinstance(spec, int):
        return spec
    if spec not in OFFSET_SPECS:
        known = ", ".join(OFFSET_SPECS)
        raise MisuseError(f"{partition}: {spec!r} is not one of {known}, nor a time in milliseconds")
    return OFFSET_SPECS[spec]
