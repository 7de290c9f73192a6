"""What AdminClient's calls make of arguments that they cannot take, and of their options.

Each function is one behaviour. All of it is refused before a request leaves, so brokers play no part.
"""

# One call a line, so that lines can be compared at a glance.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.compat.facade_script import SILENT, FacadeScript

TIMEOUTS = (None, "x", b"x", -1, -2, 3601, 1e12, float("nan"))
SWITCHES = (None, "x", 1, 0, 2.5)
# A bad option corrupts the real package's memory in the first two; the last one takes no option at all.
BROKEN_OPTIONS = ("list_offsets", "delete_records", "elect_leaders")
BROKERS = (None, "x", -1, -2, 1.5, 2**31, 2**70)


def a_client_refuses_a_configuration_it_does_not_know(run: FacadeScript) -> None:
    make = run.admin_module.AdminClient
    run.show("nothing", make)
    run.show("text", lambda: make("x"))
    run.show("None", lambda: make(None))
    run.show("unknown property", lambda: make({"zork": 1}))
    run.show("unknown keyword", lambda: make({"bootstrap.servers": "127.0.0.1:1"}, zork=3))
    run.show("no dict at all", lambda: make(bootstrap_servers="127.0.0.1:1"))
    run.show(
        "a producer's callback", lambda: make({"bootstrap.servers": "127.0.0.1:1", "on_delivery": print})
    )
    run.show("a consumer's callback", lambda: make({"bootstrap.servers": "127.0.0.1:1", "on_commit": print}))
    run.show("out of range", lambda: make({"bootstrap.servers": "127.0.0.1:1", "acks": 5000000}))
    run.show("no function", lambda: make({"bootstrap.servers": "127.0.0.1:1", "error_cb": 5}))


def a_client_is_of_no_use_after_it_was_left(run: FacadeScript) -> None:
    client = run.admin_module.AdminClient({"bootstrap.servers": run.bootstrap}, logger=SILENT)
    run.show("entered", lambda: client.__enter__() is client)
    run.show("left", lambda: client.__exit__(None, None, None))
    run.show("length", lambda: len(client))
    run.show("poll", lambda: client.poll(0))
    run.show("topics", lambda: client.list_topics(timeout=1))
    run.show("groups", lambda: client.list_groups(timeout=1))
    run.show("cluster id", lambda: client.cluster_id(timeout=1))
    run.show("credentials", lambda: client.set_sasl_credentials("a", "b"))
    for name, call in _calls(run, client).items():
        run.show(name, call)
    run.show("entered again", lambda: client.__enter__() is client)
    run.show("left again", lambda: client.__exit__(None, None, None))
    run.show("left wrongly", lambda: client.__exit__())


def a_client_is_no_collection_and_cannot_be_copied(run: FacadeScript) -> None:
    import pickle

    client = run.admin()
    run.show("length", lambda: len(client))
    run.show("truth", lambda: bool(client))
    run.show("iteration", lambda: iter(client))
    run.show("pickle", lambda: pickle.dumps(client))
    run.show("anything", lambda: setattr(client, "zork", 1))


def polling_takes_a_number_of_seconds(run: FacadeScript) -> None:
    client = run.admin()
    run.show("zero", lambda: client.poll(0))
    run.show("keyword", lambda: client.poll(timeout=0.01))
    run.show("text", lambda: client.poll("a"))
    run.show("None", lambda: client.poll(None))
    run.show("two", lambda: client.poll(0, 0))
    run.show("unknown keyword", lambda: client.poll(zork=0))


def blocking_calls_refuse_what_is_no_name_or_time(run: FacadeScript) -> None:
    client = run.admin()
    run.show("number as topic", lambda: client.list_topics(3, 0.2))
    run.show("text as timeout", lambda: client.list_topics("x", "y"))
    run.show("unknown keyword", lambda: client.list_topics(zork=1))
    run.show("too many", lambda: client.list_topics("x", 1, 2))
    run.show("number as group", lambda: client.list_groups(5, timeout=0.2))
    run.show("text as timeout of groups", lambda: client.list_groups("g", "y"))
    run.show("text as timeout of the id", lambda: client.cluster_id("x"))
    run.show("too many for the id", lambda: client.cluster_id(1, 2))
    run.show("one credential", lambda: client.set_sasl_credentials("a"))
    run.show("None as user", lambda: client.set_sasl_credentials(None, "b"))
    run.show("number as password", lambda: client.set_sasl_credentials("a", 1))
    run.show("both", lambda: client.set_sasl_credentials("a", "b"))


