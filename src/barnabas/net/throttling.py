"""Which answers say that the client has to wait. Knows nothing of how it does."""

from __future__ import annotations

# KIP-219: the first version in whose answer throttle_time_ms means that the client has to wait; before it the
# broker has waited already. All versions of the requests that are not named here mean the former.
FIRST_THROTTLED_VERSION = {
    "Produce": 6,
    "Fetch": 8,
    "ListOffsets": 3,
    "Metadata": 6,
    "OffsetCommit": 4,
    "OffsetFetch": 4,
    "FindCoordinator": 2,
    "JoinGroup": 3,
    "Heartbeat": 2,
    "LeaveGroup": 2,
    "SyncGroup": 2,
    "DescribeGroups": 2,
    "ListGroups": 2,
    "ApiVersions": 2,
    "CreateTopics": 3,
    "DeleteTopics": 2,
    "DeleteRecords": 1,
    "InitProducerId": 1,
    "AddPartitionsToTxn": 1,
    "AddOffsetsToTxn": 1,
    "EndTxn": 1,
    "TxnOffsetCommit": 1,
    "DescribeAcls": 1,
    "CreateAcls": 1,
    "DeleteAcls": 1,
    "DescribeConfigs": 2,
    "AlterConfigs": 1,
    "AlterReplicaLogDirs": 1,
    "DescribeLogDirs": 1,
    "CreatePartitions": 1,
    "CreateDelegationToken": 1,
    "RenewDelegationToken": 1,
    "ExpireDelegationToken": 1,
    "DescribeDelegationToken": 1,
    "DeleteGroups": 1,
}
