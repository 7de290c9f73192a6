"""Topics and their partitions, records and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.client.admin.requests.common import Answer, by_topic
from barnabas.client.admin.types import CreatedTopic, ListedOffset, NewPartitions, NewTopic, TopicDescription
from barnabas.client.admin.types.acls import authorized_operations
from barnabas.client.cluster.metadata import ClusterMetadata
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from barnabas.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.types import TopicPartition

HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE = 5
LAST_METADATA_WITH_CLUSTER_OPERATIONS = 10
"""Later versions leave operations on the cluster to DescribeCluster."""
NO_REPLICA = -1
ASSIGNED_BY_HAND = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


def create_topics(topics: Iterable[NewTopic], *, timeout_ms: int, validate_only: bool) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics], timeout_ms=timeout_ms, validate_only=validate_only
    )


def created_topics(response: CreateTopicsResponse) -> list[Answer[str, CreatedTopic]]:
    return [
        Answer(topic.name, _created(topic), topic.error_code, topic.error_message)
        for topic in response.topics
    ]


def delete_topics(names: Iterable[str], *, timeout_ms: int) -> DeleteTopicsRequest:
    """All brokers speak HIGHEST_DELETE_TOPICS_WITH_NAMES_ALONE; the later versions add topic ids."""
    return DeleteTopicsRequest(topics=[], topic_names=list(names), timeout_ms=timeout_ms)


def deleted_topics(response: DeleteTopicsResponse) -> list[Answer[str, None]]:
    return [
        Answer(topic.name or "", None, topic.error_code, topic.error_message) for topic in response.responses
    ]


def create_partitions(
    totals: Iterable[tuple[str, NewPartitions]], *, timeout_ms: int, validate_only: bool
) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(
        topics=[
            CreatePartitionsRequest.CreatePartitionsTopic(
                name=name,
                count=wanted.total_count,
                assignments=None
                if wanted.new_assignments is None
                else [
                    CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=list(node_ids))
                    for node_ids in wanted.new_assignments
                ],
            )
            for name, wanted in totals
        ],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )


def created_partitions(response: CreatePartitionsResponse) -> list[Answer[str, None]]:
    return [Answer(topic.name, None, topic.error_code, topic.error_message) for topic in response.results]


def describe_topics(names: Iterable[str] | None, *, include_operations: bool = False) -> MetadataRequest:
    """None: all topics."""
    return MetadataRequest(
        topics=None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=include_operations,
    )


def described_topics(response: MetadataResponse) -> list[Answer[str, TopicDescription]]:
    known = ClusterMetadata().updated(response, keep_others=False)
    return [
        Answer(topic.name, described_topic(topic, known), topic.error_code)
        for topic in response.topics
        if topic.name is not None
    ]


def described_topic(
    topic: MetadataResponse.MetadataResponseTopic, known: ClusterMetadata
) -> TopicDescription:
    """`known` is what the same answer says of the cluster."""
    name = topic.name or ""
    return TopicDescription(
        name,
        topic.topic_id,
        topic.is_internal,
        tuple(known.partitions_for(name)),
        authorized_operations(topic.topic_authorized_operations),
    )


def describe_brokers(*, include_operations: bool = False) -> MetadataRequest:
    """The cluster without its topics. Operations are told up to LAST_METADATA_WITH_CLUSTER_OPERATIONS."""
    return MetadataRequest(
        topics=[],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=include_operations,
    )


def delete_records(offsets: Mapping[TopicPartition, int], *, timeout_ms: int) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsRequest.DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsRequest.DeleteRecordsPartition(
                        partition_index=p.partition, offset=offsets[p]
                    )
                    for p in partitions
                ],
            )
            for topic, partitions in by_topic(offsets).items()
        ],
        timeout_ms=timeout_ms,
    )


def deleted_records(response: DeleteRecordsResponse) -> list[Answer[TopicPartition, int]]:
    """The first offset that remains in each partition."""
    return [
        Answer(TopicPartition(topic.name, result.partition_index), result.low_watermark, result.error_code)
        for topic in response.topics
        for result in topic.partitions
    ]


def list_offsets(
    timestamps: Mapping[TopicPartition, int], *, isolation_level: int, timeout_ms: int
) -> ListOffsetsRequest:
    """`isolation_level`: READ_UNCOMMITTED or READ_COMMITTED."""
    return ListOffsetsRequest(
        replica_id=NO_REPLICA,
        isolation_level=isolation_level,
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsRequest.ListOffsetsPartition(
                        partition_index=p.partition, timestamp=timestamps[p]
                    )
                    for p in partitions
                ],
            )
            for topic, partitions in by_topic(timestamps).items()
        ],
        timeout_ms=timeout_ms,
    )


def listed_offsets(response: ListOffsetsResponse) -> list[Answer[TopicPartition, ListedOffset]]:
    return [
        Answer(
            TopicPartition(topic.name, found.partition_index),
            ListedOffset(
                found.offset, found.timestamp, None if found.leader_epoch < 0 else found.leader_epoch
            ),
            found.error_code,
        )
        for topic in response.topics
        for found in topic.partitions
    ]


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
