"""Entries are created, described and deleted as by Kafka.

On purpose the embedded broker does not quote the request in what it says to who may not ask: Kafka does, with
addresses of objects in it.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from barnabas.broker.authorization.acls import Operation, Permission, ResourceKind
from barnabas.protocol.messages.create_acls import CreateAclsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.testing import ApacheKafka, EmbeddedBroker

from ..in_process import Client, run
from .stage import (
    ALL_RULES,
    AUTHORIZER,
    PREFIXED,
    Stage,
    play_openly,
    rule,
    same_on_both,
)

Filter = DeleteAclsRequest.DeleteAclsFilter


def described(answer: Any) -> list[Any]:
    return sorted(
        [
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        ]
        for resource in answer.resources
        for acl in resource.acls
    )


def deleted(result: Any) -> list[Any]:
    matching = [
        [
            one.error_code,
            one.error_message,
            one.resource_type,
            one.resource_name,
            one.pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        ]
        for one in result.matching_acls
    ]
    return [result.error_code, result.error_message, sorted(matching, key=str)]


def unquoted(message: str | None) -> str | None:
    return None if message is None else re.sub(r"Request\(.*\) ", "", message)


def told(result: Any) -> list[Any]:
    return [result.error_code, unquoted(result.error_message)]


def create(*rules: CreateAclsRequest.AclCreation) -> CreateAclsRequest:
    return CreateAclsRequest(creations=list(rules))


async def entries_come_and_go(stage: Stage) -> None:
    topic, other = stage.name("topic"), stage.name("other")
    read = rule(Operation.READ, ResourceKind.TOPIC, topic)
    rules = [
        read,
        rule(Operation.ALL, ResourceKind.TOPIC, "*", principal="User:*", host="10.0.0.1"),
        rule(Operation.WRITE, ResourceKind.TOPIC, topic[:3], pattern=PREFIXED),
        rule(Operation.WRITE, ResourceKind.TOPIC, other, permission=Permission.DENY),
        rule(Operation.READ, ResourceKind.GROUP, topic),
        rule(Operation.CREATE, ResourceKind.CLUSTER, "kafka-cluster"),
        rule(Operation.DESCRIBE, ResourceKind.TRANSACTIONAL_ID, topic),
        rule(Operation.DESCRIBE, ResourceKind.DELEGATION_TOKEN, topic),
        rule(Operation.CREATE_TOKENS, ResourceKind.USER, "User:alice"),
        rule(Operation.TWO_PHASE_COMMIT, ResourceKind.TRANSACTIONAL_ID, topic),
    ]
    await stage.allow(*rules)
    filters = [
        ALL_RULES,
        Filter(2, None, 1, None, None, 1, 1),
        Filter(2, topic, 1, None, None, 1, 1),
        Filter(2, topic, 2, None, None, 1, 1),
        Filter(2, topic, 3, None, None, 1, 1),
        Filter(2, topic[:3], 4, None, None, 1, 1),
        Filter(2, topic, 4, None, None, 1, 1),
        Filter(2, "*", 2, None, None, 1, 1),
        Filter(2, "*", 3, None, None, 1, 1),
        Filter(1, topic, 2, None, None, 1, 1),
        Filter(1, None, 2, None, None, 1, 1),
        Filter(1, None, 4, None, None, 1, 1),
        Filter(1, None, 1, "User:*", None, 1, 1),
        Filter(1, None, 1, None, "10.0.0.1", 1, 1),
        Filter(1, None, 1, None, None, 2, 1),
        Filter(1, None, 1, None, None, 3, 1),
        Filter(1, None, 1, None, None, 1, 2),
        Filter(99, None, 1, None, None, 1, 1),
        Filter(1, None, 99, None, None, 1, 1),
        Filter(1, None, 1, None, None, 99, 99),
        Filter(1, None, -3, None, None, 1, 1),
    ]
    for asked in filters:
        request = DescribeAclsRequest(
            asked.resource_type_filter,
            asked.resource_name_filter,
            asked.pattern_type_filter,
            asked.principal_filter,
            asked.host_filter,
            asked.operation,
            asked.permission_type,
        )
        answer = await stage.admin(request)
        stage.tell("described", answer.error_code, answer.error_message, described(answer))
    # In one request, twice and once more: it is there once.
    twice = await stage.admin(create(read, read))
    stage.tell("created", [[each.error_code, each.error_message] for each in twice.results])
    gone = await stage.admin(
        DeleteAclsRequest(
            filters=[
                Filter(2, topic, 3, None, None, 1, 1),
                Filter(2, topic, 2, None, None, 1, 1),
                Filter(2, topic, 99, None, None, 1, 1),
                Filter(2, topic, 1, None, None, 99, 1),
                Filter(2, "nothing", 1, None, None, 1, 1),
            ]
        )
    )
    stage.tell("deleted", *map(deleted, gone.filter_results))
    await stage.forbid()


async def wrong_entries_are_refused(stage: Stage) -> None:
    read = rule(Operation.READ, ResourceKind.TOPIC, stage.name("topic"))
    wrong = [
        rule(Operation.READ, ResourceKind.CLUSTER, "cluster"),
        rule(Operation.READ, ResourceKind.TOPIC, ""),
        CreateAclsRequest.AclCreation(1, "a", 3, "User:a", "*", 3, 3),
        CreateAclsRequest.AclCreation(99, "a", 3, "User:a", "*", 3, 3),
        CreateAclsRequest.AclCreation(-9, "a", 3, "User:a", "*", 3, 3),
        CreateAclsRequest.AclCreation(2, "a", 1, "User:a", "*", 3, 3),
        CreateAclsRequest.AclCreation(2, "a", 2, "User:a", "*", 3, 3),
        CreateAclsRequest.AclCreation(2, "a", 9, "User:a", "*", 3, 3),
        CreateAclsRequest.AclCreation(2, "a", 3, "User:a", "*", 1, 3),
        CreateAclsRequest.AclCreation(2, "a", 3, "User:a", "*", 99, 3),
        CreateAclsRequest.AclCreation(2, "a", 3, "User:a", "*", 3, 1),
        CreateAclsRequest.AclCreation(2, "a", 3, "User:a", "*", 3, 99),
    ]
    for entry in wrong:
        answer = await stage.admin(create(entry, read))
        stage.tell(*([each.error_code, each.error_message] for each in answer.results))
    await stage.allow(read)
    for host, principal, operation in (
        ("", "User:a", 3),
        ("nowhere", "User:a", 3),
        ("*", "Group:a", 3),
        ("*", "User:", 3),
        ("*", "User:*", 9),
        ("*", "User:a:b", 9),
    ):
        entry = CreateAclsRequest.AclCreation(2, "a", 3, principal, host, operation, 3)
        answer = await stage.admin(create(entry))
        stage.tell("odd", [[each.error_code, each.error_message] for each in answer.results])


async def who_may_not_is_told(stage: Stage) -> None:
    read = rule(Operation.READ, ResourceKind.TOPIC, stage.name("topic"))
    ask_all = DescribeAclsRequest(1, None, 1, None, None, 1, 1)

    async def try_all() -> None:
        made = await stage.guest(create(read, read))
        stage.tell("created", [told(each) for each in made.results])
        found = await stage.guest(ask_all)
        stage.tell("described", found.error_code, unquoted(found.error_message), len(found.resources) > 0)
        gone = await stage.guest(DeleteAclsRequest(filters=[Filter(2, "no", 3, None, None, 1, 1), ALL_RULES]))
        stage.tell("deleted", [[*told(each), len(each.matching_acls)] for each in gone.filter_results])

    await try_all()
    await stage.allow(rule(Operation.DESCRIBE, ResourceKind.CLUSTER, "kafka-cluster"))
    await try_all()
    await stage.allow(rule(Operation.ALTER, ResourceKind.CLUSTER, "kafka-cluster"))
    await try_all()


async def none_is_there(stage: Stage) -> None:
    read = rule(Operation.READ, ResourceKind.TOPIC, "a")
    made = await stage.guest(create(read))
    stage.tell([[each.error_code, each.error_message] for each in made.results])
    found = await stage.guest(DescribeAclsRequest(1, None, 1, None, None, 1, 1))
    stage.tell(found.error_code, found.error_message)
    gone = await stage.guest(DeleteAclsRequest(filters=[ALL_RULES]))
    stage.tell([[each.error_code, each.error_message] for each in gone.filter_results])


def test_entries_are_created_described_and_deleted_as_by_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, entries_come_and_go))


def test_wrong_entries_are_refused_as_by_kafka(guarded_kafka: ApacheKafka, tmp_path: Path) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, wrong_entries_are_refused))


def test_who_may_not_change_or_see_entries_is_told_as_by_kafka(
    guarded_kafka: ApacheKafka, tmp_path: Path
) -> None:
    asyncio.run(same_on_both(guarded_kafka, tmp_path, who_may_not_is_told))


def test_without_an_authorizer_there_are_no_entries_as_in_kafka(
    apache_kafka: ApacheKafka, embedded_broker: EmbeddedBroker
) -> None:
    expected = asyncio.run(play_openly(apache_kafka.bootstrap, none_is_there))
    assert asyncio.run(play_openly(embedded_broker.bootstrap, none_is_there)) == expected


def test_entries_survive_a_restart(tmp_path: Path) -> None:
    config = {"authorizer.class.name": AUTHORIZER, "super.users": "User:admin;User:ANONYMOUS"}
    rules = [
        rule(Operation.READ, ResourceKind.TOPIC, "a"),
        rule(Operation.WRITE, ResourceKind.TOPIC, "a", pattern=PREFIXED, permission=Permission.DENY),
    ]

    async def make(client: Client) -> None:
        await client.send(create(*rules))

    async def look(client: Client) -> None:
        found = described(await client.send(DescribeAclsRequest(1, None, 1, None, None, 1, 1)))
        assert found == [
            [2, "a", 3, "User:ANONYMOUS", "*", 3, 3],
            [2, "a", 4, "User:ANONYMOUS", "*", 4, 2],
        ]

    run(tmp_path, make, config=config)
    run(tmp_path, look, config=config)
