"""What AdminClient refuses before it asks anyone, with the complaints of the original.

Pure. Programs are not checked by types, so all arguments here may be anything.
"""

# pyright: basic
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.compat.confluent_kafka._model import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    TopicCollection,
)
from barnabas.compat.confluent_kafka.admin._acl import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from barnabas.compat.confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry
from barnabas.compat.confluent_kafka.admin._listoffsets import OffsetSpec
from barnabas.compat.confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from barnabas.compat.confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from barnabas.compat.librdkafka.cluster.new_topics import BROKER_DEFAULT, NewPartitions, NewTopic
from barnabas.compat.librdkafka.values.constants import OFFSET_INVALID
from barnabas.compat.librdkafka.values.topic_partition import TopicPartition

MOST_PARTITIONS = 100_000
MOST_REPLICAS = 10_000
NEW_TOPIC_ASSIGNMENT = "replica_assignment must be a list of int lists with an outer size of num_partitions"
NEW_PARTITIONS_ASSIGNMENT = (
    "replica_assignment must be a list of int lists with an outer size of new_total_count - existing "
    "partition count"
)


def check_filled(items: Any, what: str) -> None:
    """This alone is looked at before whether the client is closed; the others below are after that."""
    if not isinstance(items, list) or not items:
        raise ValueError(f"Expected non-empty list of {what}")


def check_new_topics(topics: Any) -> None:
    _check_list_of(topics, NewTopic, "NewTopic")
    for topic in topics:
        by_hand = topic.replica_assignment
        if by_hand is not None:
            if topic.replication_factor != BROKER_DEFAULT:
                raise ValueError("replication_factor and replica_assignment are mutually exclusive")
            if topic.num_partitions == BROKER_DEFAULT:
                raise ValueError(
                    "Specifying a default partition count and a replica assignment are mutually exclusive"
                )
        if topic.num_partitions != BROKER_DEFAULT and not 0 <= topic.num_partitions <= MOST_PARTITIONS:
            raise ValueError(
                f"Invalid NewTopic({topic.topic}): num_partitions out of expected range 1..100000 or -1 for "
                "broker default"
            )
        if not BROKER_DEFAULT <= topic.replication_factor <= MOST_REPLICAS:
            raise ValueError(
                f"Invalid NewTopic({topic.topic}): replication_factor out of expected range -1..10000"
            )
        if by_hand is not None:
            _check_assignment(by_hand, NEW_TOPIC_ASSIGNMENT, topic.num_partitions)


def check_topic_names(names: Any) -> None:
    for name in names:
        if name is None:
            raise ValueError("Expected list of topic strings, not NoneType")


def check_new_partitions(wanted: Any) -> None:
    _check_list_of(wanted, NewPartitions, "NewPartitions")
    for topic in wanted:
        if not 1 <= topic.new_total_count <= MOST_PARTITIONS:
            raise ValueError(
                f"Invalid NewPartitions({topic.topic}): new_total_cnt out of expected range 1..100000"
            )
        by_hand = topic.replica_assignment
        if by_hand is not None:
            _check_assignment(by_hand, NEW_PARTITIONS_ASSIGNMENT, None)
            if len(by_hand) > topic.new_total_count:
                raise ValueError(NEW_PARTITIONS_ASSIGNMENT)


def check_described_topics(names: Any) -> None:
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"Expected list of topics strings, not {type(name).__name__}")
        if not name:
            raise ValueError(f"Empty topic name at index {index} isn't allowed")


def topic_names_of(topics: Any) -> Any:
    if not isinstance(topics, TopicCollection):
        raise TypeError("Expected input to be instance of TopicCollection")
    if not isinstance(topics.topic_names, list):
        raise TypeError("Expected list of topic names to be described")
    return topics.topic_names


def check_resources(resources: Any) -> None:
    for resource in resources:
        _check_text(resource, "name")
        if not resource.name:
            raise ValueError(f"Invalid ConfigResource({resource.restype_int},{resource.name})")


def check_incremental(resources: Any) -> None:
    check_resources(resources)
    for resource in resources:
        if not resource.incremental_configs:
            raise ValueError(
                "expected non-empty list of ConfigEntry to alter incrementally in incremental_configs field"
            )
        for index, entry in enumerate(resource.incremental_configs):
            if not isinstance(entry, ConfigEntry):
                raise TypeError(f"expected ConfigEntry type in incremental_configs field, index {index}")
            operation = entry.incremental_operation
            if not isinstance(operation, AlterConfigOpType):
                raise TypeError("Required attribute .value missing")
            _check_text(entry, "name")
            if operation is not AlterConfigOpType.DELETE:
                _check_text(entry, "value")


