"""The part of Admin that concerns topics, partitions, records and their offsets.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from barnabas.broker_errors import ErrorCode, error_for
from barnabas.client.admin.calls import AdminCalls, by_topic, check, failure, names_of, settled
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
from barnabas.errors import BarnabasError, MisuseError
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
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

HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE = 5
NO_REPLICA = -1
ASSIGNED_BY_HAND = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1

OFFSET_SPECS = {
    "earliest": EARLIEST_OFFSET,
    "latest": LATEST_OFFSET,
    "max_timestamp": MAX_TIMESTAMP_OFFSET,
    "earliest_local": EARLIEST_LOCAL_OFFSET,
    "latest_tiered": LATEST_TIERED_OFFSET,
    "earliest_pending_upload": EARLIEST_PENDING_UPLOAD_OFFSET,
}


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
        wanted = {topic.name: topic for topic in topics}

        async def ask(controller: int, names: list[str]) -> dict[str, CreatedTopic | BarnabasError]:
            request = CreateTopicsRequest(
                topics=[_creatable(wanted[name]) for name in names],
                timeout_ms=self.config.request_timeout_ms,
                validate_only=validate_only,
            )
            response = await self._send(controller, request)
            return {
                topic.name: failure(topic.error_code, f"topic {topic.name!r}", topic.error_message)
                or _created(topic)
                for topic in response.topics
            }

        return await self._ask_controller_for_each(wanted, ask, what="creating topics", timeout=timeout)

    async def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes topics with all their records. Raises: UnknownTopicOrPartitionError, ..."""

        async def ask(controller: int, group: list[str]) -> dict[str, BarnabasError | None]:
            request = DeleteTopicsRequest(
                topics=[], topic_names=group, timeout_ms=self.config.request_timeout_ms
            )
            # All brokers speak it; the later ones add topic ids.
            response = await self._send(
                controller, request, max_version=HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE
            )
            return {
                topic.name or "": failure(topic.error_code, f"topic {topic.name!r}", topic.error_message)
                for topic in response.responses
            }

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

        await self._ask_controller_for_each(topic_ids, ask, what="deleting topics", timeout=timeout)

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

        async def ask(controller: int, names: list[str]) -> dict[str, BarnabasError | None]:
            request = CreatePartitionsRequest(
                topics=[_enlarged(name, totals[name]) for name in names],
                timeout_ms=self.config.request_timeout_ms,
                validate_only=validate_only,
            )
            response = await self._send(controller, request)
            return {
                topic.name: failure(topic.error_code, f"topic {topic.name!r}", topic.error_message)
                for topic in response.results
            }

        await self._ask_controller_for_each(totals, ask, what="creating partitions", timeout=timeout)

    async def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> list[str]:
        """The names of all topics, sorted; with those that Kafka keeps for itself if `internal`."""
        response = await self._ask_for_topics(MetadataRequest(topics=None), timeout)
        return sorted(t.name for t in response.topics if t.name and (internal or not t.is_internal))

    async def describe_topics(
        self,
        names: Iterable[str] | None = None,
        *,
        include_authorized_operations: bool = False,
        partition_limit: int = 2000,
        timeout: float | None = None,
    ) -> dict[str, TopicDescription]:
        """Partitions, leaders and replicas of topics; None means all topics but Kafka's own. Answers come in
        pieces of at most `partition_limit` partitions where the broker can do so (KIP-966).

        Raises: UnknownTopicOrPartitionError, ...
        """
        if names is None:
            request = MetadataRequest(
                topics=None, include_topic_authorized_operations=include_authorized_operations
            )
            described = _descriptions(await self._ask_for_topics(request, timeout))
            return {
                topic.name: topic
                for topic in described.values()
                if isinstance(topic, TopicDescription) and not topic.is_internal
            }

        async def any_node(_: str) -> int:
            return await self._client.any_node()

        async def ask(node_id: int, group: list[str]) -> Mapping[str, TopicDescription | BarnabasError]:
            if await self._version(node_id, DescribeTopicPartitionsRequest) >= 0:
                return await self._describe_in_pieces(
                    node_id, group, partition_limit, include_authorized_operations
                )
            request = MetadataRequest(
                topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in group],
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=include_authorized_operations,
            )
            return _descriptions(await self._send(node_id, request))

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
        wanted = list(topic_ids)
        request = MetadataRequest(
            topics=[
                MetadataRequest.MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in wanted
            ],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=include_authorized_operations,
        )
        response = await self._ask_for_topics(request, timeout)
        found = {t.topic_id: _description(t) for t in response.topics if not t.error_code}
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
        wanted = {TopicPartition(*partition): offset for partition, offset in offsets.items()}

        async def ask(
            leader: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, int | BarnabasError]:
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsRequest.DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            DeleteRecordsRequest.DeleteRecordsPartition(
                                partition_index=p.partition, offset=wanted[p]
                            )
                            for p in group
                        ],
                    )
                    for topic, group in by_topic(partitions).items()
                ],
                timeout_ms=self.config.request_timeout_ms,
            )
            response = await self._send(leader, request)
            found: dict[TopicPartition, int | BarnabasError] = {}
            for topic in response.topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    error = failure(result.error_code, f"{partition}, offset {wanted.get(partition)}")
                    found[partition] = error or result.low_watermark
            return found

        return await self._ask_leaders(wanted, ask, what="deleting records", timeout=timeout)

    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation_level: IsolationLevel = "read_uncommitted",
        timeout: float | None = None,
    ) -> dict[TopicPartition, ListedOffset]:
        """For each partition the offset of its first record ("earliest"), the one that the next record will
        get ("latest"; with `isolation_level` read_committed the first of a transaction that is open), that of
        the record with the greatest timestamp ("max_timestamp"), of the first record at or after a time in
        milliseconds, or another place that `OffsetSpec` names. Raises: UnknownTopicOrPartitionError, ...
        """
        timestamps = {TopicPartition(*p): _timestamp(spec) for p, spec in specs.items()}

        async def ask(
            leader: int, partitions: list[TopicPartition]
        ) -> dict[TopicPartition, ListedOffset | BarnabasError]:
            request = ListOffsetsRequest(
                replica_id=NO_REPLICA,
                isolation_level=READ_COMMITTED if isolation_level == "read_committed" else READ_UNCOMMITTED,
                topics=[
                    ListOffsetsRequest.ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            ListOffsetsRequest.ListOffsetsPartition(
                                partition_index=p.partition, timestamp=timestamps[p]
                            )
                            for p in group
                        ],
                    )
                    for topic, group in by_topic(partitions).items()
                ],
                timeout_ms=self.config.request_timeout_ms,
            )
            response = await self._send(leader, request)
            found: dict[TopicPartition, ListedOffset | BarnabasError] = {}
            for topic in response.topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    epoch = None if result.leader_epoch < 0 else result.leader_epoch
                    found[partition] = failure(result.error_code, str(partition)) or ListedOffset(
                        result.offset, result.timestamp, epoch
                    )
            return found

        return await self._ask_leaders(timestamps, ask, what="listing offsets", timeout=timeout)

    async def _ask_for_topics(self, request: MetadataRequest, timeout: float | None) -> MetadataResponse:
        request.allow_auto_topic_creation = False
        response = await self._ask(self._client.any_node, request, timeout)
        check(response.error_code, "metadata")
        return response

    async def _describe_in_pieces(
        self, node_id: int, names: list[str], partition_limit: int, include_operations: bool
    ) -> dict[str, TopicDescription | BarnabasError]:
        found: dict[str, TopicDescription | BarnabasError] = {}
        partitions: dict[str, list[PartitionInfo]] = {}
        # The broker goes through them in this order, and the cursor says where it stopped.
        remaining: list[str] = sorted(names)
        cursor: DescribeTopicPartitionsRequest.Cursor | None = None
        while remaining:
            request = DescribeTopicPartitionsRequest(
                topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in remaining],
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
            remaining = [name for name in remaining if name >= following.topic_name]
        return found


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    by_hand = topic.replica_assignments
    return CreateTopicsRequest.CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions if by_hand is None else ASSIGNED_BY_HAND,
        replication_factor=topic.replication_factor if by_hand is None else ASSIGNED_BY_HAND,
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=list(nodes))
            for index, nodes in (by_hand or {}).items()
        ],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
            for name, value in topic.configs.items()
        ],
    )