def every_call_refuses_a_request_timeout_out_of_range(run: FacadeScript) -> None:
    client = run.admin()
    for name, call in _calls(run, client).items():
        if name in BROKEN_OPTIONS:
            continue
        for value in TIMEOUTS:
            run.show(f"{name} {value!r}", lambda call=call, value=value: call(request_timeout=value))


def calls_that_wait_refuse_an_operation_timeout_out_of_range(run: FacadeScript) -> None:
    client = run.admin()
    calls = _calls(run, client)
    for name in ("create_topics", "delete_topics", "create_partitions"):
        for value in TIMEOUTS:
            run.show(f"{name} {value!r}", lambda name=name, value=value: calls[name](operation_timeout=value))


def switches_are_bool_and_nothing_else(run: FacadeScript) -> None:
    client = run.admin()
    calls = _calls(run, client)
    for name, option in (
        ("create_topics", "validate_only"),
        ("create_partitions", "validate_only"),
        ("alter_configs", "validate_only"),
        ("incremental_alter_configs", "validate_only"),
        ("describe_consumer_groups", "include_authorized_operations"),
        ("describe_topics", "include_authorized_operations"),
        ("describe_cluster", "include_authorized_operations"),
        ("list_consumer_group_offsets", "require_stable"),
    ):
        for value in SWITCHES:
            run.show(f"{name} {option} {value!r}", lambda n=name, o=option, v=value: calls[n](**{o: v}))


def a_broker_is_named_by_its_number(run: FacadeScript) -> None:
    client = run.admin()
    calls = _calls(run, client)
    for name in ("describe_configs", "alter_configs", "incremental_alter_configs"):
        for value in BROKERS:
            run.show(f"{name} {value!r}", lambda name=name, value=value: calls[name](broker=value))


def every_call_refuses_options_of_others(run: FacadeScript) -> None:
    client = run.admin()
    for name, call in _calls(run, client).items():
        if name in BROKEN_OPTIONS:
            continue
        for option in ("zork", "future", "broker_id", "timeout"):
            run.show(f"{name} {option}", lambda call=call, option=option: call(**{option: 1}))
    run.show("describe_acls validate_only", lambda: _calls(run, client)["describe_acls"](validate_only=True))
    run.show("delete_topics validate_only", lambda: _calls(run, client)["delete_topics"](validate_only=True))


def topics_are_created_from_a_list_of_new_topics(run: FacadeScript) -> None:
    client = run.admin()
    new = run.admin_module.NewTopic
    run.show("nothing", lambda: client.create_topics())
    run.show("none", lambda: client.create_topics([]))
    run.show("None", lambda: client.create_topics(None))
    run.show("tuple", lambda: client.create_topics((new("a", 1, 1),)))
    run.show("dict", lambda: client.create_topics({}))
    run.show("names", lambda: client.create_topics(["a"]))
    run.show("new partitions", lambda: client.create_topics([run.admin_module.NewPartitions("a", 1)]))
    run.show("None within", lambda: client.create_topics([None]))
    run.show("both counts", lambda: client.create_topics([new("a", 1, 2, [[1]])]))
    run.show(
        "assignment of another length", lambda: client.create_topics([new("a", 2, replica_assignment=[[1]])])
    )
    run.show("assignment that is no list", lambda: client.create_topics([new("a", 1, replica_assignment=5)]))
    run.show("assignment of no lists", lambda: client.create_topics([new("a", 1, replica_assignment=[1])]))
    run.show("assignment of text", lambda: client.create_topics([new("a", 1, replica_assignment=[["x"]])]))
    run.show("assignment of nobody", lambda: client.create_topics([new("a", 1, replica_assignment=[[]])]))
    run.show("too many partitions", lambda: client.create_topics([new("a", 100001, 1)]))
    run.show("too few partitions", lambda: client.create_topics([new("a", -2, 1)]))
    run.show("no partitions", lambda: client.create_topics([new("a", 0, 1)]))
    run.show("too many replicas", lambda: client.create_topics([new("a", 1, 40000)]))
    run.show("too few replicas", lambda: client.create_topics([new("a", 1, -2)]))
    run.show("empty name", lambda: client.create_topics([new("", 1, 1)]))
    run.show("number as a name of a setting", lambda: client.create_topics([new("a", 1, 1, config={1: "b"})]))
    run.show("list as a value", lambda: client.create_topics([new("a", 1, 1, config={"retention.ms": [1]})]))
    run.show("positional", lambda: client.create_topics([new("a", 1, 1)], 5))


