"""What a program can see of the classes of confluent_kafka.admin without any broker.

Each function is one behaviour: it makes the same calls on whichever package the script has.
"""

# One call a line, so that lines can be compared at a glance.

from __future__ import annotations

import copy
import operator
from typing import Any

from tests.compat.facade_script import FacadeScript


def new_topic_takes_what_it_is_documented_to_take(run: FacadeScript) -> None:
    make = run.admin_module.NewTopic
    run.show("name alone", lambda: _topic_fields(make("a")))
    run.show("partitions", lambda: _topic_fields(make("a", 3)))
    run.show("factor", lambda: _topic_fields(make("a", 3, 2)))
    run.show(
        "keywords",
        lambda: _topic_fields(
            make(
                topic="a",
                num_partitions=3,
                replication_factor=2,
                replica_assignment=[[1], [2]],
                config={"a": "b"},
            )
        ),
    )
    run.show("negative", lambda: _topic_fields(make("a", -5, -7)))
    run.show("other letters", lambda: repr(make("ü'\"\n", 4)))
    run.show("any assignment", lambda: _topic_fields(make("a", replica_assignment=5)))
    run.show("true as a number", lambda: _topic_fields(make("a", True)))


def new_topic_refuses_what_it_cannot_take(run: FacadeScript) -> None:
    make = run.admin_module.NewTopic
    run.show("nothing", lambda: make())
    run.show("number as a name", lambda: make(3))
    run.show("None as a name", lambda: make(None))
    run.show("bytes as a name", lambda: make(b"a"))
    run.show("text as partitions", lambda: make("a", "3"))
    run.show("float as partitions", lambda: make("a", 1.5))
    run.show("None as partitions", lambda: make("a", None))
    run.show("text as factor", lambda: make("a", 1, "3"))
    run.show("too many partitions", lambda: make("a", 2**31))
    run.show("far too many partitions", lambda: make("a", 2**70))
    run.show("too few partitions", lambda: make("a", -(2**31) - 1))
    run.show("unknown keyword", lambda: make("a", bad=1))
    run.show("twice the name", lambda: make("a", topic="b"))
    run.show("too many", lambda: make("a", 1, 1, None, None, 3))
    run.show("too many with keyword", lambda: make("a", 1, 1, None, None, 3, config={}))
    run.show("list as config", lambda: make("a", config=[1]))
    run.show("None as config", lambda: _topic_fields(make("a", config=None)))
    run.show("surrogate", lambda: make("\ud800", 4))
    run.show("nul", lambda: make("a\0b", 4))


def new_topic_lets_itself_be_changed_but_for_its_name(run: FacadeScript) -> None:
    topic = run.admin_module.NewTopic("a", 3, 2, config={"x": "y"})
    run.show("name", lambda: setattr(topic, "topic", "b"))
    run.show("no name", lambda: delattr(topic, "topic"))
    run.show("partitions", lambda: setattr(topic, "num_partitions", 9))
    run.show("factor", lambda: setattr(topic, "replication_factor", 8))
    run.show("partitions by text", lambda: setattr(topic, "num_partitions", "9"))
    run.show("no partitions", lambda: delattr(topic, "num_partitions"))
    run.show("config", lambda: setattr(topic, "config", 5))
    run.show("assignment", lambda: setattr(topic, "replica_assignment", [[4]]))
    run.show("something new", lambda: setattr(topic, "zork", 1))
    run.show("after all", lambda: _topic_fields(topic))
    run.show("no config", lambda: delattr(topic, "config"))
    run.show("after that", lambda: _topic_fields(topic))
    run.show("made anew", lambda: topic.__init__("zz", 4))
    run.show("in the end", lambda: _topic_fields(topic))


def new_topic_compares_by_name_and_partitions(run: FacadeScript) -> None:
    _compare(run, run.admin_module.NewTopic, [("a", 1), ("a", 2), ("b", 1), ("a", 1, 2), ("a", 1)])
    make = run.admin_module.NewTopic
    run.show(
        "same hash",
        lambda: [hash(make("a", 1)) == hash(make("a", 1, 5)), hash(make("a", 1)) == hash(make("a", 2))],
    )


