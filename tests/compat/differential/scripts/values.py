"""What Python does with values by itself: attributes, copies, comparisons, subclasses, arguments by name."""

from __future__ import annotations

import copy
import operator
import pickle
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.stage import Stage

Maker = Callable[[], Any]


def makers(kafka: ModuleType, stage: Stage) -> dict[str, Maker]:
    """A value of each class, by the class's name."""
    admin: Any = stage.module("admin")
    serialization: Any = stage.module("serialization")
    errors: Any = stage.module("error")
    node = kafka.Node(1, "h", 9092, "r")
    partition = kafka.TopicPartition("t", 1, 5)
    error = kafka.KafkaError(kafka.KafkaError._FAIL, "why")
    scram = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 4096)
    acl = (
        admin.ResourceType.TOPIC,
        "t",
        admin.ResourcePatternType.LITERAL,
        "User:u",
        "*",
        admin.AclOperation.READ,
        admin.AclPermissionType.ALLOW,
    )
    assignment = admin.MemberAssignment([partition])
    member = admin.MemberDescription("m", "c", "h", assignment, "i")
    information = kafka.TopicPartitionInfo(0, node, [node], [node])
    return {
        "Message": lambda: kafka.Message("t", 1, 2, b"k", b"v"),
        "Messages": lambda: kafka.Messages([kafka.Message("t", 1, 2, b"k", b"v")]),
        "TopicPartition": lambda: kafka.TopicPartition("t", 1, 5, "m", 2),
        "KafkaError": lambda: kafka.KafkaError(kafka.KafkaError._FAIL, "why"),
        "KafkaException": lambda: kafka.KafkaException(error),
        "IllegalStateException": lambda: kafka.IllegalStateException("why"),
        "ConcurrentModificationException": lambda: kafka.ConcurrentModificationException("why"),
        "Uuid": lambda: kafka.Uuid(1, 2),
        "Node": lambda: kafka.Node(1, "h", 9092, "r"),
        "TopicCollection": lambda: kafka.TopicCollection(["t"]),
        "TopicPartitionInfo": lambda: kafka.TopicPartitionInfo(0, node, [node], [node]),
        "ConsumerGroupTopicPartitions": lambda: kafka.ConsumerGroupTopicPartitions("g", [partition]),
        "ThrottleEvent": lambda: kafka.ThrottleEvent("b", 1, 0.25),
        "ConsumerGroupState": lambda: kafka.ConsumerGroupState.STABLE,
        "ConsumerGroupType": lambda: kafka.ConsumerGroupType.CONSUMER,
        "IsolationLevel": lambda: kafka.IsolationLevel.READ_COMMITTED,
        "ElectionType": lambda: kafka.ElectionType.UNCLEAN,
        "AcknowledgeType": lambda: kafka.AcknowledgeType.RELEASE,
        "NewTopic": lambda: admin.NewTopic("t", 2, 1),
        "NewPartitions": lambda: admin.NewPartitions("t", 3),
        "ConfigResource": lambda: admin.ConfigResource("topic", "t", {"a": "b"}),
        "ConfigEntry": lambda: admin.ConfigEntry("a", "b"),
        "ConfigSource": lambda: admin.ConfigSource.DEFAULT_CONFIG,
        "AclBinding": lambda: admin.AclBinding(*acl),
        "AclBindingFilter": lambda: admin.AclBindingFilter(*acl),
        "AclOperation": lambda: admin.AclOperation.READ,
        "AclPermissionType": lambda: admin.AclPermissionType.DENY,
        "AlterConfigOpType": lambda: admin.AlterConfigOpType.APPEND,
        "ResourceType": lambda: admin.ResourceType.TOPIC,
        "ResourcePatternType": lambda: admin.ResourcePatternType.PREFIXED,
        "OffsetSpec": lambda: admin.OffsetSpec.latest(),
        "OffsetSpec for a time": lambda: admin.OffsetSpec.for_timestamp(1234),
        "ListOffsetsResultInfo": lambda: admin.ListOffsetsResultInfo(1, 2, 3),
        "DeletedRecords": lambda: admin.DeletedRecords(5),
        "ScramMechanism": lambda: admin.ScramMechanism.SCRAM_SHA_512,
        "ScramCredentialInfo": lambda: admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 4096),
        "UserScramCredentialAlteration": lambda: admin.UserScramCredentialAlteration("u"),
        "UserScramCredentialDeletion": lambda: admin.UserScramCredentialDeletion("u", scram.mechanism),
        "UserScramCredentialUpsertion": lambda: admin.UserScramCredentialUpsertion("u", scram, b"p", b"s"),
        "UserScramCredentialsDescription": lambda: admin.UserScramCredentialsDescription("u", [scram]),
        "MemberAssignment": lambda: admin.MemberAssignment([partition]),
        "MemberDescription": lambda: admin.MemberDescription("m", "c", "h", assignment, "i"),
        "ConsumerGroupListing": lambda: admin.ConsumerGroupListing("g", False, "stable", "classic"),
        "ConsumerGroupDescription": lambda: admin.ConsumerGroupDescription(
            "g", False, [member], "range", "stable", node, [2], "classic"
        ),
        "ListConsumerGroupsResult": lambda: admin.ListConsumerGroupsResult([], [error]),
        "TopicDescription": lambda: admin.TopicDescription("t", kafka.Uuid(1, 2), False, [information], [2]),
        "DescribeClusterResult": lambda: admin.DescribeClusterResult(node, [node], "c", [2]),
        "ClusterMetadata": lambda: admin.ClusterMetadata(),
        "BrokerMetadata": lambda: admin.BrokerMetadata(),
        "TopicMetadata": lambda: admin.TopicMetadata(),
        "PartitionMetadata": lambda: admin.PartitionMetadata(),
        "GroupMetadata": lambda: admin.GroupMetadata(),
        "GroupMember": lambda: admin.GroupMember(),
        "SerializationContext": lambda: serialization.SerializationContext("t", "key", [("h", b"1")]),
        "SerializationError": lambda: serialization.SerializationError("why"),
        "StringSerializer": lambda: serialization.StringSerializer("utf_16"),
        "IntegerDeserializer": lambda: serialization.IntegerDeserializer(),
        "ConsumeError": lambda: errors.ConsumeError(error),
        "KeyDeserializationError": lambda: errors.KeyDeserializationError(ValueError("why"), kafka.Message()),
        "ProduceError": lambda: errors.ProduceError(error),
        "ValueSerializationError": lambda: errors.ValueSerializationError(ValueError("why")),
    }


