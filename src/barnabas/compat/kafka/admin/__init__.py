"""KafkaAdminClient and what it takes and gives. Names that only other generations have are there in each."""

from barnabas.compat.kafka.admin._acls import ACL as ACL
from barnabas.compat.kafka.admin._acls import ACLFilter as ACLFilter
from barnabas.compat.kafka.admin._acls import ACLOperation as ACLOperation
from barnabas.compat.kafka.admin._acls import ACLPermissionType as ACLPermissionType
from barnabas.compat.kafka.admin._acls import ResourcePattern as ResourcePattern
from barnabas.compat.kafka.admin._acls import ResourcePatternFilter as ResourcePatternFilter
from barnabas.compat.kafka.admin._acls import ResourceType as ResourceType
from barnabas.compat.kafka.admin._cluster import UpdateFeatureType as UpdateFeatureType
from barnabas.compat.kafka.admin._configs import AlterConfigOp as AlterConfigOp
from barnabas.compat.kafka.admin._configs import ConfigFilterType as ConfigFilterType
from barnabas.compat.kafka.admin._configs import ConfigResource as ConfigResource
from barnabas.compat.kafka.admin._configs import ConfigResourceType as ConfigResourceType
from barnabas.compat.kafka.admin._configs import ConfigSourceType as ConfigSourceType
from barnabas.compat.kafka.admin._configs import ConfigType as ConfigType
from barnabas.compat.kafka.admin._groups import GroupState as GroupState
from barnabas.compat.kafka.admin._groups import GroupType as GroupType
from barnabas.compat.kafka.admin._groups import MemberToRemove as MemberToRemove
from barnabas.compat.kafka.admin._partitions import NewPartitions as NewPartitions
from barnabas.compat.kafka.admin._topics import NewTopic as NewTopic
from barnabas.compat.kafka.admin._transactions import AbortTransactionSpec as AbortTransactionSpec
from barnabas.compat.kafka.admin._transactions import PartitionProducerState as PartitionProducerState
from barnabas.compat.kafka.admin._transactions import ProducerState as ProducerState
from barnabas.compat.kafka.admin._transactions import TransactionDescription as TransactionDescription
from barnabas.compat.kafka.admin._transactions import TransactionListing as TransactionListing
from barnabas.compat.kafka.admin._transactions import TransactionState as TransactionState
from barnabas.compat.kafka.admin._users import ScramMechanism as ScramMechanism
from barnabas.compat.kafka.admin._users import UserScramCredentialDeletion as UserScramCredentialDeletion
from barnabas.compat.kafka.admin._users import UserScramCredentialUpsertion as UserScramCredentialUpsertion
from barnabas.compat.kafka.admin.client import KafkaAdminClient as KafkaAdminClient
from barnabas.compat.kafka.protocol.admin.acl import ACLResourcePatternType as ACLResourcePatternType
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetSpec as OffsetSpec
from barnabas.compat.kafka.protocol.consumer.offsets import OffsetTimestamp as OffsetTimestamp
from barnabas.compat.kafka_engine.generations import generation

__all__ = generation().admin_names  # pyright: ignore[reportUnsupportedDunderAll] each generation has its own
