"""The asyncio Admin: topics, configurations, records, the cluster. Groups are in `admin_groups`.

Owns the requests and what their answers mean. Must not know how a request finds its broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.broker_errors import error_for
from barnabas.client.admin_calls import by_topic
from barnabas.client.admin_groups import GroupAdmin
from barnabas.client.admin_types import (
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    CreatedTopic,
    ListedOffset,
    NewTopic,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)
from barnabas.client.metadata import ClusterMetadata
from barnabas.errors import MisuseError
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.types import EARLIEST_OFFSET, LATEST_OFFSET, TopicPartition

MAX_TIMESTAMP = -3
NO_REPLICA = -1
ASSIGNED_BY_HAND = -1
SET, DELETE = 0, 1
HIGH_WATERMARK = -1


class Admin(GroupAdmin):
    """Creates, describes, changes and deletes what is in a cluster. Made on a running event loop; used with
    `async with`, or closed by `close`.

    `bootstrap_servers`: `host:port`, several separated by commas or as a sequence. `settings`: Kafka's names
    in snake_case, see `barnabas.config.AdminConfig`. Every call takes `timeout` in seconds, by default
    default_api_timeout_ms.

    One rule holds for all calls that take several items: if all succeed, the result names each of them; if
    any fails, the error of the first that failed is raised, which names it, and the others have been done.
    Every call raises: KafkaTimeoutError, BootstrapError, and the BrokerError that the broker answered.
    """

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
        request = CreateTopicsRequest(
            topics=[_creatable(topic) for topic in topics],
            timeout_ms=self.config.request_timeout_ms,
            validate_only=validate_only,
        )
        response = await self._ask_controller(request, lambda r: [t.error_code for t in r.topics], timeout)
        for topic in response.topics:
            _check(topic.error_code, f"topic {topic.name!r}", topic.error_message)
        return {topic.name: _created(topic) for topic in response.topics}

    async def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Deletes topics with all their records. Raises: UnknownTopicOrPartitionError, ..."""
        wanted = _names(names)
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=name) for name in wanted],
            topic_names=wanted,
            timeout_ms=self.config.request_timeout_ms,
        )
        response = await self._ask_controller(request, lambda r: [t.error_code for t in r.responses], timeout)
        for topic in response.responses:
            _check(topic.error_code, f"topic {topic.name!r}", topic.error_message)

    async def create_partitions(
        self, totals: Mapping[str, int], *, validate_only: bool = False, timeout: float | None = None
    ) -> None:
        """Raises the number of partitions of topics to the given totals. Keys then go to other partitions.

        Raises: InvalidPartitionsError (the total is not above the present number), ...
        """
        request = CreatePartitionsRequest(
            topics=[
                CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=total, assignments=None)
                for name, total in totals.items()
            ],
            timeout_ms=self.config.request_timeout_ms,
            validate_only=validate_only,
        )
        response = await self._ask_controller(request, lambda r: [t.error_code for t in r.results], timeout)
        for topic in response.results:
            _check(topic.error_code, f"topic {topic.name!r}", topic.error_message)

    async def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> list[str]:
        """The names of all topics, sorted; with those that Kafka keeps for itself if `internal`."""
        metadata = await self._metadata(None, timeout)
        return sorted(t.name for t in metadata.topic_metadata.values() if internal or not t.is_internal)

    async def describe_topics(
        self, names: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> dict[str, TopicDescription]:
        """Partitions, leaders and replicas of topics; None means all topics but Kafka's own.

        Raises: UnknownTopicOrPartitionError, ...
        """
        wanted = None if names is None else _names(names)
        metadata = await self._metadata(wanted, timeout)
        for name in wanted or ():
            _check(metadata.topic_errors.get(name, 0), f"topic {name!r}", None)
        return {
            topic.name: TopicDescription(topic.name, topic.topic_id, topic.is_internal, topic.partitions)
            for topic in metadata.topic_metadata.values()
            if wanted is not None or not topic.is_internal
        }

    async def describe_cluster(self, *, timeout: float | None = None) -> ClusterDescription:
        """The brokers, and which of them is the controller."""
        metadata = await self._metadata([], timeout)
        nodes = tuple(sorted(metadata.nodes.values(), key=lambda node: node.node_id))
        return ClusterDescription(metadata.cluster_id, metadata.nodes.get(metadata.controller_id), nodes)

    async def describe_configs(
        self, resources: Iterable[ConfigResource], *, timeout: float | None = None
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """The settings of topics and brokers, by name. Raises: UnknownTopicOrPartitionError, ..."""
        described: dict[ConfigResource, dict[str, ConfigEntry]] = {}
        for node_id, asked in _by_node(resources).items():
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsRequest.DescribeConfigsResource(
                        resource_type=resource.type, resource_name=resource.name, configuration_keys=None
                    )
                    for resource in asked
                ]
            )
            response = await self._ask_node(node_id, request, timeout)
            for result in response.results:
                resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
                _check(result.error_code, str(resource), result.error_message)
                described[resource] = {entry.name: _config_entry(entry) for entry in result.configs}
        return described

    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, str | None]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Sets settings of topics and brokers; a value of None brings the default back. Settings that are not
        named stay as they are (KIP-339). Raises: InvalidConfigError, UnknownTopicOrPartitionError, ...
        """
        for node_id, resources in _by_node(changes).items():
            request = IncrementalAlterConfigsRequest(
                resources=[
                    IncrementalAlterConfigsRequest.AlterConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=[
                            IncrementalAlterConfigsRequest.AlterableConfig(
                                name=name, config_operation=DELETE if value is None else SET, value=value
                            )
                            for name, value in changes[resource].items()
                        ],
                    )
                    for resource in resources
                ],
                validate_only=validate_only,
            )
            response = await self._ask_node(node_id, request, timeout)
            for result in response.responses:
                resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
                _check(result.error_code, str(resource), result.error_message)

    async def delete_records(
        self, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Deletes the records below the given offsets; -1 means all there are. Gives each partition's first
        remaining offset. Raises: OffsetOutOfRangeError, PolicyViolationError (a compacted topic), ...
        """
        wanted = {TopicPartition(*partition): offset for partition, offset in offsets.items()}

        async def ask(leader: int, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
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
            response = await self._client.send(leader, request)
            found: dict[TopicPartition, int] = {}
            for topic in response.topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    _check(result.error_code, f"{partition}, offset {wanted[partition]}", None)
                    found[partition] = result.low_watermark
            return found

        return await self._ask_leaders(wanted, ask, "deleting records", timeout)

    async def list_offsets(
        self, specs: Mapping[TopicPartition, OffsetSpec], *, timeout: float | None = None
    ) -> dict[TopicPartition, ListedOffset]:
        """For each partition the offset of its first record ("earliest"), the one that the next record will
        get ("latest"), that of the record with the greatest timestamp ("max_timestamp"), or of the first
        record at or after a time in milliseconds. Raises: UnknownTopicOrPartitionError, ...
        """
        timestamps = {TopicPartition(*p): _timestamp(spec) for p, spec in specs.items()}

        async def ask(leader: int, partitions: list[TopicPartition]) -> dict[TopicPartition, ListedOffset]:
            request = ListOffsetsRequest(
                replica_id=NO_REPLICA,
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
            response = await self._client.send(leader, request)
            found: dict[TopicPartition, ListedOffset] = {}
            for topic in response.topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    _check(result.error_code, str(partition), None)
                    epoch = None if result.leader_epoch < 0 else result.leader_epoch
                    found[partition] = ListedOffset(result.offset, result.timestamp, epoch)
            return found

        return await self._ask_leaders(timestamps, ask, "listing offsets", timeout)

    async def _metadata(self, names: Sequence[str] | None, timeout: float | None) -> ClusterMetadata:
        request = MetadataRequest(
            topics=None
            if names is None
            else [MetadataRequest.MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
        )
        return ClusterMetadata().updated(await self._ask_any(request, timeout), keep_others=False)


def _check(code: int, context: str, message: str | None) -> None:
    if code:
        raise error_for(code, f"{context} ({message})" if message else context)


def _names(names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise MisuseError(f"topics are given as a list: [{names!r}], not {names!r}")
    return list(names)


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


def _by_node(resources: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    """Resources by the node that has to be asked: a broker for itself, any one (None) for the rest."""
    by_node: dict[int | None, list[ConfigResource]] = {}
    for resource in resources:
        is_broker = resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
        node_id = int(resource.name) if is_broker and resource.name else None
        by_node.setdefault(node_id, []).append(resource)
    return by_node


def _config_entry(entry: DescribeConfigsResponse.DescribeConfigsResourceResult) -> ConfigEntry:
    known = entry.config_source in ConfigSource.__members__.values()
    source = ConfigSource(entry.config_source) if known else ConfigSource.UNKNOWN
    is_default = entry.is_default or source is ConfigSource.DEFAULT_CONFIG
    return ConfigEntry(entry.name, entry.value, source, is_default, entry.read_only, entry.is_sensitive)


def _timestamp(spec: OffsetSpec) -> int:
    named = {"earliest": EARLIEST_OFFSET, "latest": LATEST_OFFSET, "max_timestamp": MAX_TIMESTAMP}
    if isinstance(spec, str):
        if spec not in named:
            raise MisuseError(f"{spec!r} is not one of {', '.join(named)}, nor a time in milliseconds")
        return named[spec]
    return spec
