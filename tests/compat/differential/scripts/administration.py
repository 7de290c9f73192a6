"""AdminClient: each call, good and bad, and the futures it gives."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import on_apache, on_both, script
from tests.compat.differential.stage import Stage

SECONDS = 10


def _results(stage: Stage, label: str, futures: Any) -> None:
    """Records each result of a dictionary of futures, or of one future."""
    if futures is None:
        return
    if not isinstance(futures, dict):
        stage.attempt(f"{label} result", futures.result, SECONDS)
        return
    for key in futures:
        stage.record(f"{label} of", key)
        stage.attempt(f"{label} result", futures[key].result, SECONDS)


def _ask(stage: Stage, label: str, call: Any, *arguments: Any, **keywords: Any) -> None:
    """Calls, records what the call itself raises, and every result."""
    _results(stage, label, stage.within(label, call, *arguments, **keywords))


@on_both()
def topics_are_created_and_deleted(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    first, second = stage.name("topic"), stage.name("topic")
    new = [
        module.NewTopic(first, 2, 1),
        module.NewTopic(second, num_partitions=1, config={"retention.ms": "5000"}),
    ]
    futures = stage.attempt("create", admin.create_topics, new)
    stage.record("type", type(futures[first]))
    _results(stage, "create", futures)
    _ask(stage, "create again", admin.create_topics, new[:1])
    _ask(stage, "delete", admin.delete_topics, [first, second], operation_timeout=5)
    _ask(stage, "delete unknown", admin.delete_topics, [stage.name("unknown")])


@on_both()
def topics_that_cannot_be_created_are_told(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    for label, arguments, keywords in (
        ("bad name", ("bad name", 1, 1), {}),
        ("no partitions", (stage.name("topic"), 0, 1), {}),
        ("too many replicas", (stage.name("topic"), 1, 7), {}),
        ("bad config", (stage.name("topic"), 1, 1), {"config": {"nonsense": "1"}}),
        ("bad config value", (stage.name("topic"), 1, 1), {"config": {"retention.ms": "soon"}}),
        ("assignment", (stage.name("topic"), 2), {"replica_assignment": [[1], [1]]}),
        ("assignment of another size", (stage.name("topic"), 3), {"replica_assignment": [[1]]}),
        ("unknown broker", (stage.name("topic"), 1), {"replica_assignment": [[77]]}),
        ("long name", ("x" * 260, 1, 1), {}),
        ("empty name", ("", 1, 1), {}),
    ):
        _ask(stage, label, lambda a=arguments, k=keywords: admin.create_topics([module.NewTopic(*a, **k)]))


@on_both()
def topics_are_only_validated_if_wanted(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    topic = stage.name("topic")
    _ask(stage, "validate", admin.create_topics, [module.NewTopic(topic, 1, 1)], validate_only=True)
    stage.record("there", topic in admin.list_topics(timeout=SECONDS).topics)
    _ask(stage, "validate", admin.create_topics, [module.NewTopic("bad name", 1, 1)], validate_only=True)


@script()
def calls_about_topics_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    for name in ("create_topics", "delete_topics", "create_partitions"):
        call = getattr(admin, name)
        for arguments in ((), (3,), (None,), ([3],), ([None],), ([],), ("t",)):
            stage.attempt(f"{name}{arguments}", call, *arguments)
        item: Any = {"create_topics": module.NewTopic("t"), "delete_topics": "t"}.get(name)
        item = item or module.NewPartitions("t", 2)
        stage.attempt(f"{name} timeout", call, [item], request_timeout="soon")
        stage.attempt(f"{name} below zero", call, [item], request_timeout=-5)
        stage.attempt(f"{name} nonsense", call, [item], nonsense=1)
        stage.attempt(f"{name} operation", call, [item], operation_timeout="soon")


@on_both()
def partitions_are_added(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    topic = stage.topic()
    _ask(stage, "add", admin.create_partitions, [module.NewPartitions(topic, 3)])
    _ask(stage, "as many", admin.create_partitions, [module.NewPartitions(topic, 3)])
    _ask(stage, "fewer", admin.create_partitions, [module.NewPartitions(topic, 1)])
    _ask(stage, "validate", admin.create_partitions, [module.NewPartitions(topic, 5)], validate_only=True)
    _ask(stage, "unknown", admin.create_partitions, [module.NewPartitions(stage.name("unknown"), 3)])
    _ask(stage, "assigned", admin.create_partitions, [module.NewPartitions(topic, 4, [[1]])])
    _ask(stage, "badly assigned", admin.create_partitions, [module.NewPartitions(topic, 6, [[1]])])


@on_both()
def topics_are_described(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.admin()
    topic, unknown = stage.topic(partitions=2), stage.name("unknown")
    futures = admin.describe_topics(kafka.TopicCollection([topic, unknown]))
    description = futures[topic].result(SECONDS)
    stage.call(str(description.topic_id), "<topic id>")
    _results(stage, "describe", futures)
    stage.record("type", type(description))
    stage.record("id", type(description.topic_id))
    futures = admin.describe_topics(kafka.TopicCollection([topic]), include_authorized_operations=True)
    operations = futures[topic].result(SECONDS).authorized_operations
    stage.record("operations", sorted(operation.name for operation in operations or []))


@script()
def descriptions_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.admin()
    for arguments in (
        (),
        (3,),
        (["t"],),
        (kafka.TopicCollection("t"),),
        (kafka.TopicCollection([]),),
        (None,),
    ):
        stage.attempt(f"topics{[type(a).__name__ for a in arguments]}", admin.describe_topics, *arguments)
    for topics in (kafka.TopicCollection([3]), kafka.TopicCollection([""]), kafka.TopicCollection([None])):
        stage.attempt("topics in it", admin.describe_topics, topics)
    stage.attempt(
        "operations",
        lambda: admin.describe_topics(kafka.TopicCollection(["t"]), include_authorized_operations="yes"),
    )
    stage.attempt("cluster", admin.describe_cluster, 3)
    stage.attempt("cluster keyword", lambda: admin.describe_cluster(nonsense=1))
    stage.attempt("cluster operations", lambda: admin.describe_cluster(include_authorized_operations=3))


@on_both()
def the_cluster_is_described(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.admin()
    description = admin.describe_cluster().result(SECONDS)
    stage.call(description.cluster_id, "<cluster>")
    stage.record("description", description)
    stage.record("controller", str(description.controller))
    stage.attempt("cluster id", admin.cluster_id, timeout=SECONDS)
    with_operations = admin.describe_cluster(include_authorized_operations=True).result(SECONDS)
    stage.record("operations", sorted(found.name for found in with_operations.authorized_operations or []))


@on_both()
def an_admin_client_lists_metadata(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.admin()
    topic = stage.topic()
    metadata = admin.list_topics(topic, timeout=SECONDS)
    stage.record("topics", metadata.topics)
    stage.record("brokers", metadata.brokers)
    stage.record("controller", metadata.controller_id)
    stage.attempt("text", admin.list_topics, topic, "soon")
    stage.attempt("number", admin.list_topics, 3)


@on_both()
def configs_are_described_and_altered(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    topic = stage.topic()
    resource = module.ConfigResource(module.ResourceType.TOPIC, topic)

    def entries_now() -> Any:
        return admin.describe_configs([resource])[resource].result(SECONDS)

    def show(label: str, retention: str = "604800000") -> None:
        stage.until(lambda: entries_now()["retention.ms"].value == retention, lambda: None)
        entries = entries_now()
        for name in ("retention.ms", "cleanup.policy"):
            entry = entries[name]
            stage.record(f"{label} {name}", [entry.value, entry.source, entry.is_default, entry.is_read_only])
            stage.record("shown", [str(entry), repr(entry), entry.is_sensitive, entry.is_synonym])

    show("at first")
    changed = module.ConfigResource("topic", topic, set_config={"retention.ms": "5000"})
    _ask(stage, "alter", admin.alter_configs, [changed])
    show("altered", "5000")
    operations = module.AlterConfigOpType
    change = module.ConfigResource(
        module.ResourceType.TOPIC,
        topic,
        incremental_configs=[
            module.ConfigEntry("retention.ms", "7000", incremental_operation=operations.SET),
            module.ConfigEntry("cleanup.policy", "compact", incremental_operation=operations.APPEND),
        ],
    )
    _ask(stage, "alter step by step", admin.incremental_alter_configs, [change])
    show("step by step", "7000")
    removal = module.ConfigResource(
        module.ResourceType.TOPIC,
        topic,
        incremental_configs=[
            module.ConfigEntry("retention.ms", None, incremental_operation=operations.DELETE)
        ],
    )
    _ask(stage, "delete", admin.incremental_alter_configs, [removal])
    show("deleted")


@on_both()
def configs_that_cannot_be_are_told(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    topic, unknown = stage.topic(), stage.name("unknown")
    for name, value in (("nonsense", "1"), ("retention.ms", "soon")):
        changed = module.ConfigResource("topic", topic, set_config={name: value})
        _ask(stage, f"alter {name}", admin.alter_configs, [changed])
        entry = module.ConfigEntry(name, value, incremental_operation=module.AlterConfigOpType.SET)
        step = module.ConfigResource("topic", topic, incremental_configs=[entry])
        _ask(stage, f"step {name}", admin.incremental_alter_configs, [step])
    _ask(stage, "unknown", admin.describe_configs, [module.ConfigResource("topic", unknown)])
    changed = module.ConfigResource("topic", topic, set_config={"retention.ms": "1"})
    _ask(stage, "validate", admin.alter_configs, [changed], validate_only=True)


@on_both()
def a_brokers_configs_are_described(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    resource = module.ConfigResource("broker", "1")
    entries = admin.describe_configs([resource])[resource].result(SECONDS)
    for name in ("log.retention.ms", "num.partitions", "message.max.bytes"):
        entry = entries[name]
        stage.record(name, [entry.value, entry.source, entry.is_default, entry.is_sensitive])
        stage.record("synonyms", entry.synonyms)
    _ask(
        stage,
        "unknown broker",
        admin.describe_configs,
        [module.ConfigResource("broker", "77")],
        request_timeout=1,
    )


@script()
def config_calls_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    resource = module.ConfigResource("topic", "t")
    for name in ("describe_configs", "alter_configs", "incremental_alter_configs"):
        call = getattr(admin, name)
        for arguments in ((), (3,), (None,), ([3],), ([],), ("t",), ([resource, resource],)):
            stage.attempt(f"{name}{arguments}", call, *arguments)
        stage.attempt(f"{name} timeout", call, [resource], request_timeout="soon")
    for arguments, keywords in (
        (("topic", "t"), {}),
        (("nonsense", "t"), {}),
        ((2, "t"), {}),
        ((99, "t"), {}),
        ((module.ResourceType.GROUP, None), {}),
        ((None, "t"), {}),
        (("topic", "t"), {"set_config": 3}),
        (("topic", "t"), {"set_config": {"a": "b"}}),
    ):
        stage.attempt(
            f"{arguments}{keywords}", lambda a=arguments, k=keywords: vars(module.ConfigResource(*a, **k))
        )
    stage.record("shown", [repr(resource), str(resource), len(resource)])
    stage.record(
        "equal", [resource == module.ConfigResource("topic", "t"), resource < module.ConfigResource(4, "a")]
    )
    entry = module.ConfigEntry("a", "b")
    stage.record("entry", vars(entry))
    stage.attempt("no operation", admin.incremental_alter_configs, [_with(module, entry)])


def _with(module: Any, entry: Any) -> Any:
    return module.ConfigResource("topic", "t", incremental_configs=[entry])


@on_both()
def groups_are_listed_and_described(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    group = stage.group()
    client = stage.name("client")
    consumer = stage.consumer(group_id=group, client_id=client)
    consumer.subscribe([topic])
    stage.values(consumer, 2)
    consumer.commit(asynchronous=False)
    admin = stage.admin()
    stage.call(consumer.memberid(), "<member>")
    description = admin.describe_consumer_groups([group])[group].result(SECONDS)
    stage.record("description", description)
    stage.record("types", [type(description), type(description.members[0]), type(description.coordinator)])
    listing = admin.list_consumer_groups().result(SECONDS)
    stage.record("listed", [found for found in listing.valid if found.group_id == group])
    stage.record("errors", listing.errors)
    stable = admin.list_consumer_groups(states={kafka.ConsumerGroupState.STABLE}).result(SECONDS)
    stage.record("stable", group in [found.group_id for found in stable.valid])
    empty = admin.list_consumer_groups(states={kafka.ConsumerGroupState.EMPTY}).result(SECONDS)
    stage.record("empty", group in [found.group_id for found in empty.valid])
    _ask(stage, "delete while used", admin.delete_consumer_groups, [group])
    consumer.close()
    stage.record("empty now", admin.describe_consumer_groups([group])[group].result(SECONDS))
    _ask(stage, "delete", admin.delete_consumer_groups, [group])
    _ask(stage, "delete again", admin.delete_consumer_groups, [group])
    unknown = stage.name("unknown")
    _ask(stage, "describe unknown", admin.describe_consumer_groups, [unknown])


@on_apache()
def groups_of_the_new_protocol_are_described(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b")
    group = stage.group()
    consumer = stage.consumer(group_id=group, group_protocol="consumer", client_id=stage.name("client"))
    consumer.subscribe([topic])
    stage.values(consumer, 2)
    admin = stage.admin()
    stage.call(consumer.memberid(), "<member>")
    stage.record("description", admin.describe_consumer_groups([group])[group].result(SECONDS))
    listing = admin.list_consumer_groups(types={kafka.ConsumerGroupType.CONSUMER}).result(SECONDS)
    stage.record("listed", [found for found in listing.valid if found.group_id == group])


@on_both()
def offsets_of_groups_are_listed_and_altered(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c", partitions=2)
    group = stage.group()
    partition = kafka.TopicPartition(topic, 0, 2, "m")
    stage.consumer(group_id=group).commit(offsets=[partition], asynchronous=False)
    admin = stage.admin()
    model = kafka.ConsumerGroupTopicPartitions
    _ask(stage, "all", admin.list_consumer_group_offsets, [model(group)])
    both = [kafka.TopicPartition(topic, 0), kafka.TopicPartition(topic, 1)]
    _ask(stage, "some", admin.list_consumer_group_offsets, [model(group, both)])
    _ask(stage, "stable", admin.list_consumer_group_offsets, [model(group)], require_stable=True)
    changed = [kafka.TopicPartition(topic, 0, 1), kafka.TopicPartition(topic, 1, 5, "n")]
    _ask(stage, "alter", admin.alter_consumer_group_offsets, [model(group, changed)])
    _ask(stage, "altered", admin.list_consumer_group_offsets, [model(group)])
    _ask(stage, "unknown group", admin.list_consumer_group_offsets, [model(stage.name("unknown"))])
    wrong = [kafka.TopicPartition(stage.name("unknown"), 0, 1)]
    _ask(stage, "unknown topic", admin.alter_consumer_group_offsets, [model(group, wrong)])


@script()
def group_calls_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    admin = stage.admin()
    model = kafka.ConsumerGroupTopicPartitions
    partition = kafka.TopicPartition
    for name in ("describe_consumer_groups", "delete_consumer_groups"):
        for arguments in ((), (3,), (None,), ([],), ([3],), ([""],), ("g",), (["g", "g"],)):
            stage.attempt(f"{name}{arguments}", getattr(admin, name), *arguments)
    requests: list[Any] = [
        None,
        3,
        [],
        [3],
        [model(None)],
        [model(3)],
        [model("")],
        [model("g", 3)],
        [model("g", [])],
        [model("g", [None])],
        [model("g", [3])],
        [model("g", [partition("", 0)])],
        [model("g", [partition("t", -1)])],
        [model("g", [partition("t", 0, 5)])],
        [model("g", [partition("t", 0, -5)])],
        [model("g", None), model("h", None)],
    ]
    for index, request in enumerate(requests):
        if index != 13:
            stage.attempt(f"list {index}", admin.list_consumer_group_offsets, request)
            stage.attempt(f"alter {index}", admin.alter_consumer_group_offsets, request)
    stage.attempt("list with an offset", admin.list_consumer_group_offsets, requests[13])
    stage.attempt("states", lambda: admin.list_consumer_groups(states=3))
    stage.attempt("states in it", lambda: admin.list_consumer_groups(states={3}))
    stage.attempt("types", lambda: admin.list_consumer_groups(types=["a"]))
    stage.attempt("types in it", lambda: admin.list_consumer_groups(types={"a"}))
    stage.attempt("unknown type", lambda: admin.list_consumer_groups(types={kafka.ConsumerGroupType.UNKNOWN}))
    stage.attempt("nonsense", lambda: admin.list_consumer_groups(nonsense=1))


@on_both()
def groups_are_listed_the_old_way(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a")
    group = stage.group()
    consumer = stage.consumer(group_id=group, client_id=stage.name("client"))
    consumer.subscribe([topic])
    stage.values(consumer, 1)
    stage.call(consumer.memberid(), "<member>")
    found = stage.within("list", stage.admin().list_groups, group, SECONDS) or []
    for listed in found:
        known = {name: value for name, value in vars(listed).items() if name not in ("members", "broker")}
        stage.record("group", known)
        stage.record("members", [sorted(vars(member)) for member in listed.members])
        stage.record("shown", [str(listed), repr(listed)])


@on_both()
def offsets_are_listed(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    topic = stage.filled_topic("a", "b", "c")
    admin = stage.admin()
    specification = module.OffsetSpec
    partition = kafka.TopicPartition(topic, 0)
    for label, spec in (
        ("earliest", specification.earliest()),
        ("latest", specification.latest()),
        ("timestamp", specification.for_timestamp(1_600_000_000_001)),
        ("late timestamp", specification.for_timestamp(1_700_000_000_001)),
    ):
        _ask(stage, label, admin.list_offsets, {partition: spec})
    result = admin.list_offsets({partition: specification.latest()})[partition].result(SECONDS)
    stage.record("type", type(result))
    stage.record("shown", [str(result)])
    committed = kafka.IsolationLevel.READ_COMMITTED
    _ask(
        stage, "committed", admin.list_offsets, {partition: specification.latest()}, isolation_level=committed
    )
    unknown = {kafka.TopicPartition(stage.name("unknown"), 0): specification.latest()}
    _ask(stage, "unknown", admin.list_offsets, unknown, request_timeout=2)


@on_apache()
def the_largest_timestamps_offset_is_listed(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    topic = stage.filled_topic("a", "b", "c")
    spec = module.OffsetSpec.max_timestamp()
    _ask(stage, "largest", stage.admin().list_offsets, {kafka.TopicPartition(topic, 0): spec})


@script()
def offset_calls_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    latest = module.OffsetSpec.latest()
    partition = kafka.TopicPartition
    for request in (
        None,
        3,
        {},
        [],
        {"t": latest},
        {partition("t", 0): None},
        {partition("t", 0): 3},
        {partition("", 0): latest},
        {partition("t", -1): latest},
    ):
        stage.attempt(f"list {type(request).__name__}", admin.list_offsets, request)
    stage.attempt("isolation", lambda: admin.list_offsets({partition("t", 0): latest}, isolation_level=1))
    for request in (
        None,
        3,
        [],
        [3],
        [None],
        [partition("t", -1)],
        [partition("t", 0)],
        [partition("", 0, 1)],
    ):
        stage.attempt(f"delete {type(request).__name__}", admin.delete_records, request)
    for kind, partitions in (
        (None, None),
        (3, None),
        (kafka.ElectionType.PREFERRED, 3),
        (kafka.ElectionType.PREFERRED, [3]),
        (kafka.ElectionType.PREFERRED, [partition("t", -1)]),
        (kafka.ElectionType.PREFERRED, []),
    ):
        stage.attempt(f"elect {kind} {partitions!r}"[:40], admin.elect_leaders, kind, partitions)
    stage.record(
        "specs", [type(latest).__name__, module.OffsetSpec.earliest() == module.OffsetSpec.earliest()]
    )
    stage.record("spec", [latest._value, module.OffsetSpec.for_timestamp(5)._value])


@on_both()
def records_are_deleted(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.filled_topic("a", "b", "c")
    admin = stage.admin()
    partition = kafka.TopicPartition
    _ask(stage, "delete", admin.delete_records, [partition(topic, 0, 2)])
    _ask(stage, "all", admin.delete_records, [partition(topic, 0, kafka.OFFSET_END)])
    _ask(stage, "beyond", admin.delete_records, [partition(topic, 0, 100)])
    _ask(stage, "unknown partition", admin.delete_records, [partition(topic, 7, 1)], request_timeout=2)


@on_apache()
def leaders_are_elected(kafka: ModuleType, stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    admin = stage.admin()
    partitions = [kafka.TopicPartition(topic, 0), kafka.TopicPartition(topic, 7)]
    _ask(stage, "preferred", admin.elect_leaders, kafka.ElectionType.PREFERRED, partitions)
    _ask(stage, "unclean", admin.elect_leaders, kafka.ElectionType.UNCLEAN, partitions[:1])
    _ask(stage, "none", admin.elect_leaders, kafka.ElectionType.PREFERRED, [])


@on_apache()
def acls_without_an_authorizer_are_refused(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    binding = module.AclBinding("topic", "t", "literal", "User:a", "*", "read", "allow")
    everything = module.AclBindingFilter("any", None, "any", None, None, "any", "any")
    _ask(stage, "create", admin.create_acls, [binding])
    _ask(stage, "describe", admin.describe_acls, everything)
    _ask(stage, "delete", admin.delete_acls, [everything])


@script()
def acl_calls_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    good = ["topic", "t", "literal", "User:a", "*", "read", "allow"]
    binding = module.AclBinding(*good)
    stage.record("shown", [repr(binding), str(binding), vars(binding)])
    stage.record(
        "equal", [binding == module.AclBinding(*good), hash(binding) == hash(module.AclBinding(*good))]
    )
    for position, value in (
        (0, "nonsense"),
        (0, 99),
        (0, None),
        (0, "any"),
        (1, None),
        (1, 3),
        (2, "nonsense"),
        (2, "match"),
        (3, None),
        (4, None),
        (5, "any"),
        (5, "nonsense"),
        (6, "any"),
        (6, 3.5),
    ):
        arguments = [*good]
        arguments[position] = value
        stage.attempt(f"binding {position} {value!r}", lambda a=arguments: repr(module.AclBinding(*a)))
        stage.attempt(f"filter {position} {value!r}", lambda a=arguments: repr(module.AclBindingFilter(*a)))
    for name in ("create_acls", "delete_acls"):
        for arguments in ((), (3,), (None,), ([],), ([3],), ("t",), ([binding, binding],)):
            stage.attempt(f"{name}{len(arguments)}", getattr(admin, name), *arguments)
    for argument in (None, 3, binding):
        stage.attempt("describe_acls", admin.describe_acls, argument)
    other = module.AclBinding("topic", "u", "literal", "User:a", "*", "read", "allow")
    stage.record("order", [binding < other, other < binding, sorted([other, binding])[0] is binding])


@on_apache()
def scram_credentials_are_altered_and_described(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    user = stage.name("user")
    information = module.ScramCredentialInfo(module.ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = module.UserScramCredentialUpsertion(user, information, b"password", b"salt")
    _ask(stage, "upsert", admin.alter_user_scram_credentials, [upsertion])
    stage.until(lambda: _has_scram(admin, user), lambda: None)
    _ask(stage, "describe", admin.describe_user_scram_credentials, [user])
    deletion = module.UserScramCredentialDeletion(user, module.ScramMechanism.SCRAM_SHA_256)
    _ask(stage, "delete", admin.alter_user_scram_credentials, [deletion])
    unknown = module.UserScramCredentialDeletion(stage.name("unknown"), module.ScramMechanism.SCRAM_SHA_512)
    _ask(stage, "delete unknown", admin.alter_user_scram_credentials, [unknown])
    _ask(stage, "describe unknown", admin.describe_user_scram_credentials, [stage.name("unknown")])


def _has_scram(admin: Any, user: str) -> bool:
    try:
        return bool(admin.describe_user_scram_credentials([user])[user].result(SECONDS))
    except Exception:
        return False


@script()
def scram_calls_refuse_other_types(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    for argument in (3, [3], [None], [""], "u", ["u", "u"]):
        stage.attempt(f"describe {argument!r}", admin.describe_user_scram_credentials, argument)
    information = module.ScramCredentialInfo(module.ScramMechanism.SCRAM_SHA_256, 4096)
    stage.record("info", vars(information))
    make, mechanism = module.UserScramCredentialUpsertion, module.ScramMechanism.SCRAM_SHA_256
    for label, alterations in (
        ("none", None),
        ("number", 3),
        ("empty", []),
        ("in it", [3]),
        ("no user", [make(None, information, b"p")]),
        ("number user", [make(3, information, b"p")]),
        ("empty user", [make("", information, b"p")]),
        ("no password", [make("u", information, None)]),
        ("text password", [make("u", information, "p")]),
        ("empty password", [make("u", information, b"")]),
        ("text salt", [make("u", information, b"p", "s")]),
        ("empty salt", [make("u", information, b"p", b"")]),
        ("info", [make("u", 3, b"p")]),
        ("iterations", [make("u", module.ScramCredentialInfo(mechanism, 0), b"p")]),
        ("mechanism", [make("u", module.ScramCredentialInfo(3, 4096), b"p")]),
        ("delete", [module.UserScramCredentialDeletion("u", 3)]),
    ):
        stage.attempt(label, admin.alter_user_scram_credentials, alterations)


@script()
def admin_requests_that_nobody_answers_time_out(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    admin = stage.admin()
    new = [module.NewTopic("t", 1, 1)]
    _ask(stage, "create", admin.create_topics, new, request_timeout=0.2)
    _ask(stage, "delete", admin.delete_topics, ["t"], request_timeout=0.2)
    _ask(stage, "cluster", admin.describe_cluster, request_timeout=0.2)
    _ask(stage, "groups", admin.list_consumer_groups, request_timeout=0.2)
    _ask(stage, "group", admin.describe_consumer_groups, ["g"], request_timeout=0.2)
    stage.attempt("metadata", admin.list_topics, timeout=0.1)
    stage.attempt("cluster id", admin.cluster_id, timeout=0.1)


@script()
def an_admin_client_is_a_context_manager(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    with module.AdminClient({"log_level": 0}) as admin:
        stage.record("inside", type(admin))
        stage.attempt("poll", admin.poll, 0)
        stage.attempt("credentials", admin.set_sasl_credentials, "u", "p")
        stage.attempt("bad credentials", admin.set_sasl_credentials, 1, 2)
        stage.attempt("len", len, admin)
    for label, call in (
        ("list", lambda: admin.list_topics(timeout=0.1)),
        ("create", lambda: admin.create_topics([module.NewTopic("t")])),
        ("cluster", lambda: admin.describe_cluster()),
        ("poll", lambda: admin.poll(0)),
        ("exit", lambda: admin.__exit__(None, None, None)),
        ("enter", lambda: admin.__enter__() is admin),
    ):
        stage.attempt(f"afterwards {label}", call)


@on_both()
def futures_call_back_in_another_thread(kafka: ModuleType, stage: Stage) -> None:
    import threading

    topic = stage.topic()
    admin = stage.admin()
    future = admin.describe_topics(kafka.TopicCollection([topic]))[topic]
    done = threading.Event()
    callers: list[bool] = []
    here = threading.get_ident()

    def finished(found: Any) -> None:
        callers.append(threading.get_ident() == here)
        done.set()

    stage.record("result", future.result(SECONDS).name)
    future.add_done_callback(finished)
    stage.record("called", [done.wait(5), callers])
    stage.record("state", [future.done(), future.cancelled(), future.running(), future.exception()])
    stage.attempt("cancel", future.cancel)


@script()
def the_admin_module_has_these_names(kafka: ModuleType, stage: Stage) -> None:
    module: Any = stage.module("admin")
    for name, value in sorted(vars(module).items()):
        if isinstance(value, type) and "confluent_kafka" in value.__module__ and name[0] != "_":
            stage.record(name, value)
            members = getattr(value, "__members__", None)
            if members is not None:
                stage.record("members", {key: member.value for key, member in members.items()})
