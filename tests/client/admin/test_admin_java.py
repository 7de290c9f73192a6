"""Each call of Kafka's own Admin has its counterpart here, or a reason why not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from barnabas import Admin, aio
from barnabas.testing.distribution import KafkaDistribution

JAVA_INTERFACE = "org.apache.kafka.clients.admin.Admin"

COUNTERPARTS = {
    "abortTransaction": "abort_transaction",
    "addRaftVoter": "add_raft_voter",
    "alterClientQuotas": "alter_client_quotas",
    "alterConsumerGroupOffsets": "alter_group_offsets",
    "alterPartitionReassignments": "alter_partition_reassignments",
    "alterReplicaLogDirs": "alter_replica_log_dirs",
    "alterShareGroupOffsets": "alter_share_group_offsets",
    "alterStreamsGroupOffsets": "alter_group_offsets",
    "alterUserScramCredentials": "alter_user_scram_credentials",
    "clientInstanceId": "client_instance_id",
    "close": "close",
    "createAcls": "create_acls",
    "createDelegationToken": "create_delegation_token",
    "createPartitions": "create_partitions",
    "createTopics": "create_topics",
    "deleteAcls": "delete_acls",
    "deleteConsumerGroupOffsets": "delete_group_offsets",
    "deleteConsumerGroups": "delete_groups",
    "deleteRecords": "delete_records",
    "deleteShareGroupOffsets": "delete_share_group_offsets",
    "deleteShareGroups": "delete_groups",
    "deleteStreamsGroupOffsets": "delete_group_offsets",
    "deleteStreamsGroups": "delete_groups",
    "deleteTopics": "delete_topics",
    "describeAcls": "describe_acls",
    "describeClassicGroups": "describe_classic_groups",
    "describeClientQuotas": "describe_client_quotas",
    "describeCluster": "describe_cluster",
    "describeConfigs": "describe_configs",
    "describeConsumerGroups": "describe_groups",
    "describeDelegationToken": "describe_delegation_tokens",
    "describeFeatures": "describe_features",
    "describeLogDirs": "describe_log_dirs",
    "describeMetadataQuorum": "describe_metadata_quorum",
    "describeProducers": "describe_producers",
    "describeReplicaLogDirs": "describe_replica_log_dirs",
    "describeShareGroups": "describe_share_groups",
    "describeStreamsGroups": "describe_streams_groups",
    "describeTopics": "describe_topics",
    "describeTransactions": "describe_transactions",
    "describeUserScramCredentials": "describe_user_scram_credentials",
    "electLeaders": "elect_leaders",
    "expireDelegationToken": "expire_delegation_token",
    "fenceProducers": "fence_producers",
    "forceTerminateTransaction": "force_terminate_transaction",
    "incrementalAlterConfigs": "alter_configs",
    "listClientMetricsResources": "list_config_resources",
    "listConfigResources": "list_config_resources",
    "listConsumerGroupOffsets": "list_offsets_of_groups",
    "listConsumerGroups": "list_groups",
    "listGroups": "list_groups",
    "listOffsets": "list_offsets",
    "listPartitionReassignments": "list_partition_reassignments",
    "listShareGroupOffsets": "list_share_group_offsets",
    "listStreamsGroupOffsets": "list_offsets_of_groups",
    "listTopics": "list_topics",
    "listTransactions": "list_transactions",
    "metrics": "stats",
    "removeMembersFromConsumerGroup": "remove_members",
    "removeRaftVoter": "remove_raft_voter",
    "renewDelegationToken": "renew_delegation_token",
    "unregisterBroker": "unregister_broker",
    "updateFeatures": "update_features",
}

WITHOUT_COUNTERPART = {
    "create": "the constructor",
    "registerMetricForSubscription": "a metric of the application is not pushed to brokers",
    "unregisterMetricFromSubscription": "a metric of the application is not pushed to brokers",
}


def java_methods() -> set[str]:
    (clients,) = (jar for jar in KafkaDistribution().jars if jar.name.startswith("kafka-clients-"))
    listed = subprocess.run(
        ["javap", "-cp", str(clients), JAVA_INTERFACE], capture_output=True, text=True, timeout=60, check=True
    )
    return set(re.findall(r"\b(\w+)\(", listed.stdout))


def test_each_call_of_javas_admin_has_a_counterpart_or_a_reason() -> None:
    assert java_methods() == COUNTERPARTS.keys() | WITHOUT_COUNTERPART.keys()


@pytest.mark.parametrize("name", sorted(set(COUNTERPARTS.values())))
def test_each_counterpart_is_there_for_asyncio_and_for_plain_calls(name: str) -> None:
    assert callable(getattr(Admin, name))
    assert callable(getattr(aio.Admin, name))


def test_both_admins_have_the_same_calls_with_the_same_documentation() -> None:
    def calls(admin: type) -> dict[str, str | None]:
        return {name: getattr(admin, name).__doc__ for name in dir(admin) if not name.startswith("_")}

    assert calls(Admin) == calls(aio.Admin)


def test_the_table_in_the_documentation_names_each_call() -> None:
    text = (Path(__file__).parents[3] / "docs" / "admin.md").read_text()
    missing = [name for name in set(COUNTERPARTS.values()) if f"`{name}`" not in text]
    assert not missing
