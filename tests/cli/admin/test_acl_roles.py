"""`acls create --producer` and `--consumer`: the rules that each needs, and taking them away again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.testing import EmbeddedBroker

Here = Callable[..., Any]
Rule = tuple[str, str, str, str, str]
Rules = Callable[..., set[Rule]]


@pytest.fixture
def on_it(here: Here, guarded: EmbeddedBroker) -> Here:
    """`here`, where access is controlled. No rule is there before, and none stays."""

    def run(*arguments: str, **more: Any) -> Any:
        return here(*arguments, BARNABAS_BOOTSTRAP=guarded.bootstrap, **more)

    run("acls", "delete", "--all", "--yes")
    return run


@pytest.fixture
def rules(on_it: Here) -> Rules:
    """All: the resource, how its name is meant, the principal, the host and the operation."""

    def rules() -> set[Rule]:
        found = json.loads(on_it("acls", "list", "--json").stdout)
        assert all(rule["permission"] == "allow" for rule in found)
        return {
            (
                f"{rule['resource_type']} {rule['resource_name']}",
                rule["pattern_type"],
                rule["principal"],
                rule["host"],
                rule["operation"],
            )
            for rule in found
        }

    return rules


def literal(resource: str, operation: str, principal: str = "User:alice", host: str = "*") -> Rule:
    return resource, "literal", principal, host, operation


def test_a_producer_gets_what_it_needs_and_loses_the_same(on_it: Here, rules: Rules) -> None:
    role = ["--producer", "--topic", "t", "--transactional-id", "x", "--idempotent"]
    on_it("acls", "create", "--allow", "User:alice", "-o", "alter", "--topic", "t")
    on_it("acls", "create", "--allow", "User:alice", *role)
    assert rules() == {
        literal("topic t", "alter"),
        *(literal("topic t", operation) for operation in ("write", "describe", "create")),
        *(literal("transactional-id x", operation) for operation in ("write", "describe")),
        literal("cluster kafka-cluster", "idempotent-write"),
    }
    done = on_it("acls", "delete", "--principal", "User:alice", *role, "--yes")
    assert done.stderr == "deleted 6 rules\n"
    assert rules() == {literal("topic t", "alter")}


def test_consumers_of_several_topics_and_principals_get_what_they_need(on_it: Here, rules: Rules) -> None:
    role = ["--consumer", "--topic", "t", "--topic", "u", "--group", "g"]
    on_it("acls", "create", "--allow", "User:alice", "--allow", "User:bob", *role)
    both = {
        literal(resource, operation, principal)
        for principal in ("User:alice", "User:bob")
        for resource, operation in (
            ("topic t", "read"),
            ("topic t", "describe"),
            ("topic u", "read"),
            ("topic u", "describe"),
            ("group g", "read"),
        )
    }
    assert rules() == both
    on_it("acls", "delete", "--principal", "User:bob", *role, "--yes")
    assert rules() == {rule for rule in both if rule[2] == "User:alice"}
    on_it("acls", "delete", "--principal", "User:alice", "--principal", "User:bob", *role, "--yes")
    assert rules() == set()


def test_one_that_reads_and_writes_gets_each_rule_once(on_it: Here) -> None:
    role = ["--producer", "--consumer", "--topic", "t", "--group", "g"]
    found = json.loads(on_it("acls", "create", "--allow", "User:a", *role, "--json").stdout)
    assert sorted((rule["resource_type"], rule["operation"]) for rule in found) == [
        ("group", "read"),
        ("topic", "create"),
        ("topic", "describe"),
        ("topic", "read"),
        ("topic", "write"),
    ]


def test_roles_may_be_for_prefixes_and_hosts_and_the_cluster_is_no_prefix(on_it: Here, rules: Rules) -> None:
    role = ["--producer", "--topic", "eu.", "--prefixed", "--idempotent"]
    on_it("acls", "create", "--allow", "User:a", *role, "--host", "10.0.0.1", "--host", "10.0.0.2")
    assert rules() == {
        rule
        for host in ("10.0.0.1", "10.0.0.2")
        for rule in (
            *(("topic eu.", "prefixed", "User:a", host, each) for each in ("write", "describe", "create")),
            ("cluster kafka-cluster", "literal", "User:a", host, "idempotent-write"),
        )
    }
    # Rules for all hosts are others.
    nothing = on_it("acls", "delete", "--principal", "User:a", *role, "--yes")
    assert nothing.stderr == "no rule is like that\n"
    on_it("acls", "delete", "--principal", "User:a", *role, "--host", "10.0.0.1", "--yes")
    assert {rule[3] for rule in rules()} == {"10.0.0.2"}


def test_nothing_is_created_with_dry_run(on_it: Here, rules: Rules) -> None:
    tried = on_it("acls", "create", "--allow", "User:a", "--producer", "--topic", "t", "--dry-run")
    assert "describe" in tried.stdout
    assert rules() == set()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["create", "--producer", "--topic", "t"], "--producer and --consumer go with --allow"),
        (
            ["create", "--allow", "User:a", "--deny", "User:b", "--producer", "--topic", "t"],
            "without --deny and --operation",
        ),
        (["create", "--allow", "User:a", "--producer"], "name the topics of the producer or the consumer"),
        (["create", "--allow", "User:a", "--consumer", "--topic", "t"], "name the consumer's group as well"),
        (["create", "--allow", "User:a", "--idempotent", "--topic", "t"], "--idempotent is for --producer"),
        (
            ["create", "--allow", "User:a", "--producer", "--topic", "t", "--group", "g"],
            "only --topic and --transactional-id go with --producer or --consumer",
        ),
        (["delete", "--producer", "--topic", "t"], "--producer and --consumer go with --principal"),
        (
            ["delete", "--principal", "User:a", "--producer", "--all"],
            "without --operation and --all",
        ),
    ],
)
def test_roles_that_lack_something_are_refused(here: Here, arguments: list[str], complaint: str) -> None:
    done = here("acls", *arguments, ok=False)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