def topics_are_deleted_by_a_list_of_names(run: FacadeScript) -> None:
    client = run.admin()
    run.show("nothing", lambda: client.delete_topics())
    run.show("none", lambda: client.delete_topics([]))
    run.show("None", lambda: client.delete_topics(None))
    run.show("a tuple", lambda: client.delete_topics(("a",)))
    run.show("text", lambda: client.delete_topics("a"))
    run.show("None within", lambda: client.delete_topics([None]))


def partitions_are_created_from_a_list_of_new_partitions(run: FacadeScript) -> None:
    client = run.admin()
    new = run.admin_module.NewPartitions
    run.show("nothing", lambda: client.create_partitions())
    run.show("none", lambda: client.create_partitions([]))
    run.show("None", lambda: client.create_partitions(None))
    run.show("names", lambda: client.create_partitions(["a"]))
    run.show("new topics", lambda: client.create_partitions([run.admin_module.NewTopic("a", 1)]))
    run.show("none of them", lambda: client.create_partitions([new("a", 0)]))
    run.show("fewer than none", lambda: client.create_partitions([new("a", -1)]))
    run.show("too many", lambda: client.create_partitions([new("a", 100001)]))
    run.show("more assignments", lambda: client.create_partitions([new("a", 1, [[1], [2]])]))
    run.show("assignment that is no list", lambda: client.create_partitions([new("a", 2, 5)]))
    run.show("assignment of no lists", lambda: client.create_partitions([new("a", 2, [5])]))
    run.show("empty name", lambda: client.create_partitions([new("", 2)]))


def configurations_are_for_a_list_of_resources(run: FacadeScript) -> None:
    client = run.admin()
    admin = run.admin_module
    resource, entry = admin.ConfigResource, admin.ConfigEntry
    for name in ("describe_configs", "alter_configs", "incremental_alter_configs"):
        call = getattr(client, name)
        run.show(f"{name} nothing", call)
        run.show(f"{name} none", lambda call=call: call([]))
        run.show(f"{name} None", lambda call=call: call(None))
        run.show(f"{name} names", lambda call=call: call(["a"]))
        run.show(f"{name} one", lambda call=call: call(resource("topic", "a")))
        run.show(f"{name} without anything", lambda call=call: call([resource("topic", "a", {})]))
        run.show(f"{name} number as name", lambda call=call: call([resource("topic", 5, {"a": "b"})]))
        run.show(
            f"{name} two brokers",
            lambda call=call: call(
                [
                    resource(
                        "broker",
                        "1",
                        {"a": "b"},
                        None,
                        None,
                        [entry("a", "b", incremental_operation=_set(run))],
                    ),
                    resource(
                        "broker",
                        "2",
                        {"a": "b"},
                        None,
                        None,
                        [entry("a", "b", incremental_operation=_set(run))],
                    ),
                ]
            ),
        )
    run.show("number as a name", lambda: client.alter_configs([resource("topic", "a", {1: "b"})]))
    run.show("list as a value", lambda: client.alter_configs([resource("topic", "a", {"b": []})]))
    incremental = client.incremental_alter_configs
    run.show("no entry", lambda: incremental([resource("topic", "a", incremental_configs=["x"])]))
    run.show(
        "no operation", lambda: incremental([resource("topic", "a", incremental_configs=[entry("a", "b")])])
    )
    run.show(
        "wrong operation",
        lambda: incremental(
            [resource("topic", "a", incremental_configs=[entry("a", "b", incremental_operation=5)])]
        ),
    )
    run.show(
        "number as entry's name",
        lambda: incremental(
            [resource("topic", "a", incremental_configs=[entry(1, "b", incremental_operation=_set(run))])]
        ),
    )
    run.show(
        "no value to set",
        lambda: incremental(
            [resource("topic", "a", incremental_configs=[entry("a", None, incremental_operation=_set(run))])]
        ),
    )