def _public(value: Any) -> list[str]:
    return sorted(name for name in dir(value) if not name.startswith("_"))


def _fields(value: Any) -> list[str]:
    return [name for name in _public(value) if not callable(getattr(value, name))]


@script()
def values_have_these_public_names(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        stage.record(name, _public(make()))
        stage.attempt(f"{name}: vars", lambda make=make: sorted(vars(make())))
        stage.record(f"{name}: fields", {field: getattr(make(), field) for field in _fields(make())})


@script()
def attributes_of_values_are_set_and_deleted_or_not(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        value = make()
        stage.attempt(f"{name}: unknown", lambda v=value: v.unknown)
        stage.attempt(f"{name}: set", setattr, value, "mine", 3)
        stage.attempt(f"{name}: get", lambda v=value: v.mine)
        stage.attempt(f"{name}: delete", delattr, value, "mine")
        stage.attempt(f"{name}: delete unknown", delattr, value, "unknown")
        for field in [] if hasattr(type(value), "__members__") else _fields(make()):
            for given in (getattr(value, field), None, 7, "text"):
                changed = make()
                stage.attempt(f"{name}.{field} = {stage.text(given)}", setattr, changed, field, given)
                # The original takes an offset that it refuses for -1.
                if field != "offset" or isinstance(given, int):
                    stage.attempt("now", lambda c=changed, f=field: getattr(c, f))
            changed = make()
            stage.attempt(f"{name}: delete {field}", delattr, changed, field)
            stage.attempt("now", lambda c=changed, f=field: getattr(c, f))


@script()
def values_are_referred_to_weakly_or_not(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        value = make()
        stage.attempt(name, lambda v=value: weakref.ref(v)() is v)


@script()
def values_are_copied_and_pickled_or_not(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        value = make()
        for label, work in (("copy", copy.copy), ("deepcopy", copy.deepcopy)):
            stage.attempt(f"{name}: {label}", work, value)
            stage.within(f"{name}: {label}", lambda v=value, w=work: stage.record("is it", w(v) is v))
        for protocol in (0, 1, 2, 5):
            stage.attempt(
                f"{name}: pickle {protocol}", lambda v=value, p=protocol: pickle.loads(pickle.dumps(v, p))
            )


@script()
def values_are_compared_or_not(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        value = make()
        others = {"itself": value, "an equal one": make()}
        # What is neither an error nor a code leaves an exception behind with the original.
        if name != "KafkaError":
            others |= {"None": None, "3": 3, "a text": "t"}
        for label, other in others.items():
            for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
                stage.attempt(f"{name} {compare.__name__} {label}", compare, value, other)
        stage.attempt(f"{name}: hash", lambda v=value, m=make: hash(v) == hash(m()))
        stage.attempt(f"{name}: in a set", lambda v=value, m=make: len({v, v, m()}))


@script()
def values_are_shown(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        stage.attempt(f"{name}: repr", lambda m=make: repr(m()))
        stage.attempt(f"{name}: str", lambda m=make: str(m()))
        stage.attempt(f"{name}: format", lambda m=make: f"{m()}")


@script()
def values_have_a_truth_and_are_no_containers(kafka: ModuleType, stage: Stage) -> None:
    works: dict[str, Callable[[Any], Any]] = {
        "bool": bool,
        "len": len,
        "list": list,
        "first": lambda v: v[0],
        "item": lambda v: v["topic"],
        "contains": lambda v: 1 in v,
        "call": lambda v: v(),
        "int": int,
        "float": float,
        "index": operator.index,
        "with": lambda v: v.__enter__,
        "reversed": lambda v: list(reversed(v)),
        "await": lambda v: v.__await__,
    }
    for name, make in makers(kafka, stage).items():
        for label, work in works.items():
            stage.attempt(f"{name}: {label}", lambda m=make, w=work: w(m()))


@script()
def values_are_matched_by_name(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        stage.record(
            name, [hasattr(type(make()), "__match_args__"), hasattr(type(make()), "__class_getitem__")]
        )
        stage.record("slots", hasattr(make(), "__dict__"))


@script()
def classes_of_values_are_inherited_from(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        made = type(make())

        def inherit(made: type = made) -> type:
            return type("Mine", (made,), {"extra": 1})

        mine = stage.within(f"{name}: inherit", inherit)
        if mine is None:
            continue
        stage.record(f"{name}: bases", [base.__name__ for base in mine.__mro__[:2]])
        stage.attempt(f"{name}: without arguments", lambda m=mine: m().extra)
        stage.attempt(f"{name}: three arguments", lambda m=mine: m("t", 1, 2).extra)
        value = stage.within(f"{name}: new", lambda m=mine: m.__new__(m))
        if value is not None:
            stage.attempt(f"{name}: set", setattr, value, "own", 1)
            stage.attempt(f"{name}: get", lambda v=value: [v.own, v.extra])
            stage.attempt(f"{name}: weak", lambda v=value: weakref.ref(v)() is v)


@script()
def constructors_of_values_take_their_arguments_by_name(kafka: ModuleType, stage: Stage) -> None:
    admin: Any = stage.module("admin")
    node = kafka.Node(1, "h", 9092)
    cases: dict[str, tuple[Any, dict[str, Any]]] = {
        "Node": (kafka.Node, {"id": 1, "host": "h", "port": 2, "rack": "r"}),
        "TopicCollection": (kafka.TopicCollection, {"topic_names": ["t"]}),
        "TopicPartitionInfo": (
            kafka.TopicPartitionInfo,
            {"id": 0, "leader": node, "replicas": [node], "isr": []},
        ),
        "ConsumerGroupTopicPartitions": (
            kafka.ConsumerGroupTopicPartitions,
            {"group_id": "g", "topic_partitions": []},
        ),
        "ThrottleEvent": (
            kafka.ThrottleEvent,
            {"broker_name": "b", "broker_id": 1, "throttle_time": 0.5},
        ),
        "Messages": (kafka.Messages, {"messages": []}),
        "Message": (
            kafka.Message,
            {
                "topic": "t",
                "partition": 1,
                "offset": 2,
                "key": b"k",
                "value": b"v",
                "headers": [("h", b"1")],
                "error": None,
                "timestamp": (1, 2),
                "latency": 0.5,
                "leader_epoch": 3,
                "delivery_count": 1,
            },
        ),
        "TimestampSpec": (type(admin.OffsetSpec.for_timestamp(1)), {"timestamp": 1}),
        "OffsetSpec.for_timestamp": (admin.OffsetSpec.for_timestamp, {"timestamp": 1}),
        "UserScramCredentialUpsertion": (
            admin.UserScramCredentialUpsertion,
            {"user": "u", "scram_credential_info": None, "password": b"p", "salt": b"s"},
        ),
        "AclBinding": (
            admin.AclBinding,
            {
                "restype": "topic",
                "name": "t",
                "resource_pattern_type": "literal",
                "principal": "User:u",
                "host": "*",
                "operation": "read",
                "permission_type": "allow",
            },
        ),
        "AclBindingFilter": (
            admin.AclBindingFilter,
            {
                "restype": "any",
                "name": None,
                "resource_pattern_type": "match",
                "principal": None,
                "host": None,
                "operation": "any",
                "permission_type": "any",
            },
        ),
        "KafkaError": (
            kafka.KafkaError,
            {"error": 1, "reason": "r", "fatal": True, "retriable": True, "txn_requires_abort": True},
        ),
        "Uuid": (kafka.Uuid, {"most_significant_bits": 1, "least_significant_bits": 2}),
        "TopicPartition": (
            kafka.TopicPartition,
            {"topic": "t", "partition": 1, "offset": 2, "metadata": "m", "leader_epoch": 3},
        ),
        "NewTopic": (
            admin.NewTopic,
            {"topic": "t", "num_partitions": 1, "replication_factor": 1, "config": {}},
        ),
        "NewPartitions": (
            admin.NewPartitions,
            {"topic": "t", "new_total_count": 3, "replica_assignment": [[1]]},
        ),
        "ConfigResource": (
            admin.ConfigResource,
            {
                "restype": "topic",
                "name": "t",
                "set_config": {"a": "b"},
                "described_configs": None,
                "error": None,
            },
        ),
        "ConfigEntry": (
            admin.ConfigEntry,
            {
                "name": "a",
                "value": "b",
                "source": admin.ConfigSource.DEFAULT_CONFIG,
                "is_read_only": True,
                "is_default": True,
                "is_sensitive": True,
                "is_synonym": True,
                "synonyms": [],
                "error": None,
                "incremental_operation": None,
            },
        ),
        "ListOffsetsResultInfo": (
            admin.ListOffsetsResultInfo,
            {"offset": 1, "timestamp": 2, "leader_epoch": 3},
        ),
        "DeletedRecords": (admin.DeletedRecords, {"low_watermark": 1}),
        "ScramCredentialInfo": (
            admin.ScramCredentialInfo,
            {"mechanism": admin.ScramMechanism.SCRAM_SHA_256, "iterations": 5000},
        ),
        "UserScramCredentialDeletion": (
            admin.UserScramCredentialDeletion,
            {"user": "u", "mechanism": admin.ScramMechanism.SCRAM_SHA_256},
        ),
        "UserScramCredentialsDescription": (
            admin.UserScramCredentialsDescription,
            {"user": "u", "scram_credential_infos": []},
        ),
        "MemberAssignment": (admin.MemberAssignment, {"topic_partitions": []}),
        "MemberDescription": (
            admin.MemberDescription,
            {
                "member_id": "m",
                "client_id": "c",
                "host": "h",
                "assignment": None,
                "group_instance_id": "i",
                "target_assignment": None,
            },
        ),
        "ConsumerGroupListing": (
            admin.ConsumerGroupListing,
            {"group_id": "g", "is_simple_consumer_group": True, "state": None, "type": None},
        ),
        "ConsumerGroupDescription": (
            admin.ConsumerGroupDescription,
            {
                "group_id": "g",
                "is_simple_consumer_group": True,
                "members": [],
                "partition_assignor": "a",
                "state": None,
                "coordinator": node,
                "authorized_operations": None,
                "type": None,
            },
        ),
        "ListConsumerGroupsResult": (admin.ListConsumerGroupsResult, {"valid": [], "errors": []}),
        "TopicDescription": (
            admin.TopicDescription,
            {
                "name": "t",
                "topic_id": kafka.Uuid(1, 2),
                "is_internal": False,
                "partitions": [],
                "authorized_operations": None,
            },
        ),
        "DescribeClusterResult": (
            admin.DescribeClusterResult,
            {"controller": node, "nodes": [], "cluster_id": "c", "authorized_operations": None},
        ),
    }
    for name, (made, named) in cases.items():
        stage.attempt(name, lambda m=made, n=named: m(**n))
        for left_out in named:
            some = {key: value for key, value in named.items() if key != left_out}
            stage.attempt(f"{name} without {left_out}", lambda m=made, n=some: m(**n))
            stage.attempt(f"{name} with another for {left_out}", lambda m=made, n=some: m(**n, more=1))
        stage.attempt(f"{name} by place", lambda m=made, n=named: m(*n.values()))
        stage.attempt(f"{name} with one too many", lambda m=made, n=named: m(*n.values(), 1))
        stage.attempt(f"{name} with one twice", lambda m=made, n=named: m(*list(n.values())[:1], **n))


@script()
def values_are_initialised_again_or_not(kafka: ModuleType, stage: Stage) -> None:
    for name, make in makers(kafka, stage).items():
        value = make()
        for label, arguments in (("nothing", ()), ("one", ("u",)), ("two", ("u", 9)), ("three", ("u", 9, 1))):
            stage.attempt(f"{name}: {label}", value.__init__, *arguments)
            stage.attempt("then", lambda v=value: v)
