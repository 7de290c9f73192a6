"""What each call of an AdminClient says first, where its constructor did not run, its block has ended, or
several arguments are wrong."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tests.compat.differential.script import script
from tests.compat.differential.scripts.uninitialised import without_init
from tests.compat.differential.stage import Stage

WRONG: tuple[tuple[Any, ...], ...] = ((), (3,), (None,), ("x",), ([],), ([3],), ([None],), ({},), (1,) * 9)
WRONG_OPTIONS: tuple[dict[str, Any], ...] = (
    {"nonsense": 1},
    {"request_timeout": "x"},
    {"request_timeout": -1},
    {"operation_timeout": "x"},
    {"operation_timeout": -2},
    {"broker": -1},
)
NO_SWITCH: tuple[dict[str, Any], ...] = (
    {"validate_only": "x"},
    {"validate_only": "x", "request_timeout": -1},
)


def right_arguments(kafka: ModuleType, admin: Any) -> dict[str, tuple[Any, ...]]:
    """What each method may be called with."""
    partition = kafka.TopicPartition("t", 0, 5)
    group = kafka.ConsumerGroupTopicPartitions("g", [partition])
    resource = admin.ConfigResource("topic", "t")
    entry = admin.ConfigEntry("retention.ms", "1", incremental_operation=admin.AlterConfigOpType.SET)
    topic, literal = admin.ResourceType.TOPIC, admin.ResourcePatternType.LITERAL
    read, allow = admin.AclOperation.READ, admin.AclPermissionType.ALLOW
    acl = admin.AclBinding(topic, "t", literal, "User:u", "*", read, allow)
    acls = admin.AclBindingFilter(topic, None, literal, None, None, read, allow)
    deletion = admin.UserScramCredentialDeletion("u", admin.ScramMechanism.SCRAM_SHA_256)
    return {
        "create_topics": ([admin.NewTopic("t", 1)],),
        "delete_topics": (["t"],),
        "create_partitions": ([admin.NewPartitions("t", 2)],),
        "describe_topics": (kafka.TopicCollection(["t"]),),
        "describe_cluster": (),
        "describe_configs": ([resource],),
        "alter_configs": ([resource],),
        "incremental_alter_configs": ([admin.ConfigResource("topic", "t", incremental_configs=[entry])],),
        "list_groups": ("g", 0),
        "list_consumer_groups": (),
        "describe_consumer_groups": (["g"],),
        "delete_consumer_groups": (["g"],),
        "list_consumer_group_offsets": ([kafka.ConsumerGroupTopicPartitions("g")],),
        "alter_consumer_group_offsets": ([group],),
        "describe_user_scram_credentials": (["u"],),
        "alter_user_scram_credentials": ([deletion],),
        "create_acls": ([acl],),
        "describe_acls": (acls,),
        "delete_acls": ([acls],),
        "list_offsets": ({partition: admin.OffsetSpec.latest()},),
        "delete_records": ([partition],),
        "elect_leaders": (kafka.ElectionType.PREFERRED, [partition]),
        "list_topics": ("t", 0),
        "cluster_id": (0,),
        "poll": (0,),
        "set_sasl_credentials": ("u", "p"),
    }


def _call_all(kafka: ModuleType, stage: Stage, client: Any) -> None:
    for name, right in right_arguments(kafka, stage.module("admin")).items():
        method = getattr(client, name)
        for given in (right, *WRONG):
            stage.attempt(f"{name}{given}", method, *given)
        # The original does not know how many options this one has.
        for options in (*WRONG_OPTIONS, *NO_SWITCH) if name != "elect_leaders" else ():
            stage.attempt(f"{name} with {options}", method, *right, **options)
    stage.attempt("len", len, client)


@script()
def every_call_of_an_admin_client_that_was_not_initialised(kafka: ModuleType, stage: Stage) -> None:
    admin: Any = stage.module("admin")
    _call_all(kafka, stage, without_init(admin.AdminClient))
    _call_all(kafka, stage, admin.AdminClient.__new__(admin.AdminClient))


@script()
def every_call_of_an_admin_client_after_its_block(kafka: ModuleType, stage: Stage) -> None:
    with stage.admin() as client:
        pass
    _call_all(kafka, stage, client)


@script()
def what_an_admin_client_says_first_of_several_mistakes(kafka: ModuleType, stage: Stage) -> None:
    client: Any = stage.admin()
    for name in right_arguments(kafka, stage.module("admin")):
        if name in ("elect_leaders", "poll", "cluster_id", "list_topics", "list_groups"):
            continue
        for subject in ([], [3], [None], {}):
            for options in (*WRONG_OPTIONS, *NO_SWITCH):
                label = f"{name} of {subject} with {options}"
                stage.attempt(label, getattr(client, name), subject, **options)