def access_rules_are_bindings_and_filters(run: FacadeScript) -> None:
    client = run.admin()
    admin = run.admin_module
    binding = admin.AclBinding("topic", "a", "literal", "User:a", "*", "read", "allow")
    anything = admin.AclBindingFilter("any", None, "any", None, None, "any", "any")
    run.show("nothing", lambda: client.create_acls())
    run.show("none", lambda: client.create_acls([]))
    run.show("None", lambda: client.create_acls(None))
    run.show("names", lambda: client.create_acls(["a"]))
    run.show("twice", lambda: client.create_acls([binding, binding]))
    run.show("deletes nothing", lambda: client.delete_acls([]))
    run.show("deletes names", lambda: client.delete_acls(["a"]))
    run.show("deletes None", lambda: client.delete_acls(None))
    run.show("deletes a binding", lambda: client.delete_acls([binding]))
    run.show("deletes twice", lambda: client.delete_acls([anything, anything]))
    run.show("describes nothing", lambda: client.describe_acls())
    run.show("describes None", lambda: client.describe_acls(None))
    run.show("describes a list", lambda: client.describe_acls([anything]))
    run.show("describes a binding", lambda: client.describe_acls(binding))
    unknown = admin.AclBinding("unknown", "a", "literal", "User:a", "*", "read", "allow")
    run.show("unknown type", lambda: client.create_acls([unknown]))
    unknown = admin.AclBinding("topic", "a", "unknown", "User:a", "*", "read", "allow")
    run.show("unknown pattern", lambda: client.create_acls([unknown]))
    unknown = admin.AclBinding("topic", "a", "literal", "User:a", "*", "unknown", "allow")
    run.show("unknown operation", lambda: client.create_acls([unknown]))
    unknown = admin.AclBinding("topic", "a", "literal", "User:a", "*", "read", "unknown")
    run.show("unknown permission", lambda: client.create_acls([unknown]))


def groups_are_lists_of_names(run: FacadeScript) -> None:
    client = run.admin()
    for name in ("describe_consumer_groups", "delete_consumer_groups"):
        call = getattr(client, name)
        run.show(f"{name} nothing", call)
        run.show(f"{name} none", lambda call=call: call([]))
        run.show(f"{name} None", lambda call=call: call(None))
        run.show(f"{name} text", lambda call=call: call("a"))
        run.show(f"{name} None within", lambda call=call: call([None]))
    # What the real package describes then is what happens to be where the number's text was.
    run.show("deletes numbers", lambda: client.delete_consumer_groups([1]))


def listing_groups_takes_sets_of_states_and_types(run: FacadeScript) -> None:
    client = run.admin()
    package = run.package
    run.show("number", lambda: client.list_consumer_groups(states={1}))
    run.show("list", lambda: client.list_consumer_groups(states=[package.ConsumerGroupState.STABLE]))
    run.show("type as number", lambda: client.list_consumer_groups(types={1}))
    run.show("types as list", lambda: client.list_consumer_groups(types=[1]))
    run.show("unknown type", lambda: client.list_consumer_groups(types={package.ConsumerGroupType.UNKNOWN}))
    run.show("positional", lambda: client.list_consumer_groups(5))


