"""The structs of fixed versions in kafka.protocol: which there are, where, and the names that their fields
have other than Kafka's.

Fields, types and their order are those of the core's messages, but that a struct of one field in a list is
that field's value. Names are given as `path=name`, or
`path=name:versions` where only some versions have it. A path is made of Kafka's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["STRUCT_MESSAGES", "StructMessage"]

_TOPICS = "topics.name=topic topics.partitions.partition_index=partition"


@dataclass(frozen=True)
class StructMessage:
    """The requests and responses of one API, in the versions that kafka-python has structs of."""

    module: str
    """Below kafka.protocol."""
    name: str
    """Of the classes, such as Metadata: MetadataRequest_v0, MetadataResponse_v0."""
    api_key: int
    highest: int
    """The highest version; the lowest is 0."""
    request: str = ""
    """Names of fields of the request."""
    response: str = ""
    constants: Mapping[str, tuple[str, Any]] = field(default_factory=dict[str, tuple[str, Any]])
    """Attributes of the requests' classes, each with the versions that have it."""
    tags_name: str = "tags"
    """Of the tagged fields in flexible versions."""
    bits: tuple[str, ...] = ()
    """Paths of numbers that are given as the set of their bits."""
    messages: tuple[str, ...] = ()
    """Paths of records that are given as a MessageSet."""
    gathered: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """By the path of a list: the name of the struct that the last so many fields of its elements are in."""


_PRODUCE = (
    "acks=required_acks timeout_ms=timeout topic_data=topics topic_data.name=topic "
    "topic_data.partition_data=partitions topic_data.partition_data.index=partition"
)
_PRODUCED = (
    "responses=topics responses.name=topic responses.partition_responses=partitions "
    "responses.partition_responses.index=partition responses.partition_responses.base_offset=offset "
    "responses.partition_responses.log_append_time_ms=timestamp"
)
_FETCHED = (
    "responses=topics responses.topic=topics responses.partitions.partition_index=partition "
    "responses.partitions.high_watermark=highwater_offset"
)
_METADATA = (
    f"{_TOPICS} topics.partitions.leader_id=leader topics.partitions.replica_nodes=replicas "
    "topics.partitions.isr_nodes=isr topics.topic_authorized_operations=authorized_operations "
    "cluster_authorized_operations=authorized_operations"
)
_COMMIT = (
    f"group_id=consumer_group:0-6 {_TOPICS} topics.partitions.committed_offset=offset "
    "topics.partitions.committed_metadata=metadata "
    "generation_id_or_member_epoch=consumer_group_generation_id:0-6 "
    "generation_id_or_member_epoch=generation_id:7 member_id=consumer_id:0-6 "
    "topics.partitions.commit_timestamp=timestamp retention_time_ms=retention_time "
    "topics.partitions.committed_leader_epoch=leader_epoch"
)
_OFFSETS_WANTED = "group_id=consumer_group topics.name=topic topics.partition_indexes=partitions"
_OFFSETS_FETCHED = (
    f"{_TOPICS} topics.partitions.committed_offset=offset "
    "topics.partitions.committed_leader_epoch=leader_epoch"
)
_GROUP = "group_id=group"
_JOIN = (
    f"{_GROUP} session_timeout_ms=session_timeout rebalance_timeout_ms=rebalance_timeout "
    "protocols=group_protocols protocols.name=protocol_name protocols.metadata=protocol_metadata"
)
_JOINED = "protocol_name=group_protocol leader=leader_id members.metadata=member_metadata"
_SYNC = f"{_GROUP} assignments=group_assignment assignments.assignment=member_metadata"
_DESCRIBED = "groups.group_id=group groups.group_state=state groups.protocol_data=protocol"
_LISTED = "groups.group_id=group"
_OFFSETS_LISTED = f"{_TOPICS} topics.partitions.old_style_offsets=offsets"
_ACL_FILTER = (
    "resource_type_filter=resource_type resource_name_filter=resource_name principal_filter=principal "
    "host_filter=host pattern_type_filter=resource_pattern_type_filter"
)
_ALTERED = (
    "resources.configs=config_entries resources.configs.name=config_name resources.configs.value=config_value"
)
_CONFIGS = (
    "results=resources results.configs=config_entries results.configs.name=config_names "
    "results.configs.value=config_value results.configs.synonyms=config_synonyms "
    "results.configs.synonyms.name=config_name results.configs.synonyms.value=config_value "
    "results.configs.synonyms.source=config_source"
)
_CREATE_TOPICS = (
    "topics=create_topic_requests topics.name=topic topics.assignments=replica_assignment "
    "topics.assignments.partition_index=partition_id topics.assignments.broker_ids=replicas "
    "topics.configs.name=config_key topics.configs.value=config_value timeout_ms=timeout"
)
_ADDED_PARTITIONS = (
    "results_by_topic_v3_and_below=results results_by_topic_v3_and_below.name=topic "
    "results_by_topic_v3_and_below.results_by_partition=partitions "
    "results_by_topic_v3_and_below.results_by_partition.partition_index=partition "
    "results_by_topic_v3_and_below.results_by_partition.partition_error_code=error_code"
)
_ADD_PARTITIONS = " ".join(
    f"v3_and_below_{each}={each}" for each in ("transactional_id", "producer_id", "producer_epoch", "topics")
)
_ADDED_ACLS = "filter_results.matching_acls.pattern_type=resource_pattern_type"


