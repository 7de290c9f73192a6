"""What AdminClient does with a cluster: results, and what brokers refuse.

Each function is one behaviour. All names are of the run alone, so that both packages can meet the same broker.
"""

# One call a line, so that lines can be compared at a glance.
# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.compat.facade_script import FacadeScript
from tests.waiting import wait_for

A_WEEK_MS = "604800000"


def topics_are_created_and_created_once(run: FacadeScript) -> None:
    client, new = run.admin(), run.admin_module.NewTopic
    first, second = run.name("first"), run.name("second")
    run.show(
        "create",
        lambda: client.create_topics([new(first, 2, 1), new(second, config={"retention.ms": "5000"})]),
    )
    run.show("again", lambda: client.create_topics([new(first, 2, 1), new(second)]))
    run.show("validate", lambda: client.create_topics([new(run.name("third"), 2, 1)], validate_only=True))
    run.show("not there", lambda: _partitions(client, run.name("third")))
    run.show("validate what is there", lambda: client.create_topics([new(first, 2, 1)], validate_only=True))
    run.show(
        "by hand", lambda: client.create_topics([new(run.name("hand"), 2, replica_assignment=[[1], [1]])])
    )
    run.show(
        "by hand without a number",
        lambda: client.create_topics([new(run.name("none"), replica_assignment=[[1]])]),
    )
    run.show(
        "unknown broker", lambda: client.create_topics([new(run.name("u"), 1, replica_assignment=[[77]])])
    )
    run.show(
        "brokers twice", lambda: client.create_topics([new(run.name("w"), 1, replica_assignment=[[1, 1]])])
    )
    run.show("too many replicas", lambda: client.create_topics([new(run.name("r"), 1, 3)]))
    run.show("no replicas", lambda: client.create_topics([new(run.name("n"), 1, 0)]))
    run.show("bad name", lambda: client.create_topics([new(run.name("a b"), 1, 1)]))
    run.show("bad setting", lambda: client.create_topics([new(run.name("s"), 1, 1, config={"zork": "1"})]))
    run.show(
        "bad value", lambda: client.create_topics([new(run.name("v"), 1, 1, config={"retention.ms": "x"})])
    )
    run.show(
        "number as a value",
        lambda: client.create_topics([new(run.name("i"), 1, 1, config={"retention.ms": 7})]),
    )
    run.show(
        "None as a value",
        lambda: client.create_topics([new(run.name("o"), 1, 1, config={"retention.ms": None})]),
    )
    run.show(
        "twice in one call",
        lambda: client.create_topics([new(run.name("d"), 1, 1), new(run.name("d"), 1, 1)]),
    )
    run.show(
        "good beside bad",
        lambda: client.create_topics([new(run.name("bad "), 1, 1), new(run.name("good"), 1, 1)]),
    )
    run.show("without waiting", lambda: client.create_topics([new(run.name("q"), 1, 1)], operation_timeout=0))
    run.show(
        "with both times",
        lambda: client.create_topics([new(run.name("t"), 1, 1)], operation_timeout=5, request_timeout=20),
    )
    run.show("no time", lambda: client.create_topics([new(run.name("z"), 1, 1)], request_timeout=0))


def topics_are_deleted_once(run: FacadeScript) -> None:
    client, new = run.admin(), run.admin_module.NewTopic
    name = run.name("here")
    _created(client, [new(name, 1, 1), new(run.name("other"), 1, 1)])
    run.show("delete", lambda: client.delete_topics([name, run.name("absent")]))
    run.show("again", lambda: client.delete_topics([name]))
    run.show("twice in one call", lambda: client.delete_topics([run.name("other"), run.name("other")]))
    run.show("bad name", lambda: client.delete_topics(["a b"]))
    run.show("empty name", lambda: client.delete_topics([""]))
    run.show("with both times", lambda: client.delete_topics([name], operation_timeout=5, request_timeout=20))