def new_partitions_takes_and_refuses(run: FacadeScript) -> None:
    make = run.admin_module.NewPartitions
    run.show("nothing", lambda: make())
    run.show("name alone", lambda: make("a"))
    run.show("number as a name", lambda: make(1, 1))
    run.show("text as count", lambda: make("a", "3"))
    run.show("unknown keyword", lambda: make("a", 1, bad=1))
    run.show("too many", lambda: make("a", 1, None, 4))
    run.show("both", lambda: _partitions_fields(make("a", 3)))
    run.show("zero", lambda: _partitions_fields(make("a", 0)))
    run.show("negative", lambda: _partitions_fields(make("a", -1)))
    run.show(
        "keywords", lambda: _partitions_fields(make(topic="a", new_total_count=3, replica_assignment=[[1]]))
    )
    partitions = make("a", 3)
    run.show("other name", lambda: setattr(partitions, "topic", "b"))
    run.show("other count", lambda: setattr(partitions, "new_total_count", 4))
    run.show("other assignment", lambda: setattr(partitions, "replica_assignment", [[4]]))
    run.show("after all", lambda: _partitions_fields(partitions))


def new_partitions_compares_by_name_and_count(run: FacadeScript) -> None:
    _compare(run, run.admin_module.NewPartitions, [("a", 1), ("a", 2), ("b", 1), ("a", 1, [[1]]), ("a", 1)])


def new_topic_and_new_partitions_cannot_be_copied(run: FacadeScript) -> None:
    import pickle

    for made in (run.admin_module.NewTopic("a", 1), run.admin_module.NewPartitions("a", 1)):
        run.show("pickle", lambda made=made: pickle.dumps(made))
        run.show("copy", lambda made=made: copy.copy(made))
        run.show("deep copy", lambda made=made: copy.deepcopy(made))
        run.show("type", lambda made=made: (type(made).__name__, type(made).__module__))


def an_acl_binding_turns_words_and_numbers_into_members(run: FacadeScript) -> None:
    admin = run.admin_module
    full = admin.AclBinding(
        admin.ResourceType.TOPIC,
        "t",
        admin.ResourcePatternType.LITERAL,
        "User:a",
        "*",
        admin.AclOperation.READ,
        admin.AclPermissionType.ALLOW,
    )
    run.show("members", lambda: full)
    run.show("words", lambda: admin.AclBinding("topic", "t", "Literal", "User:a", "*", "READ", "allow"))
    run.show("numbers", lambda: admin.AclBinding(2, "t", 3, "User:a", "*", 3, 3))
    run.show("same", lambda: full == admin.AclBinding(2, "t", 3, "User:a", "*", 3, 3))
    run.show("same hash", lambda: hash(full) == hash(admin.AclBinding(2, "t", 3, "User:a", "*", 3, 3)))
    run.show("not of another kind", lambda: full == 5)
    run.show("order with another kind", lambda: full < 5)
    run.show("order", lambda: full < admin.AclBinding(2, "u", 3, "User:a", "*", 3, 3))
    run.show("greater", lambda: full >= admin.AclBinding(3, "t", 3, "User:a", "*", 3, 3))
    run.show("filter is a binding", lambda: issubclass(admin.AclBindingFilter, admin.AclBinding))


def an_acl_binding_refuses_what_no_rule_can_have(run: FacadeScript) -> None:
    admin = run.admin_module
    good: list[Any] = ["topic", "t", "literal", "User:a", "*", "read", "allow"]
    bad: list[tuple[int, Any]] = [
        *((place, None) for place in range(7)),
        *((place, 5.5) for place in range(7)),
        *((place, 99) for place in (0, 2, 5, 6)),
        *((place, "zork") for place in (0, 2, 5, 6)),
        *((place, "any") for place in (0, 2, 5, 6)),
        *((place, "unknown") for place in (0, 2, 5, 6)),
        (2, "match"),
        (0, ""),
        (1, ""),
        (0, admin.AclOperation.READ),
    ]
    for kind in (admin.AclBinding, admin.AclBindingFilter):
        for place, value in bad:
            arguments = [*good[:place], value, *good[place + 1 :]]
            run.show(f"{kind.__name__} {place} {value!r}", lambda a=arguments, k=kind: k(*a))
        run.show("nothing", kind)
    run.show("everything", lambda: admin.AclBindingFilter("any", None, "any", None, None, "any", "any"))
    run.show("matching", lambda: admin.AclBindingFilter("any", None, "match", None, None, "any", "any"))


def a_config_resource_knows_its_type_in_three_ways(run: FacadeScript) -> None:
    admin = run.admin_module
    make = admin.ConfigResource
    run.show("member", lambda: make(admin.ResourceType.TOPIC, "t"))
    run.show("own name of the type", lambda: make.Type is admin.ResourceType)
    run.show("constant", lambda: make(admin.RESOURCE_BROKER, "1"))
    run.show("word", lambda: make("Group", "g"))
    run.show("unknown word", lambda: make("zork", "g"))
    run.show("unknown number", lambda: make(77, "g"))
    run.show("float", lambda: make(1.5, "g"))
    run.show("None as type", lambda: make(None, "g"))
    run.show("None as name", lambda: make("topic", None))
    run.show("number as name", lambda: make("topic", 3))
    run.show("nothing", make)
    error = run.package.KafkaError(3)
    run.show("error", lambda: make("topic", "t", error=error))
    run.show("configs", lambda: make("topic", "t", {"a": "b"}, {"c": 1}, None, [4]))
    run.show("configs that are no dict", lambda: make("topic", "t", 5))