def _created(topic: CreateTopicsResponse.CreatableTopicResult) -> CreatedTopic:
    configs = {config.name: config.value for config in topic.configs or ()}
    return CreatedTopic(topic.name, topic.topic_id, topic.num_partitions, topic.replication_factor, configs)


def _enlarged(name: str, total: int | NewPartitions) -> CreatePartitionsRequest.CreatePartitionsTopic:
    wanted = total if isinstance(total, NewPartitions) else NewPartitions(total)
    return CreatePartitionsRequest.CreatePartitionsTopic(
        name=name,
        count=wanted.total_count,
        assignments=None
        if wanted.new_assignments is None
        else [
            CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=list(node_ids))
            for node_ids in wanted.new_assignments
        ],
    )


def _descriptions(response: MetadataResponse) -> dict[str, TopicDescription | BarnabasError]:
    return {
        topic.name: failure(topic.error_code, f"topic {topic.name!r}") or _description(topic)
        for topic in response.topics
        if topic.name is not None
    }


def _description(topic: MetadataResponse.MetadataResponseTopic) -> TopicDescription:
    known = ClusterMetadata().updated(MetadataResponse(topics=[topic]), keep_others=False)
    name = topic.name or ""
    return TopicDescription(
        name,
        topic.topic_id,
        topic.is_internal,
        tuple(known.partitions_for(name)),
        authorized_operations(topic.topic_authorized_operations),
    )


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


def _timestamp(spec: OffsetSpec) -> int:
    if isinstance(spec, str):
        if spec not in OFFSET_SPECS:
            raise MisuseError(f"{spec!r} is not one of {', '.join(OFFSET_SPECS)}, nor a time in milliseconds")
        return OFFSET_SPECS[spec]
    return spec