def partitions_are_added(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    more, name = admin.NewPartitions, run.name("topic")
    _created(client, [admin.NewTopic(name, 1, 1), admin.NewTopic(run.name("two"), 2, 1)])
    run.show("validate", lambda: client.create_partitions([more(name, 3)], validate_only=True))
    run.show("add", lambda: client.create_partitions([more(name, 3), more(run.name("absent"), 3)]))
    run.show("no more", lambda: client.create_partitions([more(name, 3)]))
    run.show("fewer", lambda: client.create_partitions([more(name, 2)]))
    run.show("by hand", lambda: client.create_partitions([more(run.name("two"), 4, [[1], [1]])]))
    run.show("by hand to nobody", lambda: client.create_partitions([more(run.name("two"), 5, [[77]])]))
    run.show("by hand too few", lambda: client.create_partitions([more(run.name("two"), 6, [[1]])]))
    run.show("twice in one call", lambda: client.create_partitions([more(name, 4), more(name, 5)]))


def the_metadata_of_one_topic_names_its_partitions(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    name = run.name("topic")
    _created(client, [admin.NewTopic(name, 3, 1)])
    run.show("fields", lambda: _metadata(run, client.list_topics(name, timeout=10), [name]))
    run.show("keyword", lambda: _metadata(run, client.list_topics(topic=name), [name]))
    run.show(
        "absent",
        lambda: _metadata(run, client.list_topics(run.name("absent"), timeout=10), [run.name("absent")]),
    )
    run.show("bad name", lambda: _metadata(run, client.list_topics("a b", timeout=10), ["a b"]))
    run.show("all", lambda: _metadata(run, client.list_topics(timeout=10), [name]))
    run.show("id", lambda: client.cluster_id() == client.list_topics().cluster_id)
    run.show("id in time", lambda: client.cluster_id(timeout=10) == client.cluster_id(5))


def topics_are_described(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    name, collection = run.name("topic"), run.package.TopicCollection
    _created(client, [admin.NewTopic(name, 2, 1)])
    described = lambda **o: client.describe_topics(collection([name, run.name("absent"), "a b"]), **o)  # noqa: E731
    run.show("fields", lambda: _without_ids(described()))
    run.show("operations", lambda: _without_ids(described(include_authorized_operations=True)))
    run.show("twice", lambda: list(client.describe_topics(collection([name, name]))))
    result = client.describe_topics(collection([name]))[name].result(10)
    run.show("id", lambda: (type(result.topic_id).__name__, len(str(result.topic_id))))
    run.show(
        "types", lambda: [type(result.partitions[0]).__name__, type(result.partitions[0].leader).__name__]
    )
    run.show("node", lambda: str(result.partitions[0].leader) == str(result.partitions[0].replicas[0]))


def the_cluster_is_described(run: FacadeScript) -> None:
    client = run.admin()
    run.show("fields", lambda: client.describe_cluster())
    run.show("operations", lambda: client.describe_cluster(include_authorized_operations=True))
    run.show("in time", lambda: client.describe_cluster(request_timeout=10))
    run.show("no time", lambda: client.describe_cluster(request_timeout=0))


def configurations_are_described(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    name, resource = run.name("topic"), admin.ConfigResource
    _created(client, [admin.NewTopic(name, 1, 1, config={"retention.ms": "5000"})])
    topic, broker = resource("topic", name), resource("broker", "1")
    for label, wanted in (("topic", topic), ("broker", broker)):
        found = client.describe_configs([wanted])[wanted].result(10)
        run.show(label, lambda found=found: dict(sorted(found.items())))
    both = client.describe_configs([topic, broker])
    run.show("both", lambda: [(key, sorted(future.result(10))[:3]) for key, future in both.items()])
    run.show("absent topic", lambda: client.describe_configs([resource("topic", run.name("absent"))]))
    run.show("absent broker", lambda: client.describe_configs([resource("broker", "77")], request_timeout=1))
    run.show("no broker", lambda: client.describe_configs([resource("broker", "zork")]))
    run.show("any type", lambda: client.describe_configs([resource("any", "x")]))
    run.show("unknown type", lambda: client.describe_configs([resource("unknown", "x")]))
    run.show("transactional id", lambda: client.describe_configs([resource("transactional_id", "x")]))
    group = client.describe_configs([resource("group", run.name("group"))])
    run.show("group", lambda: [sorted(future.result(10).items()) for future in group.values()])
    run.show("by another broker", lambda: client.describe_configs([topic], broker=77, request_timeout=1))
    by_broker = client.describe_configs([topic], broker=1)
    run.show("by a broker", lambda: [sorted(future.result(10)) for future in by_broker.values()])
    run.show("twice", lambda: len(client.describe_configs([topic, resource("topic", name)])))
    other = client.describe_configs([topic, resource("topic", name)])
    run.show("twice in a call", lambda: [sorted(future.result(10))[:2] for future in other.values()])


def configurations_are_replaced(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    name, resource = run.name("topic"), admin.ConfigResource
    _created(client, [admin.NewTopic(name, 1, 1, config={"retention.ms": "5000"})])
    run.show(
        "validate",
        lambda: client.alter_configs([resource("topic", name, {"segment.ms": "9000"})], validate_only=True),
    )
    run.show("as it was", lambda: _settings(client, admin, name))
    run.show("replace", lambda: client.alter_configs([resource("topic", name, {"segment.ms": "9000"})]))
    run.show("replaced", lambda: _settings(client, admin, name, {"segment.ms": "9000"}))
    run.show("bad name", lambda: client.alter_configs([resource("topic", name, {"zork": "1"})]))
    run.show("bad value", lambda: client.alter_configs([resource("topic", name, {"retention.ms": "x"})]))
    run.show(
        "absent", lambda: client.alter_configs([resource("topic", run.name("absent"), {"retention.ms": "1"})])
    )
    run.show(
        "bad broker", lambda: client.alter_configs([resource("broker", "77", {"a": "1"})], request_timeout=1)
    )
    run.show(
        "two of a kind",
        lambda: client.alter_configs(
            [
                resource("topic", name, {"retention.ms": "1"}),
                resource("topic", run.name("x"), {"retention.ms": "1"}),
            ]
        ),
    )
    run.show(
        "None as a value", lambda: client.alter_configs([resource("topic", name, {"retention.ms": None})])
    )
    run.show("all back", lambda: client.alter_configs([resource("topic", name)]))
    in_the_end = {"retention.ms": A_WEEK_MS, "segment.ms": A_WEEK_MS}
    run.show("in the end", lambda: _settings(client, admin, name, in_the_end))


def configurations_are_changed_one_by_one(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    name, resource, entry, change = (
        run.name("topic"),
        admin.ConfigResource,
        admin.ConfigEntry,
        admin.AlterConfigOpType,
    )
    _created(client, [admin.NewTopic(name, 1, 1, config={"retention.ms": "5000"})])

    def changed(*entries: Any, topic: str = name, **options: Any) -> Any:
        return client.incremental_alter_configs(
            [resource("topic", topic, incremental_configs=list(entries))], **options
        )

    set_segment = entry("segment.ms", "9000", incremental_operation=change.SET)
    run.show("validate", lambda: changed(set_segment, validate_only=True))
    run.show("as it was", lambda: _settings(client, admin, name))
    run.show("set", lambda: changed(set_segment))
    run.show("after set", lambda: _settings(client, admin, name, {"segment.ms": "9000"}))
    run.show(
        "append", lambda: changed(entry("cleanup.policy", "compact", incremental_operation=change.APPEND))
    )
    run.show("after append", lambda: _settings(client, admin, name, {"cleanup.policy": "delete,compact"}))
    run.show(
        "subtract", lambda: changed(entry("cleanup.policy", "compact", incremental_operation=change.SUBTRACT))
    )
    run.show("delete", lambda: changed(entry("retention.ms", None, incremental_operation=change.DELETE)))
    run.show(
        "delete with a value", lambda: changed(entry("segment.ms", "3", incremental_operation=change.DELETE))
    )
    run.show("in the end", lambda: _settings(client, admin, name, {"segment.ms": A_WEEK_MS}))
    run.show(
        "append to no list", lambda: changed(entry("retention.ms", "1", incremental_operation=change.APPEND))
    )
    run.show("bad name", lambda: changed(entry("zork", "1", incremental_operation=change.SET)))
    run.show("bad value", lambda: changed(entry("retention.ms", "x", incremental_operation=change.SET)))
    run.show("twice", lambda: changed(set_segment, set_segment))
    run.show("absent", lambda: changed(set_segment, topic=run.name("absent")))
    run.show("absent broker", lambda: changed(set_segment, broker=77, request_timeout=1))
    run.show("by a broker", lambda: changed(set_segment, broker=1))


def access_rules_are_created_found_and_deleted(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    name = run.name("topic")
    rule, matching = admin.AclBinding, admin.AclBindingFilter
    read = rule("topic", name, "literal", "User:a", "*", "read", "allow")
    write = rule("topic", name, "prefixed", "User:b", "127.0.0.1", "write", "deny")
    group = rule("group", name, "literal", "User:a", "*", "describe", "allow")
    everything = matching("any", name, "any", None, None, "any", "any")
    run.show("create", lambda: client.create_acls([read, write, group]))
    run.show("again", lambda: client.create_acls([read]))
    wait_for(lambda: len(client.describe_acls(everything).result(10)) == 3)
    found = client.describe_acls(everything).result(10)
    run.show("found", lambda: sorted(found))
    run.show("types", lambda: [type(acl).__name__ for acl in found])
    run.show(
        "by principal",
        lambda: client.describe_acls(matching("topic", name, "any", "User:b", None, "any", "any")),
    )
    run.show(
        "by pattern",
        lambda: sorted(
            client.describe_acls(matching("topic", name, "match", None, None, "any", "any")).result(10)
        ),
    )
    run.show(
        "none",
        lambda: client.describe_acls(
            matching("topic", run.name("absent"), "literal", None, None, "any", "any")
        ),
    )
    run.show(
        "bad principal",
        lambda: client.create_acls([rule("topic", name, "literal", "zork", "*", "read", "allow")]),
    )
    run.show(
        "bad host",
        lambda: client.create_acls([rule("topic", name, "literal", "User:a", "", "read", "allow")]),
    )
    run.show(
        "empty name",
        lambda: client.create_acls([rule("topic", "", "literal", "User:a", "*", "read", "allow")]),
    )
    run.show(
        "broker",
        lambda: client.create_acls([rule("broker", name, "literal", "User:a", "*", "read", "allow")]),
    )
    run.show(
        "wrong operation",
        lambda: client.create_acls(
            [rule("topic", name, "literal", "User:a", "*", "cluster_action", "allow")]
        ),
    )
    run.show(
        "good and bad",
        lambda: client.create_acls([rule("topic", name, "literal", "zork", "*", "read", "allow"), read]),
    )
    by_user = matching("any", name, "any", "User:b", None, "any", "any")
    none = matching("any", run.name("absent"), "any", None, None, "any", "any")
    run.show("delete some", lambda: client.delete_acls([by_user, none]))
    rest = client.delete_acls([everything])
    run.show("delete all", lambda: [sorted(future.result(10)) for future in rest.values()])
    wait_for(lambda: not client.describe_acls(everything).result(10))
    run.show("nothing left", lambda: client.describe_acls(everything))


def scram_credentials_are_set_described_and_taken_away(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    first, second = run.name("first"), run.name("second")
    sha256 = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_256, 4096)
    sha512 = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_512, 8192)
    upsert, delete = admin.UserScramCredentialUpsertion, admin.UserScramCredentialDeletion

    def altered(*alterations: Any) -> Any:
        return dict(sorted(client.alter_user_scram_credentials(list(alterations)).items()))

    def held_by_first() -> int | None:
        """None where the broker is too old to tell."""
        try:
            users = client.describe_user_scram_credentials().result(10)
        except run.package.KafkaException:
            return None
        return len(users[first].scram_credential_infos) if first in users else 0

    def described(*users: str) -> list[Any]:
        futures = client.describe_user_scram_credentials(list(users))
        return [_in_order(futures[user].result(10)) for user in users]

    run.show("set", lambda: altered(upsert(first, sha256, b"p"), upsert(second, sha512, b"q", b"salt")))
    run.show("another", lambda: altered(upsert(first, sha512, b"p")))
    wait_for(lambda: held_by_first() in (2, None))
    run.show("describe", lambda: described(first, second))
    run.show("describe twice", lambda: client.describe_user_scram_credentials([first, first]))
    everyone = client.describe_user_scram_credentials()
    run.show("everyone", lambda: [_in_order(everyone.result(10)[name]) for name in (first, second)])
    run.show("everyone by None", lambda: first in client.describe_user_scram_credentials(None).result(10))
    run.show("everyone by no one", lambda: list(client.describe_user_scram_credentials([])))
    run.show(
        "too few iterations",
        lambda: altered(upsert(first, admin.ScramCredentialInfo(sha256.mechanism, 5), b"p")),
    )
    run.show("twice the same", lambda: altered(upsert(first, sha256, b"p"), delete(first, sha256.mechanism)))
    run.show("delete", lambda: altered(delete(first, sha256.mechanism), delete(second, sha512.mechanism)))
    run.show(
        "delete again", lambda: altered(delete(first, sha256.mechanism), delete(first, sha512.mechanism))
    )
    wait_for(lambda: held_by_first() in (1, None))
    run.show("left", lambda: described(first))


def offsets_are_listed(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    partition, spec, name = run.package.TopicPartition, admin.OffsetSpec, run.name("topic")
    _created(client, [admin.NewTopic(name, 2, 1)])
    run.fill(name, {0: [1000, 3000, 2000]})
    latest = spec.latest()
    for label, wanted in (
        ("earliest", spec.earliest()),
        ("latest", latest),
        ("max timestamp", spec.max_timestamp()),
        ("at 1500", spec.for_timestamp(1500)),
        ("at 9999", spec.for_timestamp(9999)),
        ("at 0", spec.for_timestamp(0)),
    ):
        run.show(label, lambda wanted=wanted: client.list_offsets({partition(name, 0): wanted}))
        run.show(f"{label} of none", lambda wanted=wanted: client.list_offsets({partition(name, 1): wanted}))
    run.show(
        "two", lambda: client.list_offsets({partition(name, 0): latest, partition(name, 1): spec.earliest()})
    )
    level = run.package.IsolationLevel
    for wanted in (level.READ_COMMITTED, level.READ_UNCOMMITTED):
        run.show(
            str(wanted),
            lambda wanted=wanted: client.list_offsets({partition(name, 0): latest}, isolation_level=wanted),
        )
    run.show("in time", lambda: client.list_offsets({partition(name, 0): latest}, request_timeout=10))
    run.show("absent topic", lambda: client.list_offsets({partition(run.name("absent"), 0): latest}))
    run.show("absent partition", lambda: client.list_offsets({partition(name, 7): latest}))
    run.show(
        "good and bad",
        lambda: client.list_offsets({partition(name, 0): latest, partition(run.name("absent"), 0): latest}),
    )
    run.show("key keeps its offset", lambda: list(client.list_offsets({partition(name, 0, 5): latest})))


def records_are_deleted(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    partition, name = run.package.TopicPartition, run.name("topic")
    _created(client, [admin.NewTopic(name, 2, 1)])
    run.fill(name, {0: [1, 2, 3, 4], 1: [1, 2]})
    run.show("below two", lambda: client.delete_records([partition(name, 0, 2)]))
    run.show("again", lambda: client.delete_records([partition(name, 0, 1)]))
    run.show(
        "all",
        lambda: client.delete_records([partition(name, 0, run.package.OFFSET_END), partition(name, 1, 1)]),
    )
    run.show("beyond the end", lambda: client.delete_records([partition(name, 0, 99)]))
    run.show("no offset", lambda: client.delete_records([partition(name, 0)]))
    run.show("absent topic", lambda: client.delete_records([partition(run.name("absent"), 0, 1)]))
    run.show("good and bad", lambda: client.delete_records([partition(name, 1, 2), partition(name, 7, 1)]))
    run.show("twice", lambda: client.delete_records([partition(name, 1, 2), partition(name, 1, 1)]))
    run.show(
        "with both times",
        lambda: client.delete_records([partition(name, 1, 2)], request_timeout=10, operation_timeout=5),
    )
    run.show("none", lambda: client.delete_records([]))


def leaders_are_elected(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    partition, name, election = run.package.TopicPartition, run.name("topic"), run.package.ElectionType
    _created(client, [admin.NewTopic(name, 1, 1)])
    run.show("not needed", lambda: client.elect_leaders(election.PREFERRED, [partition(name, 0)]))
    run.show("unclean", lambda: client.elect_leaders(election.UNCLEAN, [partition(name, 0)]))
    run.show("absent", lambda: client.elect_leaders(election.PREFERRED, [partition(run.name("absent"), 0)]))
    run.show("absent partition", lambda: client.elect_leaders(election.PREFERRED, [partition(name, 7)]))
    run.show(
        "both", lambda: client.elect_leaders(election.PREFERRED, [partition(name, 0), partition(name, 7)])
    )
    run.show("all", lambda: client.elect_leaders(election.PREFERRED))
    run.show("none", lambda: client.elect_leaders(election.PREFERRED, []))
    run.show(
        "twice", lambda: client.elect_leaders(election.PREFERRED, [partition(name, 0), partition(name, 0)])
    )


def offsets_of_a_group_are_set_and_listed(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    partition, name, group = run.package.TopicPartition, run.name("topic"), run.name("group")
    request = run.package.ConsumerGroupTopicPartitions
    _created(client, [admin.NewTopic(name, 3, 1)])
    run.show("absent group", lambda: client.list_consumer_group_offsets([request(group)]))
    run.show(
        "absent group by partition",
        lambda: client.list_consumer_group_offsets([request(group, [partition(name, 0)])]),
    )
    wanted = [partition(name, 0, 5), partition(name, 1, 7, "note")]
    run.show("set", lambda: client.alter_consumer_group_offsets([request(group, wanted)]))
    run.show(
        "set with an epoch",
        lambda: client.alter_consumer_group_offsets(
            [request(group, [partition(name, 2, 1, leader_epoch=0)])]
        ),
    )
    # The broker lists topics and partitions in any order.
    listed = lambda **o: sorted(  # noqa: E731
        client.list_consumer_group_offsets([request(group)], **o)[group].result(10).topic_partitions
    )
    run.show("all", listed)
    run.show("one", lambda: client.list_consumer_group_offsets([request(group, [partition(name, 1)])]))
    run.show("stable", lambda: listed(require_stable=True))
    run.show(
        "absent partition",
        lambda: client.list_consumer_group_offsets(
            [request(group, [partition(name, 9), partition(name, 0)])]
        ),
    )
    run.show(
        "absent topic",
        lambda: client.list_consumer_group_offsets([request(group, [partition(run.name("absent"), 0)])]),
    )
    run.show(
        "set of an absent topic",
        lambda: client.alter_consumer_group_offsets(
            [request(group, [partition(run.name("absent"), 0, 1), partition(name, 0, 2)])]
        ),
    )
    run.show(
        "set twice",
        lambda: client.alter_consumer_group_offsets(
            [request(group, [partition(name, 0, 1), partition(name, 0, 2)])]
        ),
    )
    run.show("after all", listed)
    run.show("group", lambda: client.describe_consumer_groups([group]))
    run.show("delete", lambda: client.delete_consumer_groups([group, run.name("absent")]))
    run.show("delete again", lambda: client.delete_consumer_groups([group]))
    run.show("gone", lambda: client.list_consumer_group_offsets([request(group)]))


def groups_are_listed_and_described(run: FacadeScript) -> None:
    client, admin, package = run.admin(), run.admin_module, run.package
    name = run.name("topic")
    _created(client, [admin.NewTopic(name, 2, 1)])
    classic, modern, empty = run.name("classic"), run.name("modern"), run.name("empty")
    run.join(classic, name, "classic")
    run.join(modern, name, "consumer")
    offsets = package.ConsumerGroupTopicPartitions(empty, [package.TopicPartition(name, 0, 1)])
    client.alter_consumer_group_offsets([offsets])[empty].result(10)

    def listed(**options: Any) -> Any:
        result = client.list_consumer_groups(**options).result(10)
        mine = [listing for listing in result.valid if listing.group_id in (classic, modern, empty)]
        return sorted(mine, key=lambda listing: listing.group_id), result.errors

    state, kind = package.ConsumerGroupState, package.ConsumerGroupType
    run.show("all", listed)
    run.show("stable", lambda: listed(states={state.STABLE}))
    run.show("empty", lambda: listed(states={state.EMPTY}))
    run.show("unknown", lambda: listed(states={state.UNKNOWN}))
    run.show("no states", lambda: listed(states=set()))
    run.show("classic", lambda: listed(types={kind.CLASSIC}))
    run.show("modern", lambda: listed(types={kind.CONSUMER}))
    run.show("both filters", lambda: listed(types={kind.CLASSIC}, states={state.EMPTY}))
    run.show("in time", lambda: listed(request_timeout=10))
    for group in (classic, modern, empty):
        run.show(group, lambda group=group: _without_members_ids(client.describe_consumer_groups([group])))
    run.show(
        "several",
        lambda: _without_members_ids(client.describe_consumer_groups([classic, run.name("absent"), modern])),
    )
    run.show(
        "operations",
        lambda: _without_members_ids(
            client.describe_consumer_groups([classic, modern, empty], include_authorized_operations=True)
        ),
    )
    run.show("delete with members", lambda: client.delete_consumer_groups([classic, modern]))
    alter = lambda group: client.alter_consumer_group_offsets(  # noqa: E731
        [package.ConsumerGroupTopicPartitions(group, [package.TopicPartition(name, 0, 1)])]
    )
    run.show("alter with members", lambda: [alter(classic), alter(modern)])


def groups_are_listed_in_the_old_way(run: FacadeScript) -> None:
    client, admin = run.admin(), run.admin_module
    name = run.name("topic")
    _created(client, [admin.NewTopic(name, 2, 1)])
    classic, modern = run.name("classic"), run.name("modern")
    run.join(classic, name, "classic")
    run.join(modern, name, "consumer")
    for group in (classic, modern, run.name("absent")):
        run.show(group, lambda group=group: _old_groups(client.list_groups(group, timeout=10)))
    mine = [group for group in client.list_groups(timeout=10) if group.id in (classic, modern)]
    run.show("all", lambda: _old_groups(sorted(mine, key=lambda group: group.id)))
    run.show("keyword", lambda: _old_groups(client.list_groups(group=classic, timeout=10)))


def a_cluster_out_of_reach_times_out(run: FacadeScript) -> None:
    run.bootstrap = "127.0.0.1:1"
    client = run.admin()
    admin, package = run.admin_module, run.package
    collection, partition = package.TopicCollection, package.TopicPartition
    timeout = {"request_timeout": 0.5}
    begun: list[tuple[str, Any]] = []

    def begin(label: str, call: Callable[[], Any]) -> None:
        begun.append((label, call()))

    begin("create_topics", lambda: client.create_topics([admin.NewTopic("a", 1, 1)], **timeout))
    begin("delete_topics", lambda: client.delete_topics(["a"], **timeout))
    begin("describe_topics", lambda: client.describe_topics(collection(["a"]), **timeout))
    begin("describe_cluster", lambda: client.describe_cluster(**timeout))
    begin(
        "describe_configs", lambda: client.describe_configs([admin.ConfigResource("topic", "a")], **timeout)
    )
    begin(
        "broker's configs", lambda: client.describe_configs([admin.ConfigResource("broker", "1")], **timeout)
    )
    begin("list_consumer_groups", lambda: client.list_consumer_groups(**timeout))
    begin("describe_consumer_groups", lambda: client.describe_consumer_groups(["a"], **timeout))
    begin("delete_consumer_groups", lambda: client.delete_consumer_groups(["a"], **timeout))
    request = package.ConsumerGroupTopicPartitions
    begin("list offsets of a group", lambda: client.list_consumer_group_offsets([request("a")], **timeout))
    begin(
        "alter offsets of a group",
        lambda: client.alter_consumer_group_offsets([request("a", [partition("a", 0, 1)])], **timeout),
    )
    everything = admin.AclBindingFilter("any", None, "any", None, None, "any", "any")
    begin("describe_acls", lambda: client.describe_acls(everything, **timeout))
    begin("delete_acls", lambda: client.delete_acls([everything], **timeout))
    begin("describe scram", lambda: client.describe_user_scram_credentials(["a"], **timeout))
    begin("describe all scram", lambda: client.describe_user_scram_credentials(**timeout))
    deletion = admin.UserScramCredentialDeletion("a", admin.ScramMechanism.SCRAM_SHA_256)
    begin("alter scram", lambda: client.alter_user_scram_credentials([deletion], **timeout))
    begin(
        "list_offsets", lambda: client.list_offsets({partition("a", 0): admin.OffsetSpec.latest()}, **timeout)
    )
    begin("delete_records", lambda: client.delete_records([partition("a", 0, 1)], **timeout))
    for label, future in begun:
        run.show(label, lambda future=future: future)
    run.show("list_topics", lambda: client.list_topics(timeout=0.3))
    run.show("list_topics of one", lambda: client.list_topics("a", timeout=0.3))
    run.show("list_groups", lambda: client.list_groups(timeout=0.3))
    run.show("list_groups of one", lambda: client.list_groups("a", timeout=0.3))
    run.show("cluster_id", lambda: client.cluster_id(timeout=0.3))


def _created(client: Any, topics: list[Any]) -> None:
    """Creates topics, and waits until the broker has heard of them from the controller."""
    for topic, future in client.create_topics(topics).items():
        future.result(10)
        wait_for(lambda topic=topic: client.list_topics(topic, timeout=10).topics[topic].partitions)


def _partitions(client: Any, topic: str) -> int:
    return len(client.list_topics(topic, timeout=10).topics[topic].partitions)


def _metadata(run: FacadeScript, metadata: Any, topics: list[str]) -> Any:
    found = {name: metadata.topics[name] for name in topics}
    return [
        type(metadata.cluster_id).__name__,
        metadata.controller_id,
        metadata.brokers,
        metadata.orig_broker_id,
        metadata.orig_broker_name,
        found,
        [metadata.topics[name].partitions for name in topics],
        len(metadata.topics) >= len(topics),
        repr(metadata) == f"ClusterMetadata({metadata.cluster_id})",
    ]


def _without_ids(described: dict[str, Any]) -> list[Any]:
    given: list[Any] = []
    for name, future in described.items():
        try:
            topic = future.result(10)
        except Exception as error:
            given.append((name, error))
        else:
            fields = {key: value for key, value in vars(topic).items() if key != "topic_id"}
            given.append((name, fields))
    return given


def _without_members_ids(described: dict[str, Any]) -> list[Any]:
    given: list[Any] = []
    for future in described.values():
        group = future.result(10)
        members = [
            {key: value for key, value in vars(member).items() if key not in ("member_id", "client_id")}
            for member in group.members
        ]
        kinds = [type(member).__name__ for member in group.members]
        given.append([{**vars(group), "members": members}, kinds])
    return given


def _old_groups(groups: Any) -> list[Any]:
    return [
        [
            group.id,
            group.broker,
            group.error,
            group.state,
            group.protocol_type,
            group.protocol,
            repr(group),
            [[type(m.id).__name__, m.client_host, len(m.metadata) > 0, m.assignment] for m in group.members],
        ]
        for group in groups
    ]


def _settings(client: Any, admin: Any, topic: str, awaited: Mapping[str, str] | None = None) -> list[Any]:
    """Once the broker has heard from the controller of those awaited."""
    resource = admin.ConfigResource("topic", topic)

    def described() -> Any:
        found = client.describe_configs([resource])[resource].result(10)
        is_there = all(found[name].value == value for name, value in (awaited or {}).items())
        return found if is_there else None

    found = wait_for(described)
    names = ("retention.ms", "segment.ms", "cleanup.policy")
    return [(found[name].value, found[name].source, found[name].is_default) for name in names]


def _in_order(description: Any) -> list[Any]:
    """A user's passwords, which brokers tell of in any order."""
    infos = sorted(description.scram_credential_infos, key=lambda info: info.mechanism)
    return [type(description).__name__, description.user, infos]
