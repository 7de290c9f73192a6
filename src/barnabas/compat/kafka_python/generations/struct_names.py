"""What kafka-python 2 calls the fields of the messages that KafkaAdminClient gives and sends, where Kafka
calls them otherwise. Knows no values."""

from __future__ import annotations

from collections.abc import Mapping

STRUCT_NAMES: Mapping[str, Mapping[str, str]] = {
    "AlterConfigsResponse": {"responses": "resources"},
    "CreatePartitionsRequest": {
        "topics": "topic_partitions",
        "topics.name": "topic",
        "timeout_ms": "timeout",
    },
    "CreatePartitionsResponse": {"results": "topic_errors", "results.name": "topic"},
    "CreateTopicsRequest": {
        "topics": "create_topic_requests",
        "topics.name": "topic",
        "topics.assignments": "replica_assignment",
        "topics.assignments.partition_index": "partition_id",
        "topics.assignments.broker_ids": "replicas",
        "topics.configs.name": "config_key",
        "topics.configs.value": "config_value",
        "timeout_ms": "timeout",
    },
    "CreateTopicsResponse": {"topics": "topic_errors", "topics.name": "topic"},
    "DeleteTopicsRequest": {"topic_names": "topics", "timeout_ms": "timeout"},
    "DeleteTopicsResponse": {"responses": "topic_error_codes", "responses.name": "topic"},
    "DescribeAclsRequest": {
        "resource_type_filter": "resource_type",
        "resource_name_filter": "resource_name",
        "pattern_type_filter": "resource_pattern_type_filter",
        "principal_filter": "principal",
        "host_filter": "host",
    },
    "DescribeAclsResponse": {"resources.pattern_type": "resource_pattern_type"},
    "DescribeConfigsResponse": {
        "results": "resources",
        "results.configs": "config_entries",
        "results.configs.name": "config_names",
        "results.configs.value": "config_value",
        "results.configs.synonyms": "config_synonyms",
        "results.configs.synonyms.name": "config_name",
        "results.configs.synonyms.value": "config_value",
        "results.configs.synonyms.source": "config_source",
    },
    "DescribeGroupsResponse": {
        "groups.group_id": "group",
        "groups.group_state": "state",
        "groups.protocol_data": "protocol",
    },
    "DescribeLogDirsResponse": {"results": "log_dirs"},
    "ElectLeadersRequest": {"topic_partitions.partitions": "partition_ids", "timeout_ms": "timeout"},
    "ElectLeadersResponse": {"replica_election_results": "replication_election_results"},
    "ListGroupsResponse": {"groups.group_id": "group"},
    "MetadataResponse": {
        "topics.name": "topic",
        "topics.partitions.partition_index": "partition",
        "topics.partitions.leader_id": "leader",
        "topics.partitions.replica_nodes": "replicas",
        "topics.partitions.isr_nodes": "isr",
        "topics.topic_authorized_operations": "authorized_operations",
        "cluster_authorized_operations": "authorized_operations",
    },
    "OffsetFetchResponse": {
        "topics.name": "topic",
        "topics.partitions.partition_index": "partition",
        "topics.partitions.committed_offset": "offset",
        "topics.partitions.committed_leader_epoch": "leader_epoch",
    },
}
"""By a message's name and the path of Kafka's names to a field: its name in kafka-python 2."""

BIT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "DescribeGroupsResponse": ("groups.authorized_operations",),
    "MetadataResponse": ("topics.topic_authorized_operations", "cluster_authorized_operations"),
}
"""The fields that are sets of the numbers of their bits."""

STRUCT_VERSIONS: Mapping[str, int] = {
    "AlterConfigs": 1,
    "CreateAcls": 1,
    "CreatePartitions": 1,
    "CreateTopics": 3,
    "DeleteAcls": 1,
    "DeleteGroups": 1,
    "DeleteRecords": 0,
    "DeleteTopics": 3,
    "DescribeAcls": 1,
    "DescribeConfigs": 2,
    "DescribeGroups": 3,
    "DescribeLogDirs": 0,
    "ElectLeaders": 1,
    "FindCoordinator": 2,
    "ListGroups": 2,
    "Metadata": 8,
    "OffsetFetch": 5,
}
"""The newest version of each message that kafka-python 2 asks for, by Kafka's name for it."""