def a_config_resource_compares_by_type_and_name(run: FacadeScript) -> None:
    make = run.admin_module.ConfigResource
    _compare(
        run,
        make,
        [("topic", "a"), ("topic", "b"), ("group", "a"), ("broker", "0"), ("topic", "a", {"x": "y"})],
    )
    run.show("same hash", lambda: hash(make("topic", "a")) == hash(make("topic", "a", {"x": "y"})))
    resource = make("topic", "a")
    run.show("length", lambda: (len(resource), bool(resource)))
    run.show("set", lambda: resource.set_config("a", "b"))
    run.show("set again", lambda: resource.set_config("a", "c", overwrite=False))
    run.show("length then", lambda: (len(resource), resource.set_config_dict))
    run.show("set over", lambda: resource.set_config("a", "c"))
    run.show("incremental", lambda: resource.add_incremental_config(run.admin_module.ConfigEntry("x", "y")))
    run.show("in the end", lambda: resource)


def a_config_entry_has_defaults(run: FacadeScript) -> None:
    admin = run.admin_module
    run.show("two", lambda: admin.ConfigEntry("a", "b"))
    run.show(
        "all",
        lambda: admin.ConfigEntry(
            "a",
            None,
            admin.ConfigSource.DEFAULT_CONFIG,
            1,
            0,
            "yes",
            [],
            {"a": 1},
            admin.AlterConfigOpType.APPEND,
        ),
    )
    run.show("one", lambda: admin.ConfigEntry("a"))
    run.show("order", lambda: admin.ConfigEntry("a", "b") < admin.ConfigEntry("b", "b"))
    run.show("same", lambda: admin.ConfigEntry("a", "b") == admin.ConfigEntry("a", "b"))


def offset_specs_are_found_by_what_they_ask_for(run: FacadeScript) -> None:
    spec = run.admin_module.OffsetSpec
    for name in ("earliest", "latest", "max_timestamp"):
        run.show(name, lambda name=name: getattr(spec, name)())
        run.show(f"{name} is one", lambda name=name: getattr(spec, name)() is getattr(spec, name)())
    run.show("time", lambda: spec.for_timestamp(5))
    run.show("time of", lambda: spec.for_timestamp(5).timestamp)
    run.show("by number", lambda: [type(spec(number)).__name__ for number in (-1, -2, -3, 0, 7)])
    run.show("by unknown number", lambda: spec(-9))
    run.show("nothing", lambda: spec())
    run.show("text", lambda: spec("a"))
    run.show("order", lambda: [spec.earliest() < spec.latest(), spec.latest() < spec.for_timestamp(0)])
    run.show("order with another kind", lambda: spec.earliest() < 3)
    run.show("same", lambda: [spec.for_timestamp(5) == spec.for_timestamp(5), spec.latest() == spec.latest()])
    run.show("is one", lambda: isinstance(spec.latest(), spec))


def members_of_enumerations_have_kafka_s_numbers_and_order(run: FacadeScript) -> None:
    admin, package = run.admin_module, run.package
    for kind in (
        admin.ResourceType,
        admin.ResourcePatternType,
        admin.AclOperation,
        admin.AclPermissionType,
        admin.AlterConfigOpType,
        admin.ConfigSource,
        admin.ScramMechanism,
        package.ConsumerGroupState,
        package.ConsumerGroupType,
        package.IsolationLevel,
        package.ElectionType,
    ):
        members = list(kind.__members__.items())
        run.show(kind.__name__, lambda members=members: members)
        run.show(
            "order", lambda members=members: [members[0][1] < members[-1][1], sorted(m for _, m in members)]
        )
        run.show("order with another kind", lambda members=members: members[0][1] < 3)
        run.show("greater", lambda members=members: members[0][1] > members[-1][1])
        run.show("at most", lambda members=members: members[0][1] <= members[-1][1])