def _prefixed(prefix: str, names: str) -> str:
    return " ".join(prefix + each for each in names.split())


_OF_1 = (
    StructMessage(
        "produce",
        "Produce",
        0,
        2,
        f"{_PRODUCE} topic_data.partition_data.records=messages",
        f"{_PRODUCED} throttle_time_ms=thottle_time_ms:2",
        messages=("topic_data.partition_data.records",),
    ),
    StructMessage(
        "fetch",
        "Fetch",
        1,
        2,
        "max_wait_ms=max_wait_time topics.partitions.fetch_offset=offset "
        "topics.partitions.partition_max_bytes=max_bytes",
        f"{_FETCHED} responses.partitions.records=message_set",
        messages=("responses.partitions.records",),
    ),
    StructMessage(
        "offset",
        "Offset",
        2,
        0,
        f"{_TOPICS} topics.partitions.timestamp=time topics.partitions.max_num_offsets=max_offsets",
        _OFFSETS_LISTED,
        {"DEFAULTS": ("0+", {"replica_id": -1})},
    ),
    StructMessage("metadata", "Metadata", 3, 0, "", _METADATA),
    StructMessage(
        "commit",
        "OffsetCommit",
        8,
        2,
        _COMMIT,
        _TOPICS,
        {"DEFAULT_GENERATION_ID": ("2", -1), "DEFAULT_RETENTION_TIME": ("2", -1)},
    ),
    StructMessage("commit", "OffsetFetch", 9, 1, _OFFSETS_WANTED, _OFFSETS_FETCHED),
    StructMessage("commit", "GroupCoordinator", 10, 0, "key=consumer_group", "node_id=coordinator_id"),
    StructMessage("group", "JoinGroup", 11, 0, _JOIN, _JOINED, {"UNKNOWN_MEMBER_ID": ("0", "")}),
    StructMessage("group", "Heartbeat", 12, 0, _GROUP),
    StructMessage("group", "LeaveGroup", 13, 0, _GROUP),
    StructMessage("group", "SyncGroup", 14, 0, _SYNC, "assignment=member_assignment"),
    StructMessage("admin", "DescribeGroups", 15, 0, "", _DESCRIBED),
    StructMessage("admin", "ListGroups", 16, 0, "", _LISTED),
    StructMessage("admin", "ApiVersion", 18, 0, "", "api_keys=api_versions"),
)
_OF_2 = (
    StructMessage("produce", "Produce", 0, 8, _PRODUCE, _PRODUCED),
    StructMessage(
        "fetch",
        "Fetch",
        1,
        11,
        "max_wait_ms=max_wait_time topics.partitions.fetch_offset=offset:0-4 "
        "topics.partitions.partition_max_bytes=max_bytes",
        _FETCHED,
    ),
    StructMessage(
        "list_offsets",
        "ListOffsets",
        2,
        5,
        f"{_TOPICS} topics.partitions.max_num_offsets=max_offsets",
        _OFFSETS_LISTED,
        {"DEFAULTS": ("0+", {"replica_id": -1})},
    ),
    StructMessage(
        "metadata",
        "Metadata",
        3,
        8,
        "",
        _METADATA,
        {"ALL_TOPICS": ("1+", None), "NO_TOPICS": ("0+", [])},
        bits=("topics.topic_authorized_operations", "cluster_authorized_operations"),
    ),
    StructMessage("commit", "OffsetCommit", 8, 7, _COMMIT, _TOPICS, {"DEFAULT_RETENTION_TIME": ("2-4", -1)}),
    StructMessage("commit", "OffsetFetch", 9, 5, _OFFSETS_WANTED, _OFFSETS_FETCHED),
    StructMessage(
        "find_coordinator",
        "FindCoordinator",
        10,
        2,
        "key=consumer_group:0 key=coordinator_key:1-2 key_type=coordinator_type",
        "node_id=coordinator_id",
    ),
    StructMessage("group", "JoinGroup", 11, 5, _JOIN, _JOINED),
    StructMessage("group", "Heartbeat", 12, 3, _GROUP),
    StructMessage("group", "LeaveGroup", 13, 3, _GROUP),
    StructMessage("group", "SyncGroup", 14, 3, _SYNC, "assignment=member_assignment"),
    StructMessage("admin", "DescribeGroups", 15, 3, "", _DESCRIBED, bits=("groups.authorized_operations",)),
    StructMessage("admin", "ListGroups", 16, 2, "", _LISTED),
    StructMessage("sasl_handshake", "SaslHandshake", 17, 1, "", "mechanisms=enabled_mechanisms"),
    StructMessage(
        "api_versions", "ApiVersions", 18, 4, "", "api_keys=api_versions", tags_name="_tagged_fields"
    ),
    StructMessage("admin", "CreateTopics", 19, 3, _CREATE_TOPICS, "topics=topic_errors topics.name=topic"),
    StructMessage(
        "admin",
        "DeleteTopics",
        20,
        3,
        "topic_names=topics timeout_ms=timeout",
        "responses=topic_error_codes responses.name=topic",
    ),
    StructMessage("admin", "DeleteRecords", 21, 0),
    StructMessage("init_producer_id", "InitProducerId", 22, 1),
    StructMessage("offset_for_leader_epoch", "OffsetForLeaderEpoch", 23, 4),
    StructMessage(
        "add_partitions_to_txn",
        "AddPartitionsToTxn",
        24,
        2,
        f"{_ADD_PARTITIONS} v3_and_below_topics.name=topic",
        _ADDED_PARTITIONS,
    ),
    StructMessage("add_offsets_to_txn", "AddOffsetsToTxn", 25, 2),
    StructMessage("end_txn", "EndTxn", 26, 2),
    StructMessage(
        "txn_offset_commit",
        "TxnOffsetCommit",
        28,
        2,
        f"{_TOPICS} topics.partitions.committed_offset=offset topics.partitions.committed_metadata=metadata "
        "topics.partitions.committed_leader_epoch=leader_epoch",
        _TOPICS,
    ),
    StructMessage(
        "admin", "DescribeAcls", 29, 2, _ACL_FILTER, "resources.pattern_type=resource_pattern_type"
    ),
    StructMessage("admin", "CreateAcls", 30, 1, "", "results=creation_responses"),
    StructMessage(
        "admin",
        "DeleteAcls",
        31,
        1,
        _prefixed("filters.", _ACL_FILTER),
        f"filter_results=filter_responses {_ADDED_ACLS}",
    ),
    StructMessage("admin", "DescribeConfigs", 32, 2, "resources.configuration_keys=config_names", _CONFIGS),
    StructMessage("admin", "AlterConfigs", 33, 1, _ALTERED, "responses=resources"),
    StructMessage("admin", "DescribeLogDirs", 35, 0, "", "results=log_dirs"),
    StructMessage(
        "admin",
        "SaslAuthenticate",
        36,
        1,
        "auth_bytes=sasl_auth_bytes",
        "auth_bytes=sasl_auth_bytes",
    ),
    StructMessage("sasl_authenticate", "SaslAuthenticate", 36, 1),
    StructMessage(
        "admin",
        "CreatePartitions",
        37,
        1,
        "topics=topic_partitions topics.name=topic topics.assignments=assignment timeout_ms=timeout",
        "results=topic_errors results.name=topic",
        gathered={"topics": ("new_partitions", 2)},
    ),
    StructMessage("admin", "DeleteGroups", 42, 1),
    StructMessage(
        "admin",
        "ElectLeaders",
        43,
        1,
        "topic_partitions.partitions=partition_ids timeout_ms=timeout",
        "replica_election_results=replication_election_results",
    ),
    StructMessage("admin", "AlterPartitionReassignments", 45, 0),
    StructMessage("admin", "ListPartitionReassignments", 46, 0, "topics.partition_indexes=partition_index"),
    StructMessage("admin", "DescribeClientQuotas", 48, 0, "", "entries.values.key=name"),
)

STRUCT_MESSAGES = {"1.2": _OF_1, "2": _OF_2, "3": _OF_2}
"""By generation: 1.2 and 3 have those of 2 as well, but for what they have themselves."""
