"""The requests and responses of kafka-python 3's kafka.protocol: which module has which, by Kafka's names
without Request and Response."""

from __future__ import annotations

__all__ = ["API_MESSAGES"]

API_MESSAGES: dict[str, tuple[str, ...]] = {
    "metadata.api_versions": ("ApiVersions",),
    "metadata.find_coordinator": ("FindCoordinator",),
    "metadata.metadata": ("Metadata",),
    "producer.produce": ("Produce",),
    "producer.transaction": (
        *("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
        "WriteTxnMarkers",
    ),
    "consumer.fetch": ("Fetch",),
    "consumer.group": (
        *("JoinGroup", "SyncGroup", "LeaveGroup", "Heartbeat", "OffsetFetch", "OffsetCommit"),
        "OffsetDelete",
    ),
    "consumer.offsets": ("ListOffsets", "OffsetForLeaderEpoch"),
    "admin.acl": ("CreateAcls", "DeleteAcls", "DescribeAcls"),
    "admin.client_quotas": ("AlterClientQuotas", "DescribeClientQuotas"),
    "admin.cluster": (
        *("DescribeCluster", "DescribeLogDirs", "AlterReplicaLogDirs", "DescribeQuorum", "UpdateFeatures"),
    ),
    "admin.configs": ("AlterConfigs", "DescribeConfigs", "IncrementalAlterConfigs", "ListConfigResources"),
    "admin.groups": ("DescribeGroups", "ListGroups", "DeleteGroups"),
    "admin.topics": (
        *("CreateTopics", "DeleteTopics", "CreatePartitions", "AlterPartitionReassignments"),
        *("ListPartitionReassignments", "DescribeTopicPartitions", "DeleteRecords", "ElectLeaders"),
    ),
    "admin.transactions": ("ListTransactions", "DescribeTransactions", "DescribeProducers"),
    "admin.users": ("AlterUserScramCredentials", "DescribeUserScramCredentials"),
    "sasl": ("SaslHandshake", "SaslAuthenticate"),
}
"""By the module below kafka.protocol. A package has what its modules have."""