def classes_of_results_keep_what_they_are_given(run: FacadeScript) -> None:
    admin, package = run.admin_module, run.package
    node = package.Node(1, "h", 9092)
    run.show("node", lambda: node)
    run.show("deleted", lambda: admin.DeletedRecords(5))
    run.show("offset", lambda: admin.ListOffsetsResultInfo(5, 6, 7))
    run.show("offset without epoch", lambda: admin.ListOffsetsResultInfo(5, 6, -1))
    run.show("offset without all", lambda: admin.ListOffsetsResultInfo(5, 6))
    run.show("listing", lambda: admin.ConsumerGroupListing("g", True))
    run.show("listing with words", lambda: admin.ConsumerGroupListing("g", False, "stable", "classic"))
    run.show("listing with numbers", lambda: admin.ConsumerGroupListing("g", False, 3, 2))
    run.show("listing with a bad word", lambda: admin.ConsumerGroupListing("g", False, "zork"))
    run.show("listing with a bad number", lambda: admin.ConsumerGroupListing("g", False, 33))
    run.show("listing with a float", lambda: admin.ConsumerGroupListing("g", False, 3.5))
    run.show("result", lambda: admin.ListConsumerGroupsResult())
    run.show("result with both", lambda: admin.ListConsumerGroupsResult([1], [2]))
    run.show("assignment", lambda: admin.MemberAssignment(None))
    run.show("assignment of none", lambda: admin.MemberAssignment([]))
    run.show("member", lambda: admin.MemberDescription("m", "c", "h", admin.MemberAssignment([])))
    run.show(
        "group",
        lambda: admin.ConsumerGroupDescription(
            "g", False, [], "range", "stable", node, ["read", 4], "consumer"
        ),
    )
    run.show("group without", lambda: admin.ConsumerGroupDescription("g", False, [], "range", None, node, []))
    run.show("topic", lambda: admin.TopicDescription("t", None, False, [], ["read", 3]))
    run.show("topic without", lambda: admin.TopicDescription("t", None, False, []))
    run.show("topic with a bad operation", lambda: admin.TopicDescription("t", None, False, [], [99]))
    run.show("cluster", lambda: admin.DescribeClusterResult(node, [node]))
    run.show("cluster with all", lambda: admin.DescribeClusterResult(node, [node], "id", [3, "write"]))


def scram_classes_keep_what_they_are_given(run: FacadeScript) -> None:
    admin = run.admin_module
    info = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 4096)
    run.show("info", lambda: info)
    run.show("description", lambda: admin.UserScramCredentialsDescription("u", [info]))
    run.show("alteration", lambda: admin.UserScramCredentialAlteration("u"))
    run.show("upsertion", lambda: admin.UserScramCredentialUpsertion("u", info, b"p"))
    run.show("upsertion with salt", lambda: admin.UserScramCredentialUpsertion("u", info, b"p", b"s"))
    run.show("deletion", lambda: admin.UserScramCredentialDeletion("u", admin.ScramMechanism.SCRAM_SHA_512))
    run.show(
        "kind", lambda: issubclass(admin.UserScramCredentialDeletion, admin.UserScramCredentialAlteration)
    )


def metadata_classes_begin_empty(run: FacadeScript) -> None:
    admin = run.admin_module
    for name in (
        "ClusterMetadata",
        "BrokerMetadata",
        "TopicMetadata",
        "PartitionMetadata",
        "GroupMember",
        "GroupMetadata",
    ):
        kind = getattr(admin, name)
        run.show(name, kind)
        run.show(f"{name} with something", lambda kind=kind: kind(1))
        made = kind()
        run.show(f"{name} takes anything", lambda made=made: setattr(made, "zork", 1))
        made.id, made.host, made.port, made.topic, made.cluster_id = 7, "h", 9, "t", "c"
        run.show(f"{name} filled", lambda made=made: [repr(made), str(made)])
        made.error = run.package.KafkaError(3)
        run.show(f"{name} with an error", lambda made=made: [repr(made), str(made)])


def the_module_has_constants(run: FacadeScript) -> None:
    for name in sorted(name for name in dir(run.admin_module) if name.isupper()):
        run.show(name, lambda name=name: getattr(run.admin_module, name))


def _topic_fields(topic: Any) -> list[Any]:
    return [
        topic.topic,
        topic.num_partitions,
        topic.replication_factor,
        topic.replica_assignment,
        topic.config,
        repr(topic),
        str(topic),
    ]


def _partitions_fields(partitions: Any) -> list[Any]:
    return [
        partitions.topic,
        partitions.new_total_count,
        partitions.replica_assignment,
        repr(partitions),
        str(partitions),
    ]


def _compare(run: FacadeScript, make: Any, arguments: list[tuple[Any, ...]]) -> None:
    for left in arguments:
        for right in arguments:
            for compared in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
                run.show(
                    f"{left} {compared.__name__} {right}",
                    lambda c=compared, left=left, right=right: c(make(*left), make(*right)),
                )
    for other in (5, "a", None):
        for compared in (operator.eq, operator.ne, operator.lt, operator.ge):
            run.show(
                f"{compared.__name__} {other!r}",
                lambda c=compared, other=other: c(make(*arguments[0]), other),
            )
