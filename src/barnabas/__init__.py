"""A Kafka toolkit for Python.

    from barnabas import Producer, Consumer, Admin, TopicPartition, Record

`barnabas.aio` has the same clients for asyncio. Everything is imported on first use, so that
`import barnabas` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

# What type checkers take for typing's own, without what importing typing costs.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from barnabas._kernel import Delivery, Record, RecordMetadata
    from barnabas.assignor import Assignor, GroupMember
    from barnabas.client.admin.types import (
        AbortTransactionSpec,
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        AclResourceType,
        ClassicGroupDescription,
        ClassicGroupMember,
        ClientQuotaEntity,
        ClientQuotaFilter,
        ClusterDescription,
        ConfigChange,
        ConfigEntry,
        ConfigResource,
        ConfigSource,
        ConfigSynonym,
        ConfigType,
        CreatedTopic,
        DelegationToken,
        ElectionType,
        FeatureMetadata,
        FeatureUpdate,
        GroupDescription,
        GroupListing,
        ListChange,
        ListedOffset,
        ListOperation,
        LogDirDescription,
        MemberDescription,
        MemberToRemove,
        NewPartitions,
        NewTopic,
        OffsetSpec,
        PartitionReassignment,
        ProducerIdAndEpoch,
        ProducerState,
        QuorumInfo,
        QuorumReplica,
        QuotaMatch,
        RaftVoterEndpoint,
        ReplicaInfo,
        ReplicaLogDirs,
        ResourcePatternType,
        ResourceType,
        ScramCredentialInfo,
        ScramDeletion,
        ScramMechanism,
        ScramUpsertion,
        SharePartitionOffset,
        StreamsGroupDescription,
        StreamsGroupMember,
        StreamsSubtopology,
        StreamsTasks,
        StreamsTopic,
        TopicDescription,
        TopicPartitionReplica,
        TransactionDescription,
        TransactionListing,
        UpgradeType,
        VersionRange,
    )
    from barnabas.client.dead_letters import dead_letter
    from barnabas.client.share.records import ShareRecord
    from barnabas.credentials import AwsCredentials, OAuthBearerToken
    from barnabas.errors import BarnabasError
    from barnabas.interceptors import ConsumerInterceptor, ProducerInterceptor
    from barnabas.registry.columns import RegistryFormat
    from barnabas.sync.admin import Admin
    from barnabas.sync.consumer import Consumer
    from barnabas.sync.parallel import ParallelConsumer
    from barnabas.sync.producer import Producer
    from barnabas.sync.registry import Registry
    from barnabas.sync.share_consumer import ShareConsumer
    from barnabas.types import (
        GroupIdentity,
        Node,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        PartitionInfo,
        PreparedTransaction,
        ProducerRecord,
        TimestampType,
        TopicPartition,
        Watermarks,
    )

    __version__: str

__all__ = [
    "AbortTransactionSpec",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "AclResourceType",
    "Admin",
    "Assignor",
    "AwsCredentials",
    "BarnabasError",
    "ClassicGroupDescription",
    "ClassicGroupMember",
    "ClientQuotaEntity",
    "ClientQuotaFilter",
    "ClusterDescription",
    "ConfigChange",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "Consumer",
    "ConsumerInterceptor",
    "CreatedTopic",
    "DelegationToken",
    "Delivery",
    "ElectionType",
    "FeatureMetadata",
    "FeatureUpdate",
    "GroupDescription",
    "GroupIdentity",
    "GroupListing",
    "GroupMember",
    "ListChange",
    "ListOperation",
    "ListedOffset",
    "LogDirDescription",
    "MemberDescription",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "Node",
    "OAuthBearerToken",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetSpec",
    "ParallelConsumer",
    "PartitionInfo",
    "PartitionReassignment",
    "PreparedTransaction",
    "Producer",
    "ProducerIdAndEpoch",
    "ProducerInterceptor",
    "ProducerRecord",
    "ProducerState",
    "QuorumInfo",
    "QuorumReplica",
    "QuotaMatch",
    "RaftVoterEndpoint",
    "Record",
    "RecordMetadata",
    "Registry",
    "RegistryFormat",
    "ReplicaInfo",
    "ReplicaLogDirs",
    "ResourcePatternType",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramDeletion",
    "ScramMechanism",
    "ScramUpsertion",
    "ShareConsumer",
    "SharePartitionOffset",
    "ShareRecord",
    "StreamsGroupDescription",
    "StreamsGroupMember",
    "StreamsSubtopology",
    "StreamsTasks",
    "StreamsTopic",
    "TimestampType",
    "TopicDescription",
    "TopicPartition",
    "TopicPartitionReplica",
    "TransactionDescription",
    "TransactionListing",
    "UpgradeType",
    "VersionRange",
    "Watermarks",
    "dead_letter",
]

_HOMES = {
    "AbortTransactionSpec": "barnabas.client.admin.types",
    "AclBinding": "barnabas.client.admin.types",
    "AclBindingFilter": "barnabas.client.admin.types",
    "AclOperation": "barnabas.client.admin.types",
    "AclPermissionType": "barnabas.client.admin.types",
    "AclResourceType": "barnabas.client.admin.types",
    "Admin": "barnabas.sync.admin",
    "Assignor": "barnabas.assignor",
    "AwsCredentials": "barnabas.credentials",
    "BarnabasError": "barnabas.errors",
    "ClassicGroupDescription": "barnabas.client.admin.types",
    "ClassicGroupMember": "barnabas.client.admin.types",
    "ClientQuotaEntity": "barnabas.client.admin.types",
    "ClientQuotaFilter": "barnabas.client.admin.types",
    "ClusterDescription": "barnabas.client.admin.types",
    "ConfigChange": "barnabas.client.admin.types",
    "ConfigEntry": "barnabas.client.admin.types",
    "ConfigResource": "barnabas.client.admin.types",
    "ConfigSource": "barnabas.client.admin.types",
    "ConfigSynonym": "barnabas.client.admin.types",
    "ConfigType": "barnabas.client.admin.types",
    "Consumer": "barnabas.sync.consumer",
    "ConsumerInterceptor": "barnabas.interceptors",
    "CreatedTopic": "barnabas.client.admin.types",
    "DelegationToken": "barnabas.client.admin.types",
    "Delivery": "barnabas._kernel",
    "ElectionType": "barnabas.client.admin.types",
    "FeatureMetadata": "barnabas.client.admin.types",
    "FeatureUpdate": "barnabas.client.admin.types",
    "GroupDescription": "barnabas.client.admin.types",
    "GroupListing": "barnabas.client.admin.types",
    "GroupMember": "barnabas.assignor",
    "ListChange": "barnabas.client.admin.types",
    "ListOperation": "barnabas.client.admin.types",
    "ListedOffset": "barnabas.client.admin.types",
    "LogDirDescription": "barnabas.client.admin.types",
    "MemberDescription": "barnabas.client.admin.types",
    "MemberToRemove": "barnabas.client.admin.types",
    "NewPartitions": "barnabas.client.admin.types",
    "NewTopic": "barnabas.client.admin.types",
    "OAuthBearerToken": "barnabas.credentials",
    "OffsetSpec": "barnabas.client.admin.types",
    "ParallelConsumer": "barnabas.sync.parallel",
    "PartitionReassignment": "barnabas.client.admin.types",
    "PreparedTransaction": "barnabas.types",
    "Producer": "barnabas.sync.producer",
    "ProducerIdAndEpoch": "barnabas.client.admin.types",
    "ProducerInterceptor": "barnabas.interceptors",
    "ProducerState": "barnabas.client.admin.types",
    "QuorumInfo": "barnabas.client.admin.types",
    "QuorumReplica": "barnabas.client.admin.types",
    "QuotaMatch": "barnabas.client.admin.types",
    "RaftVoterEndpoint": "barnabas.client.admin.types",
    "Record": "barnabas._kernel",
    "RecordMetadata": "barnabas._kernel",
    "Registry": "barnabas.sync.registry",
    "RegistryFormat": "barnabas.registry.columns",
    "ReplicaInfo": "barnabas.client.admin.types",
    "ReplicaLogDirs": "barnabas.client.admin.types",
    "ResourcePatternType": "barnabas.client.admin.types",
    "ResourceType": "barnabas.client.admin.types",
    "ScramCredentialInfo": "barnabas.client.admin.types",
    "ScramDeletion": "barnabas.client.admin.types",
    "ScramMechanism": "barnabas.client.admin.types",
    "ScramUpsertion": "barnabas.client.admin.types",
    "ShareConsumer": "barnabas.sync.share_consumer",
    "SharePartitionOffset": "barnabas.client.admin.types",
    "ShareRecord": "barnabas.client.share.records",
    "StreamsGroupDescription": "barnabas.client.admin.types",
    "StreamsGroupMember": "barnabas.client.admin.types",
    "StreamsSubtopology": "barnabas.client.admin.types",
    "StreamsTasks": "barnabas.client.admin.types",
    "StreamsTopic": "barnabas.client.admin.types",
    "TopicDescription": "barnabas.client.admin.types",
    "TopicPartitionReplica": "barnabas.client.admin.types",
    "TransactionDescription": "barnabas.client.admin.types",
    "TransactionListing": "barnabas.client.admin.types",
    "UpgradeType": "barnabas.client.admin.types",
    "VersionRange": "barnabas.client.admin.types",
    "dead_letter": "barnabas.client.dead_letters",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("barnabas._kernel").VERSION
    if name in ("aio", "formats", "serializers"):
        return import_module(f"barnabas.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'barnabas' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "barnabas.types")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