def offsets_of_groups_are_asked_for_by_one_request(run: FacadeScript) -> None:
    client = run.admin()
    package = run.package
    group, partition = package.ConsumerGroupTopicPartitions, package.TopicPartition
    requests: list[tuple[str, Any]] = [
        ("None", None),
        ("text", "a"),
        ("none", []),
        ("two", [group("a"), group("b")]),
        ("something else", ["a"]),
        ("no group", [group(None)]),
        ("number as group", [group(5)]),
        ("empty group", [group("")]),
        ("tuple of partitions", [group("a", ())]),
        ("no partitions", [group("a", [])]),
        ("None as partitions", [group("a", None)]),
        ("None within", [group("a", [None])]),
        ("text within", [group("a", ["x"])]),
        ("empty topic", [group("a", [partition("", 0)])]),
        ("no partition", [group("a", [partition("t")])]),
        ("no partition but an offset", [group("a", [partition("t", offset=5)])]),
        ("negative offset", [group("a", [partition("t", 0, -5)])]),
    ]
    run.show("listing nothing", lambda: client.list_consumer_group_offsets())
    run.show("altering nothing", lambda: client.alter_consumer_group_offsets())
    run.show(
        "listing with an offset",
        lambda: client.list_consumer_group_offsets([group("a", [partition("t", 0, 5)])]),
    )
    for label, request in requests:
        if label != "None as partitions":
            run.show(f"listing {label}", lambda request=request: client.list_consumer_group_offsets(request))
        run.show(f"altering {label}", lambda request=request: client.alter_consumer_group_offsets(request))
    run.show(
        "altering without offset",
        lambda: client.alter_consumer_group_offsets([group("a", [partition("t", 0)])]),
    )


def topics_are_described_by_a_collection(run: FacadeScript) -> None:
    client = run.admin()
    collection = run.package.TopicCollection
    run.show("nothing", lambda: client.describe_topics())
    run.show("list", lambda: client.describe_topics(["a"]))
    run.show("None", lambda: client.describe_topics(None))
    run.show("tuple", lambda: client.describe_topics(collection(("a",))))
    run.show("none", lambda: client.describe_topics(collection([])))
    run.show("numbers", lambda: client.describe_topics(collection([1])))
    run.show("empty name", lambda: client.describe_topics(collection([""])))
    run.show("None within", lambda: client.describe_topics(collection([None])))
    run.show("cluster with an argument", lambda: client.describe_cluster(5))


def scram_credentials_are_checked_before_they_are_sent(run: FacadeScript) -> None:
    client = run.admin()
    admin = run.admin_module
    info = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 4096)
    upsert, delete = admin.UserScramCredentialUpsertion, admin.UserScramCredentialDeletion
    users: list[Any] = ["a", ("a",), [None], [1], [""], []]
    for value in users:
        if value != []:
            run.show(f"users {value!r}", lambda value=value: client.describe_user_scram_credentials(value))
    alterations: list[tuple[str, Any]] = [
        ("None", None),
        ("none", []),
        ("text", ["a"]),
        ("base class", [admin.UserScramCredentialAlteration("u")]),
        ("no user", [delete(None, admin.ScramMechanism.SCRAM_SHA_256)]),
        ("number as user", [delete(1, admin.ScramMechanism.SCRAM_SHA_256)]),
        ("empty user", [delete("", admin.ScramMechanism.SCRAM_SHA_256)]),
        ("number as mechanism", [delete("u", 1)]),
        ("unknown mechanism", [delete("u", admin.ScramMechanism.UNKNOWN)]),
        ("no password", [upsert("u", info, None)]),
        ("text as password", [upsert("u", info, "p")]),
        ("empty password", [upsert("u", info, b"")]),
        ("text as salt", [upsert("u", info, b"p", "s")]),
        ("empty salt", [upsert("u", info, b"p", b"")]),
        ("no info", [upsert("u", None, b"p")]),
        (
            "no iterations",
            [upsert("u", admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 0), b"p")],
        ),
        (
            "text as iterations",
            [upsert("u", admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, "x"), b"p")],
        ),
        ("number as info's mechanism", [upsert("u", admin.ScramCredentialInfo(1, 4096), b"p")]),
        (
            "unknown info's mechanism",
            [upsert("u", admin.ScramCredentialInfo(admin.ScramMechanism.UNKNOWN, 1), b"p")],
        ),
    ]
    run.show("nothing", lambda: client.alter_user_scram_credentials())
    for label, value in alterations:
        run.show(label, lambda value=value: client.alter_user_scram_credentials(value))


def offsets_are_listed_by_a_dict_of_specs(run: FacadeScript) -> None:
    client = run.admin()
    partition, spec = run.package.TopicPartition, run.admin_module.OffsetSpec
    latest = spec.latest()
    run.show("nothing", lambda: client.list_offsets())
    for value in (
        None,
        [],
        {None: latest},
        {"a": latest},
        {partition("", 0): latest},
        {partition("a"): latest},
        {partition("a", 0): None},
        {partition("a", 0): -1},
    ):
        run.show(f"{value!r}", lambda value=value: client.list_offsets(value))
    for level in (None, 1, "read_committed"):
        run.show(
            f"{level!r}",
            lambda level=level: client.list_offsets({partition("a", 0): latest}, isolation_level=level),
        )


