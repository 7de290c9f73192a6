"""What `kafka.admin` has in each generation: its names, and the members of enumerations that differ. Knows no
values."""

from __future__ import annotations

from collections.abc import Mapping

ADMIN_NAMES_OF_2 = (
    *("ACL", "ACLFilter", "ACLOperation", "ACLPermissionType", "ACLResourcePatternType", "ConfigResource"),
    *("ConfigResourceType", "KafkaAdminClient", "NewPartitions", "NewTopic", "ResourcePattern"),
    *("ResourcePatternFilter", "ResourceType"),
)
ADMIN_NAMES_OF_3 = (
    *("ACL", "ACLFilter", "ACLOperation", "ACLPermissionType", "ACLResourcePatternType"),
    *("AbortTransactionSpec", "AlterConfigOp", "ConfigResource", "ConfigResourceType", "ConfigSourceType"),
    *("ConfigType", "GroupState", "GroupType", "KafkaAdminClient", "MemberToRemove", "OffsetSpec"),
    *("OffsetTimestamp", "PartitionProducerState", "ProducerState", "ResourcePattern"),
    *("ResourcePatternFilter", "ResourceType", "ScramMechanism", "TransactionDescription"),
    *("TransactionListing", "TransactionState", "UpdateFeatureType", "UserScramCredentialDeletion"),
    "UserScramCredentialUpsertion",
)

CONFIG_RESOURCE_TYPES_OF_2: Mapping[str, int] = {"BROKER": 4, "TOPIC": 2}
CONFIG_RESOURCE_TYPES_OF_3: Mapping[str, int] = {
    "UNKNOWN": 0,
    "TOPIC": 2,
    "BROKER": 4,
    "BROKER_LOGGER": 8,
    "CLIENT_METRICS": 16,
    "GROUP": 32,
}

ACL_RESOURCE_TYPES_OF_2: Mapping[str, int] = {
    "UNKNOWN": 0,
    "ANY": 1,
    "CLUSTER": 4,
    "DELEGATION_TOKEN": 6,
    "GROUP": 3,
    "TOPIC": 2,
    "TRANSACTIONAL_ID": 5,
}
ACL_RESOURCE_TYPES_OF_3: Mapping[str, int] = {
    "UNKNOWN": 0,
    "ANY": 1,
    "TOPIC": 2,
    "GROUP": 3,
    "CLUSTER": 4,
    "TRANSACTIONAL_ID": 5,
    "DELEGATION_TOKEN": 6,
    "USER": 7,
}

_ACL_OPERATIONS: Mapping[str, int] = {
    "UNKNOWN": 0,
    "ANY": 1,
    "ALL": 2,
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
    "CREATE_TOKENS": 13,
}
ACL_OPERATIONS_OF_2: Mapping[str, int] = {**_ACL_OPERATIONS, "DESCRIBE_TOKENS": 13}
"""With a number for DESCRIBE_TOKENS that is Kafka's for CREATE_TOKENS."""
ACL_OPERATIONS_OF_3: Mapping[str, int] = {**_ACL_OPERATIONS, "DESCRIBE_TOKENS": 14}
