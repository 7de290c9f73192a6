"""What a client meets that may do nothing, that nobody knows, and whose password changes.

Each function is one behaviour, on a broker with `barnabas.testing.SecureListeners`.
"""
# One call a line, so that lines can be compared at a glance.

from __future__ import annotations

from typing import Any

from tests.compat.facade_script import FacadeScript
from tests.waiting import wait_for


def who_may_do_nothing_is_told_so(run: FacadeScript) -> None:
    client, admin, package = run.admin(**_login("alice")), run.admin_module, run.package
    partition, name = package.TopicPartition, run.name("topic")
    root = run.admin(**_login("admin"))
    root.create_topics([admin.NewTopic(name, 1, 1)])[name].result(10)
    entry = admin.ConfigEntry("retention.ms", "1", incremental_operation=admin.AlterConfigOpType.SET)
    group = package.ConsumerGroupTopicPartitions
    everything = admin.AclBindingFilter("any", None, "any", None, None, "any", "any")
    rule = admin.AclBinding("topic", name, "literal", "User:a", "*", "read", "allow")
    run.show("create topics", lambda: client.create_topics([admin.NewTopic(run.name("x"), 1, 1)]))
    run.show("delete topics", lambda: client.delete_topics([name]))
    run.show("create partitions", lambda: client.create_partitions([admin.NewPartitions(name, 2)]))
    run.show("describe topics", lambda: client.describe_topics(package.TopicCollection([name])))
    run.show("list topics", lambda: name in client.list_topics(timeout=10).topics)
    run.show("list a topic", lambda: client.list_topics(name, timeout=10).topics)
    run.show("describe cluster", lambda: type(client.describe_cluster().result(10)).__name__)
    run.show(
        "may do",
        lambda: client.describe_cluster(include_authorized_operations=True).result(10).authorized_operations,
    )
    run.show("describe configs", lambda: client.describe_configs([admin.ConfigResource("topic", name)]))
    run.show("describe a broker", lambda: client.describe_configs([admin.ConfigResource("broker", "1")]))
    run.show(
        "alter configs",
        lambda: client.alter_configs([admin.ConfigResource("topic", name, {"retention.ms": "1"})]),
    )
    run.show(
        "change configs",
        lambda: client.incremental_alter_configs(
            [admin.ConfigResource("topic", name, incremental_configs=[entry])]
        ),
    )
    run.show("create acls", lambda: client.create_acls([rule]))
    run.show("describe acls", lambda: client.describe_acls(everything))
    run.show("delete acls", lambda: client.delete_acls([everything]))
    run.show("list groups", lambda: client.list_consumer_groups())
    run.show("describe groups", lambda: client.describe_consumer_groups(["g"]))
    run.show("delete groups", lambda: client.delete_consumer_groups(["g"]))
    run.show("list offsets of a group", lambda: client.list_consumer_group_offsets([group("g")]))
    run.show(
        "alter offsets of a group",
        lambda: client.alter_consumer_group_offsets([group("g", [partition(name, 0, 1)])]),
    )
    run.show("list offsets", lambda: client.list_offsets({partition(name, 0): admin.OffsetSpec.latest()}))
    run.show("delete records", lambda: client.delete_records([partition(name, 0, 0)]))
    run.show("old groups", lambda: client.list_groups(timeout=10))


def who_may_do_some_things_may_do_these(run: FacadeScript) -> None:
    root, admin, package = run.admin(**_login("admin")), run.admin_module, run.package
    name, other = run.name("topic"), run.name("other")
    for future in root.create_topics([admin.NewTopic(topic, 1, 1) for topic in (name, other)]).values():
        future.result(10)
    rule = admin.AclBinding("topic", name, "literal", "User:bob", "*", "describe", "allow")
    root.create_acls([rule])[rule].result(10)
    client = run.admin(**_login("bob"))
    mine = package.TopicCollection([name])
    wait_for(lambda: client.describe_topics(mine)[name].exception(10) is None)
    described = client.describe_topics(
        package.TopicCollection([name, other]), include_authorized_operations=True
    )
    run.show("allowed", lambda: described[name].result(10).authorized_operations)
    run.show("not allowed", lambda: described[other])
    latest = admin.OffsetSpec.latest()
    partitions = {package.TopicPartition(topic, 0): latest for topic in (name, other)}
    run.show("offsets", lambda: client.list_offsets(partitions))
    run.show("delete", lambda: client.delete_topics([name, other]))


def a_wrong_password_lets_calls_time_out(run: FacadeScript) -> None:
    client = run.admin(**{**_login("alice"), "sasl.password": "wrong"})
    run.show("cluster", lambda: client.describe_cluster(request_timeout=1))
    run.show("topics", lambda: client.list_topics(timeout=1))


def another_password_is_taken_from_then_on(run: FacadeScript) -> None:
    client = run.admin(**{**_login("alice"), "sasl.password": "wrong"})
    run.show("wrong", lambda: client.describe_cluster(request_timeout=1))
    run.show("set", lambda: client.set_sasl_credentials("alice", "alice-secret"))
    run.show("right", lambda: type(client.describe_cluster(request_timeout=20).result(30)).__name__)


def _login(user: str) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": user,
        "sasl.password": f"{user}-secret",
    }