def check_new_acls(acls: Any) -> None:
    for acl in acls:
        for attribute in ("name", "principal", "host"):
            if not isinstance(getattr(acl, attribute), str):
                raise TypeError(f"Expected .{attribute} to be str type, not {_type_name(acl, attribute)}")
        if acl.restype_int in (ResourceType.UNKNOWN.value, ResourceType.ANY.value):
            raise ValueError("Invalid resource type")
        if acl.resource_pattern_type_int not in (
            ResourcePatternType.LITERAL.value,
            ResourcePatternType.PREFIXED.value,
        ):
            raise ValueError("Invalid resource pattern type")
        if acl.operation_int in (AclOperation.UNKNOWN.value, AclOperation.ANY.value):
            raise ValueError("Invalid operation")
        if acl.permission_type_int in (AclPermissionType.UNKNOWN.value, AclPermissionType.ANY.value):
            raise ValueError("Invalid permission type")


def check_acl_filter(wanted: Any) -> None:
    if not isinstance(wanted, AclBindingFilter):
        raise TypeError("Expected an AclBindingFilter object")


def check_all_different(items: Iterable[Any], what: str) -> None:
    items = list(items)
    if len(set(items)) != len(items):
        raise ValueError(f"duplicate {what} not allowed")


def check_groups(group_ids: Any, purpose: str) -> None:
    if not isinstance(group_ids, list):
        raise TypeError(f"Expected input to be list of group ids to be {purpose}")
    if not group_ids:
        raise ValueError(f"Expected at least one group to be {purpose}")


def check_described_groups(group_ids: Any) -> None:
    for group_id in group_ids:
        if group_id is None:
            raise ValueError("Expected list of group strings, not NoneType")


def check_members(given: Any, name: str, kind: type[ConsumerGroupState | ConsumerGroupType]) -> Any:
    """The members of an enumeration that are to be listed; none for all."""
    if given is None:
        return ()
    if not isinstance(given, set):
        raise TypeError(f"'{name}' must be a set")
    if any(not isinstance(member, kind) for member in given):
        raise TypeError(f"All elements of {name} must be of type {kind.__name__}")
    if ConsumerGroupType.UNKNOWN in given:
        raise ValueError("UNKNOWN type is not allowed")
    return sorted(given)


def check_listed_group_offsets(request: Any) -> None:
    for wanted in _group_requests(request, "listing"):
        if wanted.topic_partitions is None:
            continue
        if not isinstance(wanted.topic_partitions, list):
            raise TypeError("'topic_partitions' must be a list or None")
        for partition in _group_partitions(wanted.topic_partitions):
            if partition.partition < 0:
                raise ValueError("Element of 'topic_partitions' must not have negative 'partition' value")
            if partition.offset != OFFSET_INVALID:
                raise ValueError("Element of 'topic_partitions' must not have 'offset' value")


def check_altered_group_offsets(request: Any) -> None:
    for wanted in _group_requests(request, "altering"):
        if wanted.topic_partitions is None:
            raise ValueError("'topic_partitions' cannot be null")
        if not isinstance(wanted.topic_partitions, list):
            raise TypeError("'topic_partitions' must be a list")
        for partition in _group_partitions(wanted.topic_partitions):
            for field in ("partition", "offset"):
                if getattr(partition, field) < 0:
                    raise ValueError(
                        f"Element of 'topic_partitions' must not have negative value for '{field}' field"
                    )


def check_users(users: Any) -> None:
    if users is None:
        return
    if not isinstance(users, list):
        raise TypeError("Expected input to be list of String")
    for user in users:
        if user is None:
            raise TypeError("'user' cannot be None")
        if not isinstance(user, str):
            raise TypeError("Each value should be a string")
        if not user:
            raise ValueError("'user' cannot be empty")


def check_alterations(alterations: Any) -> None:
    if not isinstance(alterations, list):
        raise TypeError("Expected input to be list")
    if not alterations:
        raise ValueError("Expected at least one alteration")
    for alteration in alterations:
        if not isinstance(alteration, UserScramCredentialAlteration):
            raise TypeError("Expected each element of list to be subclass of UserScramCredentialAlteration")
        _check_filled(alteration.user, "user", str, "a string")
        if isinstance(alteration, UserScramCredentialUpsertion):
            _check_upsertion(alteration)
        elif isinstance(alteration, UserScramCredentialDeletion):
            _check_mechanism(alteration.mechanism)
        else:
            raise TypeError(
                "Expected each element of list 'alterations' to be either a UserScramCredentialUpsertion or "
                "a UserScramCredentialDeletion"
            )


def check_listed_offsets(specs: Any, options: dict[str, Any]) -> None:
    if not isinstance(specs, dict):
        raise TypeError(
            "Expected topic_partition_offsets to be dict of [TopicPartitions,OffsetSpec] for list offsets "
            "request"
        )
    for partition, spec in specs.items():
        if partition is None:
            raise TypeError("partition cannot be None")
        if not isinstance(partition, TopicPartition):
            raise TypeError("partition must be a TopicPartition")
        if not partition.topic:
            raise ValueError("partition topic name cannot be empty")
        if partition.partition < 0:
            raise ValueError("partition index must be non-negative")
        if spec is None:
            raise TypeError("OffsetSpec cannot be None")
        if not isinstance(spec, OffsetSpec):
            raise TypeError("Value must be a OffsetSpec")
    if "isolation_level" in options and not isinstance(options["isolation_level"], IsolationLevel):
        raise TypeError("isolation_level argument should be an IsolationLevel")