def records_are_deleted_by_a_list_of_partitions(run: FacadeScript) -> None:
    client = run.admin()
    partition = run.package.TopicPartition
    run.show("nothing", lambda: client.delete_records())
    for value in (None, "a", (), [None], ["a"], [partition("a")], [partition("a", -5, 3)]):
        run.show(f"{value!r}", lambda value=value: client.delete_records(value))


def leaders_are_elected_by_type_and_partitions(run: FacadeScript) -> None:
    client = run.admin()
    partition, election = run.package.TopicPartition, run.package.ElectionType
    run.show("nothing", lambda: client.elect_leaders())
    run.show("number as type", lambda: client.elect_leaders(0, []))
    run.show("None as type", lambda: client.elect_leaders(None))
    for value in ("a", (), [None], ["a"], [partition("a")]):
        run.show(f"{value!r}", lambda value=value: client.elect_leaders(election.PREFERRED, value))


def _set(run: FacadeScript) -> Any:
    return run.admin_module.AlterConfigOpType.SET


def _calls(run: FacadeScript, client: Any) -> dict[str, Callable[..., Any]]:
    """Every call that gives futures, with good arguments, to be called with options."""
    admin, package = run.admin_module, run.package
    partition = package.TopicPartition
    resource, entry = admin.ConfigResource, admin.ConfigEntry
    topic = run.name("absent")
    binding = admin.AclBinding("topic", topic, "literal", "User:a", "*", "read", "allow")
    none = admin.AclBindingFilter("topic", topic, "literal", None, None, "any", "any")
    change = resource("topic", topic, incremental_configs=[entry("a", "1", incremental_operation=_set(run))])
    deletion = admin.UserScramCredentialDeletion(topic, admin.ScramMechanism.SCRAM_SHA_256)
    group = package.ConsumerGroupTopicPartitions
    return {
        "create_topics": lambda **o: client.create_topics([admin.NewTopic(topic, 1, 1)], **o),
        "delete_topics": lambda **o: client.delete_topics([topic], **o),
        "create_partitions": lambda **o: client.create_partitions([admin.NewPartitions(topic, 2)], **o),
        "describe_configs": lambda **o: client.describe_configs([resource("topic", topic)], **o),
        "alter_configs": lambda **o: client.alter_configs([resource("topic", topic, {"a": "1"})], **o),
        "incremental_alter_configs": lambda **o: client.incremental_alter_configs([change], **o),
        "create_acls": lambda **o: client.create_acls([binding], **o),
        "describe_acls": lambda **o: client.describe_acls(none, **o),
        "delete_acls": lambda **o: client.delete_acls([none], **o),
        "list_consumer_groups": lambda **o: client.list_consumer_groups(**o),
        "describe_consumer_groups": lambda **o: client.describe_consumer_groups([topic], **o),
        "delete_consumer_groups": lambda **o: client.delete_consumer_groups([topic], **o),
        "list_consumer_group_offsets": lambda **o: client.list_consumer_group_offsets([group(topic)], **o),
        "alter_consumer_group_offsets": lambda **o: client.alter_consumer_group_offsets(
            [group(topic, [partition(topic, 0, 1)])], **o
        ),
        "describe_topics": lambda **o: client.describe_topics(package.TopicCollection([topic]), **o),
        "describe_cluster": lambda **o: client.describe_cluster(**o),
        "describe_user_scram_credentials": lambda **o: client.describe_user_scram_credentials([topic], **o),
        "alter_user_scram_credentials": lambda **o: client.alter_user_scram_credentials([deletion], **o),
        "list_offsets": lambda **o: client.list_offsets(
            {partition(topic, 0): admin.OffsetSpec.latest()}, **o
        ),
        "delete_records": lambda **o: client.delete_records([partition(topic, 0, 1)], **o),
        "elect_leaders": lambda **o: client.elect_leaders(
            package.ElectionType.PREFERRED, [partition(topic, 0)], **o
        ),
    }