def check_deleted_records(partitions: Any) -> None:
    if not isinstance(partitions, list):
        raise TypeError(f"Expected Request to be a list, got '{type(partitions).__name__}' ")
    for partition in partitions:
        if not isinstance(partition, TopicPartition):
            raise TypeError(
                "Element of the request list must be of type 'TopicPartition' got "
                f"'{type(partition).__name__}' "
            )
        if partition.partition < 0:
            raise ValueError("'partition' cannot be negative")


def check_election(election_type: Any, partitions: Any) -> None:
    if not isinstance(election_type, ElectionType):
        raise TypeError("Expected 'election_type' to be of type 'ElectionType'")
    if partitions is None:
        return
    if not isinstance(partitions, list):
        raise TypeError(f"Expected 'partitions' to be a list, got '{type(partitions).__name__}'")
    for partition in partitions:
        if not isinstance(partition, TopicPartition):
            raise TypeError(
                "Element of the 'partitions' list must be of type 'TopicPartition' got "
                f"'{type(partition).__name__}' "
            )
        if partition.partition < 0:
            raise ValueError(
                "Elements of the 'partitions' list must not have negative value for 'partition' field"
            )


def check_keys(keys: Iterable[Any], kind: type, complaint: type[Exception]) -> None:
    """All keys of a call's futures must be of one class."""
    for key in keys:
        if not isinstance(key, kind):
            raise complaint(f"Expected list of {kind!r}")


def _check_list_of(items: Any, kind: type, name: str) -> None:
    if any(not isinstance(item, kind) for item in items):
        raise ValueError(f"Expected list of {name} objects")


def _check_assignment(by_hand: Any, complaint: str, count: int | None) -> None:
    if not isinstance(by_hand, list) or (count is not None and len(by_hand) != count):
        raise ValueError(complaint)
    for brokers in by_hand:
        if not isinstance(brokers, list) or not brokers:
            raise ValueError(complaint)
        if any(not isinstance(broker, int) for broker in brokers):
            raise ValueError(complaint)


def _check_text(owner: Any, attribute: str) -> None:
    if not isinstance(getattr(owner, attribute), str):
        raise TypeError(f"Expected .{attribute} to be str type, not {_type_name(owner, attribute)}")


def _type_name(owner: Any, attribute: str) -> str:
    return type(getattr(owner, attribute)).__name__


def _group_requests(request: Any, purpose: str) -> list[ConsumerGroupTopicPartitions]:
    if request is None:
        raise TypeError("request cannot be None")
    if not isinstance(request, list):
        raise TypeError("request must be a list")
    if len(request) != 1:
        raise ValueError(f"Currently we support {purpose} offsets for a single consumer group only")
    for wanted in request:
        if not isinstance(wanted, ConsumerGroupTopicPartitions):
            raise TypeError("Expected list of 'ConsumerGroupTopicPartitions'")
        _check_filled(wanted.group_id, "group_id", str, "a string")
    return request


def _group_partitions(partitions: list[Any]) -> list[TopicPartition]:
    if not partitions:
        raise ValueError("'topic_partitions' cannot be empty")
    for partition in partitions:
        if partition is None:
            raise ValueError("Element of 'topic_partitions' cannot be None")
        if not isinstance(partition, TopicPartition):
            raise TypeError("Element of 'topic_partitions' must be of type TopicPartition")
        if not partition.topic:
            raise ValueError("Element of 'topic_partitions' must not have 'topic' attribute as Empty")
    return partitions


def _check_filled(value: Any, name: str, kind: type, what: str) -> None:
    if value is None:
        raise TypeError(f"'{name}' cannot be None")
    if not isinstance(value, kind):
        raise TypeError(f"'{name}' must be {what}")
    if not value:
        raise ValueError(f"'{name}' cannot be empty")


def _check_upsertion(upsertion: UserScramCredentialUpsertion) -> None:
    _check_filled(upsertion.password, "password", bytes, "bytes")
    if upsertion.salt is not None and not upsertion.salt:
        raise ValueError("'salt' can be None but cannot be empty")
    if upsertion.salt is not None and not isinstance(upsertion.salt, bytes):
        raise TypeError("'salt' must be bytes")
    info = upsertion.scram_credential_info
    if not isinstance(info, ScramCredentialInfo):
        raise TypeError("Expected credential_info to be ScramCredentialInfo Type")
    if info.iterations < 1:
        raise ValueError("Iterations should be positive")
    _check_mechanism(info.mechanism)


def _check_mechanism(mechanism: Any) -> None:
    if not isinstance(mechanism, ScramMechanism):
        raise TypeError("Expected the mechanism to be ScramMechanism Type")
